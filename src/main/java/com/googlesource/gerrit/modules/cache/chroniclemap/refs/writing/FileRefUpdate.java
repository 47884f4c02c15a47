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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedEdits;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RepositoryRefs;
import java.io.IOException;
import java.util.List;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.ReflogWriter;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.ReflogEntry;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.lib.StoredConfig;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * The update of one ref that is in files. It locks the ref, reads the value from the files, and
 * renames the new value into place. Readers in all processes see this as one step. A deletion goes
 * through the {@link PackedRefsQueue}, as the ref may have a line in {@code packed-refs}.
 *
 * <p>The cost does not grow with the repository, unless {@code packed-refs} is read or rewritten.
 */
final class FileRefUpdate extends RefUpdate {
  private final RefUpdater updater;
  private final RepositoryRefs refs;
  private final RefDatabase early;

  private boolean dereferences;
  @Nullable private LockedRefs locks;

  /** The ref as the files have it, read under the lock; null if there is none. */
  @Nullable private Ref found;

  /** What was read under the lock if the ref is not loose: files around it, and packed refs. */
  @Nullable private NameConflicts conflicts;

  @Nullable private ParsedRefs packed;

  /** Whether the change has to survive a crash of the machine. Set before it. */
  private boolean durable;

  /**
   * Makes an update.
   *
   * @param early looks for conflicts of names before the ref is locked
   */
  FileRefUpdate(RefUpdater updater, Ref ref, RefDatabase early) {
    super(ref);
    this.updater = updater;
    this.refs = updater.refs;
    this.early = early;
  }

  @Override
  protected RefDatabase getRefDatabase() {
    return early;
  }

  @Override
  protected Repository getRepository() {
    return refs.repository;
  }

  @Override
  protected boolean tryLock(boolean deref) throws IOException {
    dereferences = deref;
    String name = (deref ? getRef().getLeaf() : getRef()).getName();
    ObjectId newId = getNewObjectId() == null ? ObjectId.zeroId() : getNewObjectId();
    try {
      locks = updater.lock(List.of(new Journal.Entry(name, newId)), 0);
    } catch (LockedRefs.Refused e) {
      return false;
    }
    RefReader.ToWrite read = read(name);
    found = read.ref();
    packed = read.packed();
    setOldObjectId(found == null ? null : found.getObjectId());
    return true;
  }

  private RefReader.ToWrite read(String name) throws IOException {
    RefReader.ToWrite read;
    try {
      read = refs.lockedReader.refToWrite(name, this::findConflicts);
    } catch (RefReader.LeftToJGit e) {
      read = new RefReader.ToWrite(refs.jgit.exactRef(name), null);
    }
    if (read.ref() != null) {
      refs.sawRefs();
    }
    return read;
  }

  private void findConflicts() throws IOException {
    String name = locks.names.get(0);
    conflicts = new NameConflicts(List.of(ReceiveCommand.link(ObjectId.zeroId(), name, name)));
    updater.checkUnderLocks(conflicts);
  }

  @Override
  protected void unlock() {
    if (locks != null) {
      locks.close();
      locks = null;
    }
  }

  /** Whether other refs or locks are in the way of a new ref of this name. */
  private boolean isInConflict() throws IOException {
    if (found != null) {
      return false;
    }
    try {
      if (conflicts != null) {
        conflicts.refuse(packed);
      }
      return packed == null && refs.jgit.isNameConflicting(locks.names.get(0));
    } catch (NameConflicts.RefusedException e) {
      return true;
    }
  }

