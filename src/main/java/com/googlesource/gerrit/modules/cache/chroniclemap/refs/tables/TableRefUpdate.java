// Copyright (C) 2026 The cache-chroniclemap authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
// http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.tables;

import com.google.common.util.concurrent.Uninterruptibles;
import java.io.IOException;
import java.util.function.Supplier;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * An update of a single ref, made as a batch of one. JGit's own update of a single ref in a
 * reftable takes no lock (7.4): two at the same time close each other's tables, fail, and lose
 * refs. JGit's batches take its lock.
 *
 * <p>Unlike with JGit's, an update is refused if the name of the ref that is changed conflicts with
 * another one, even if it exists or was reached through a symbolic ref; and an update to the zero
 * id deletes the ref, unless it is HEAD, which gets that id as with JGit.
 *
 * <p>For one thread.
 */
final class TableRefUpdate extends RefUpdate {

  private final TableRefDatabase database;
  private final Repository repository;

  /** The ref that is changed: the one of the update, or the one that it leads to. */
  private Ref changed;

  /** Of the caller's last update or deletion; its reader may know objects that nobody else does. */
  @Nullable private RevWalk walk;

  private TableRefUpdate(TableRefDatabase database, Repository repository, Ref ref) {
    super(ref);
    this.database = database;
    this.repository = repository;
  }

  /**
   * Makes an update.
   *
   * @param detach whether a symbolic ref is changed itself, and not the one that it leads to
   */
  static RefUpdate of(TableRefDatabase database, Repository repository, String name, boolean detach)
      throws IOException {
    Ref ref = read(name, database);
    RefUpdate update = new TableRefUpdate(database, repository, ref);
    if (detach && ref.isSymbolic()) {
      update.setDetachingSymbolicRef();
    }
    return update;
  }

  @Override
  protected RefDatabase getRefDatabase() {
    return database;
  }

  @Override
  protected Repository getRepository() {
    return repository;
  }

  @Override
  public Result update(RevWalk with) throws IOException {
    walk = with;
    return super.update(with);
  }

  @Override
  public Result delete(RevWalk with) throws IOException {
    walk = with;
    return super.delete(with);
  }

  /** Only reads: the lock is the batch's, which refuses if the ref has changed since. */
  @Override
  protected boolean tryLock(boolean deref) throws IOException {
    changed = read(deref ? getRef().getLeaf().getName() : getName(), database);
    setOldObjectId(changed.getObjectId());
    return true;
  }

  @Override
  protected void unlock() {}

  @Override
  protected Result doUpdate(Result desired) throws IOException {
    return execute(() -> command(getNewObjectId()), desired);
  }

  @Override
  protected Result doDelete(Result desired) throws IOException {
    return execute(() -> command(ObjectId.zeroId()), desired);
  }

  private ReceiveCommand command(ObjectId to) {
    return changed.isSymbolic()
        ? ReceiveCommand.unlink(changed.getTarget().getName(), to, changed.getName())
        : new ReceiveCommand(idOf(changed), to, changed.getName());
  }

  @Override
  protected Result doLink(String target) throws IOException {
    boolean exists = changed.isSymbolic() || changed.getObjectId() != null;
    return execute(
        () ->
            changed.isSymbolic()
                ? ReceiveCommand.link(changed.getTarget().getName(), target, changed.getName())
                : ReceiveCommand.link(idOf(changed), target, changed.getName()),
        exists ? Result.FORCED : Result.NEW);
  }

  private static Ref read(String name, RefDatabase from) throws IOException {
    Ref ref = from.exactRef(name);
    return ref != null ? ref : new ObjectIdRef.Unpeeled(Ref.Storage.NEW, name, null);
  }

  private static ObjectId idOf(Ref ref) {
    return ref.getObjectId() != null ? ref.getObjectId() : ObjectId.zeroId();
  }

  private Result execute(Supplier<ReceiveCommand> command, Result desired) throws IOException {
    boolean takesAnyOldId = isForceUpdate() && getExpectedOldObjectId() == null;
    long begun = System.nanoTime();
    while (true) {
      Result result = executeOnce(command.get(), desired);
      if (result != Result.LOCK_FAILURE
          || !takesAnyOldId
          || System.nanoTime() - begun > TableBatchUpdate.MAX_TRIED.toNanos()) {
        return result;
      }
      // Others have changed the ref since it was read, or hold a lock.
      Uninterruptibles.sleepUninterruptibly(TableBatchUpdate.PAUSE);
      changed = read(changed.getName(), database);
      setOldObjectId(changed.getObjectId());
    }
  }

  private Result executeOnce(ReceiveCommand command, Result desired) throws IOException {
    TableBatchUpdate batch = new TableBatchUpdate(database, repository);
    // Of a deletion, there is no new id.
    batch.setsHeadToZero =
        command.getRefName().equals(Constants.HEAD) && ObjectId.zeroId().equals(getNewObjectId());
    batch.addCommand(command);
    batch.setAllowNonFastForwards(true);
    batch.setRefLogIdent(getRefLogIdent());
    if (getRefLogMessage() == null) {
      batch.disableRefLog();
    } else {
      String result = isRefLogIncludingResult() ? ": " + desired : "";
      batch.setRefLogMessage(getRefLogMessage() + result, false);
    }
    if (walk != null) {
      batch.execute(walk, NullProgressMonitor.INSTANCE);
    } else {
      try (RevWalk own = new RevWalk(repository)) {
        batch.execute(own, NullProgressMonitor.INSTANCE);
      }
    }
    if (TableBatchUpdate.IO_ERROR.equals(command.getMessage())) {
      throw new IOException("Cannot update " + command.getRefName());
    }
    return switch (command.getResult()) {
      case OK -> desired;
      case REJECTED_MISSING_OBJECT -> Result.REJECTED_MISSING_OBJECT;
      default -> Result.LOCK_FAILURE;
    };
  }
}
