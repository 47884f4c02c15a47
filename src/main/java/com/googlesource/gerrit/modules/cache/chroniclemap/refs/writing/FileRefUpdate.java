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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing;

import static com.google.common.base.Strings.emptyToNull;

import com.google.common.base.Joiner;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RepositoryFiles;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.util.List;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.ReflogWriter;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.ReflogEntry;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.lib.StoredConfig;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * The update of one ref that is in files: a {@link RefTransaction} of one command, behind JGit's
 * interface. Readers in all processes see it as one step.
 *
 * <p>The cost does not grow with the repository, unless {@code packed-refs} is read or rewritten.
 */
final class FileRefUpdate extends RefUpdate {
  private final UpdateContext context;
  private final RepositoryFiles refs;
  private final RefDatabase database;
  private final Runnable afterJGit;

  private boolean deletes;
  private boolean dereferences;

  /** Null until the ref is about to be locked. */
  @Nullable private RefTransaction transaction;

  /** The name of the locked ref. */
  private String name;

  /** JGit's update, if JGit had to make it. */
  @Nullable private RefUpdate byJGit;

  FileRefUpdate(UpdateContext context, Ref ref, RefDatabase database, Runnable afterJGit) {
    super(ref);
    this.context = context;
    this.refs = context.refs;
    this.database = database;
    this.afterJGit = afterJGit;
    setCheckConflicting(false); // the transaction does
  }

  @Override
  protected RefDatabase getRefDatabase() {
    return database;
  }

  @Override
  protected Repository getRepository() {
    return refs.repository;
  }

  // ---- who updates

  private interface Update {
    Result of(RefUpdate update) throws IOException;
  }

  @Override
  public Result update(RevWalk walk) throws IOException {
    deletes = false; // an update may follow a deletion
    return orByJGit(own -> super.update(walk), jgit -> jgit.update(walk));
  }

  @Override
  public Result delete(RevWalk walk) throws IOException {
    deletes = true;
    return orByJGit(own -> super.delete(walk), jgit -> jgit.delete(walk));
  }

  @Override
  public Result link(String target) throws IOException {
    deletes = false;
    return orByJGit(own -> super.link(target), jgit -> jgit.link(target));
  }

  @Override
  public Result getResult() {
    return byJGit == null ? super.getResult() : byJGit.getResult();
  }

  private Result orByJGit(Update own, Update jgit) throws IOException {
    byJGit = null;
    try {
      return own.of(this);
    } catch (RefReader.LeftToJGit e) {
      byJGit = refs.jgit.newUpdate(getName(), isDetachingSymbolicRef());
      if (getNewObjectId() != null) {
        byJGit.setNewObjectId(getNewObjectId());
      }
      byJGit.setExpectedOldObjectId(getExpectedOldObjectId());
      byJGit.setForceUpdate(isForceUpdate());
      byJGit.setRefLogIdent(getRefLogIdent());
      byJGit.setRefLogMessage(getRefLogMessage(), isRefLogIncludingResult());
      byJGit.setForceRefLog(isForceRefLog());
      byJGit.setPushCertificate(getPushCertificate());
      try {
        Result result = jgit.of(byJGit);
        setOldObjectId(byJGit.getOldObjectId());
        return result;
      } finally {
        afterJGit.run();
      }
    }
  }

  // ---- JGit's steps

  @Override
  protected boolean tryLock(boolean deref) throws IOException {
    dereferences = deref;
    name = (deref ? getRef().getLeaf() : getRef()).getName();
    UpdateContext.checkName(name, deletes);
    transaction = new RefTransaction(context, List.of(command()));
    try {
      // JGit refuses even to delete a ref that is missing if there could be none.
      if (deletes && getRef().getObjectId() == null && database.isNameConflicting(name)) {
        return false;
      }
      transaction.lock(0);
    } catch (RefusedException e) {
      return false;
    }
    Ref found = transaction.old();
    setOldObjectId(found == null ? null : found.getObjectId());
    return true;
  }

  private ReceiveCommand command() {
    ObjectId old = getRef().getObjectId() == null ? ObjectId.zeroId() : getRef().getObjectId();
    if (deletes) {
      return new ReceiveCommand(old, ObjectId.zeroId(), name);
    }
    return getNewObjectId() == null
        ? ReceiveCommand.link(old, name, name) // the target is not yet known
        : new ReceiveCommand(old, getNewObjectId(), name);
  }

  @Override
  protected void unlock() {
    if (transaction != null) {
      transaction.close();
    }
  }

  @Override
  protected Result doUpdate(Result status) throws IOException {
    transaction.write(getNewObjectId().name());
    String message = getRefLogMessage();
    if (message != null) {
      String result = isRefLogIncludingResult() ? toLogText(status) : null;
      log(Joiner.on(": ").skipNulls().join(emptyToNull(message), result), dereferences);
    }
    return run(status);
  }

  private static @Nullable String toLogText(Result status) {
    return switch (status) {
      case FORCED -> ReflogEntry.PREFIX_FORCED_UPDATE;
      case FAST_FORWARD -> ReflogEntry.PREFIX_FAST_FORWARD;
      case NEW -> ReflogEntry.PREFIX_CREATED;
      default -> null;
    };
  }

  private void log(String message, boolean deref) throws IOException {
    StoredConfig config = refs.config();
    boolean force = isForceRefLog();
    // An update through a symbolic ref is logged if either of the two refs has a log.
    boolean ofItself = context.preparesLog(getRef().getName(), force, config);
    boolean ofLeaf = deref && context.preparesLog(getRef().getLeaf().getName(), force, config);
    if (ofItself || ofLeaf) {
      ReflogWriter unused = new ReflogWriter(refs.jgit, force).log(this, message, deref);
    }
  }

  @Override
  protected Result doLink(String target) throws IOException {
    transaction.write("ref: " + target);
    String message = getRefLogMessage();
    if (message != null) {
      log(message, false);
    }
    return run(getRef().getStorage() == Ref.Storage.NEW ? Result.NEW : Result.FORCED);
  }

  @Override
  protected Result doDelete(Result status) throws IOException {
    return transaction.old() == null ? status : run(status);
  }

  private Result run(Result status) throws IOException {
    try {
      transaction.run();
    } catch (IOException e) {
      if (!deletes
          && (e instanceof DirectoryNotEmptyException || refs.paths.loose(name).isDirectory())) {
        // Others have made a folder of this name, with refs or locks in it, perhaps for a moment.
        return Result.LOCK_FAILURE;
      }
      throw e;
    }
    if (deletes) {
      context.deleteLog(name);
    }
    unlock(); // listeners, which are told next, may want to change the ref too
    refs.wrote();
    return status;
  }
}