  @Override
  protected Result doUpdate(Result status) throws IOException {
    if (isInConflict()) {
      return Result.LOCK_FAILURE;
    }
    locks.write(0, getNewObjectId());
    String message = getRefLogMessage();
    if (message != null) {
      String result = isRefLogIncludingResult() ? toLogText(status) : null;
      log(Joiner.on(": ").skipNulls().join(emptyToNull(message), result), dereferences);
    }
    return publish(status);
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
    StoredConfig config = refs.repository.getConfig();
    boolean force = isForceRefLog();
    // An update through a symbolic ref is logged if either of the two refs has a log.
    boolean ofItself = updater.preparesLog(getRef().getName(), force, config);
    boolean ofLeaf = deref && updater.preparesLog(getRef().getLeaf().getName(), force, config);
    if (ofItself || ofLeaf) {
      ReflogWriter unused = new ReflogWriter(refs.jgit, force).log(this, message, deref);
    }
  }

  private Result publish(Result status) throws IOException {
    durable = updater.isDurable(refs.repository.getConfig());
    if (durable) {
      locks.syncValues();
    }
    try {
      locks.publish(0);
    } catch (IOException e) {
      // Others have made a folder of this name, with refs in it.
      return Result.LOCK_FAILURE;
    }
    try {
      syncFolders();
    } finally {
      // Listeners, which are told next, may want to change the ref too.
      unlock();
      refs.wrote();
    }
    if (found == null || !found.getStorage().isLoose()) {
      updater.madeLoose(1);
    }
    return status;
  }

  /** Syncs the folders of the ref, which has changed and stays so if this fails. */
  private void syncFolders() throws IOException {
    if (!durable) {
      return;
    }
    try {
      locks.syncFolders();
    } catch (IOException e) {
      throw new IOException(
          locks.names.get(0)
              + " has changed, but its folder can't be synced: a loss of power may undo the change",
          e);
    }
  }

  @Override
  protected Result doLink(String target) throws IOException {
    RefUpdater.checkName(locks.names.get(0), false);
    if (isInConflict()) {
      return Result.LOCK_FAILURE;
    }
    locks.write(0, Constants.encode("ref: " + target + '\n'));
    String message = getRefLogMessage();
    if (message != null) {
      log(message, false);
    }
    return publish(getRef().getStorage() == Ref.Storage.NEW ? Result.NEW : Result.FORCED);
  }

  @Override
  protected Result doDelete(Result status) throws IOException {
    if (found == null) {
      return status;
    }
    String name = locks.names.get(0);
    durable = updater.isDurable(refs.repository.getConfig());
    try {
      updater.write(new Deletion(), new PackedRefsQueue.Terms(locks, true, durable));
    } catch (RefReader.LeftToJGit e) {
      unlock();
      return deleteByJGit();
    }
    try {
      syncFolders();
    } finally {
      unlock(); // else the lock file would keep the folder
      RefPaths.deleteEmptyParents(updater.refs.paths.loose(name), name);
      refs.wrote();
    }
    return status;
  }

  private Result deleteByJGit() throws IOException {
    RefUpdate update = refs.jgit.newUpdate(getName(), isDetachingSymbolicRef());
    update.setExpectedOldObjectId(getOldObjectId());
    update.setForceUpdate(true);
    return update.delete();
  }

  private final class Deletion implements PackedRefsQueue.Request {
    private final String name = locks.names.get(0);
    private boolean deletesFile;

    @Override
    public void collect(ParsedRefs packed, PackedEdits edits) throws IOException {
      locks.checkLocked(0);
      edits.remove(name, packed);
    }

    /** Deletes the loose file last, as it holds the ref's value until the deletion is complete. */
    @Override
    public void finish() throws IOException {
      updater.deleteLog(name);
      deletesFile = true;
      locks.deleteLoose(0);
    }

    @Override
    public void rollBackFiles(Throwable why) {
      if (deletesFile && found.getStorage().isLoose()) {
        LooseTransaction.attempt("for " + name, why, () -> locks.rollBackValue(0, found, durable));
      }
    }

    /** Restores the line of a ref that is not loose. Below a loose file, no line is needed. */
    @Override
    public void rollBackLines(ParsedRefs packed, PackedEdits edits) {
      if (!found.getStorage().isLoose()) {
        edits.set(name, found.getObjectId(), found.getPeeledObjectId());
      }
    }
  }
}
