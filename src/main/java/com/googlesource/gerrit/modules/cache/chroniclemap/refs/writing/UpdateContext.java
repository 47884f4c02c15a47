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

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.EmptyRefFolders;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefName;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RepositoryFiles;
import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.errors.LockFailedException;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.ConfigConstants;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.CoreConfig;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.ProgressMonitor;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.StoredConfig;

/**
 * What all updates of the refs of one repository share: files, settings, locks, and the queue for
 * {@code packed-refs}. Any thread may call.
 */
public final class UpdateContext {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  final RepositoryFiles refs;
  final RepositoryWriter writes;
  final UpdateSettings settings;
  private final Recovery recovery;

  /**
   * Makes it without touching the disk.
   *
   * @param writes shared by all instances of the repository
   */
  public UpdateContext(RepositoryFiles refs, RepositoryWriter writes, UpdateSettings settings) {
    this.refs = refs;
    this.writes = writes;
    this.settings = settings;
    this.recovery = new Recovery(refs, writes);
  }

  /** Whether this module updates refs, not JGit. */
  private boolean isOwn() {
    return settings.by() == UpdateSettings.By.OWN && !writes.locks.isLeftToJGit(System.nanoTime());
  }

  RefPacker packer() {
    return new RefPacker(this, refs);
  }

  /**
   * Whether an update of a ref is logged: its log exists or has to be made. JGit writes it, but
   * knows nothing of {@code core.sharedRepository}.
   *
   * @param config the repository's config
   */
  boolean preparesLog(String name, boolean force, StoredConfig config) throws IOException {
    File log = refs.jgit.logFor(name);
    boolean isLogged = force || makesLog(name, config) || log.isFile();
    if (isLogged) {
      writes.disk.makeIfShared(log.toPath());
    }
    return isLogged;
  }

  /** Whether a missing log is made, as in JGit and git. */
  private boolean makesLog(String name, StoredConfig config) {
    boolean bare = refs.repository.isBare();
    return switch (config.getEnum(
        ConfigConstants.CONFIG_CORE_SECTION,
        null,
        ConfigConstants.CONFIG_KEY_LOGALLREFUPDATES,
        bare ? CoreConfig.LogRefUpdates.FALSE : CoreConfig.LogRefUpdates.TRUE)) {
      case FALSE -> false;
      case TRUE ->
          name.equals(Constants.HEAD)
              || name.startsWith(Constants.R_HEADS)
              || name.startsWith(Constants.R_REMOTES)
              || name.startsWith(Constants.R_NOTES);
      case ALWAYS -> name.equals(Constants.HEAD) || name.startsWith(Constants.R_REFS);
    };
  }

  /** What the lock of a killed process may refuse. */
  private interface Attempt<T> {
    T run() throws IOException;
  }

  /** Makes a second attempt if there was something to recover. */
  private <T> T recovering(Attempt<T> attempt) throws IOException {
    try {
      return attempt.run();
    } catch (RefusedException e) {
      // Another server on the same folder may have been killed while this one ran.
      if (recovery.run(e.file)) {
        return attempt.run();
      }
      throw e;
    }
  }

  /**
   * Locks refs, if need be after a recovery.
   *
   * @param changed in the order of names
   */
  HeldLocks lock(List<? extends HeldLocks.LockedRef> changed, long waitMillis) throws IOException {
    return recovering(() -> HeldLocks.lock(refs.paths, writes.locks, changed, waitMillis));
  }

  /** Checks the files around refs that the caller has locked, if need be after a recovery. */
  void checkFiles(NameConflicts conflicts, Set<String> names) throws IOException {
    Object unused =
        recovering(
            () -> {
              conflicts.checkFiles(names);
              return names;
            });
  }

  /** Writes {@code packed-refs}, if need be after a recovery. */
  void write(PackedRefsQueue.Request request, PackedRefsQueue.Options options) throws IOException {
    try {
      writes.queue.run(request, options, refs::lockedList);
    } catch (LockFailedException e) {
      if (!recovery.run(refs.paths.packedRefsLock())) {
        throw e;
      }
      writes.queue.run(request, options, refs::lockedList);
    }
  }

  /** Recovers the repository at its first use in this process. */
  public void recover() {
    if (isOwn()) {
      writes.beforeFirstUse(
          () -> {
            writes.disk.share(SharedMode.of(refs.repository.getConfig()));
            boolean unused = recovery.run();
          });
    }
  }

  /**
   * Refuses to make or change a ref whose name git refuses, as its file would be no ref. A line of
   * such a name can be deleted, unless its lock would be in a folder named like a lock, or no
   * journal can name it.
   */
  static void checkName(String name, boolean deletes) throws IOException {
    RefName checked = RefName.of(name);
    if (!(deletes ? checked.isSafe() : checked.isAllowed()) || !Journal.canName(name)) {
      throw new IOException("git allows no ref of this name: " + name);
    }
  }

  /**
   * Returns an update of a ref; null if JGit must update it.
   *
   * @param database the update's database, by which JGit looks for HEAD
   * @param afterJGit is run if JGit had to make the update
   */
  @Nullable
  public RefUpdate newUpdate(String name, boolean detach, RefDatabase database, Runnable afterJGit)
      throws IOException {
    if (!isOwn()) {
      return null;
    }
    Ref ref;
    try {
      ref = refs.earlyReader.refsToWrite(List.of(name), notLoose -> {}).refs().get(name);
    } catch (RefReader.LeftToJGit e) {
      return null;
    }
    if (ref == null) {
      ref = new ObjectIdRef.Unpeeled(Ref.Storage.NEW, name, null);
    }
    FileRefUpdate update = new FileRefUpdate(this, ref, database, afterJGit);
    if (detach && ref.isSymbolic()) {
      update.setDetachingSymbolicRef();
    }
    return update;
  }

  /**
   * Returns an update of several refs; null if JGit must update them.
   *
   * @param database makes the updates of a batch that is not atomic
   * @param afterwards is run when the batch was executed, perhaps by JGit
   */
  @Nullable
  public BatchRefUpdate newBatchUpdate(RefDatabase database, Runnable afterwards) {
    return isOwn() ? new FileBatchUpdate(this, database, afterwards) : null;
  }

  /**
   * Packs loose refs.
   *
   * @param all whether to pack all refs; otherwise only tags
   * @return false if JGit must pack; nothing has happened then
   */
  public boolean pack(ProgressMonitor monitor, boolean all) throws IOException {
    if (!isOwn()) {
      return false;
    }
    try {
      packer().pack(monitor, all);
      return true;
    } catch (RefReader.LeftToJGit e) {
      return false;
    }
  }

  /** Counts new loose refs. If there are too many, they are packed in the background. */
  void madeLoose(int count) {
    int least = settings.maxLoose();
    writes.added(count, least, () -> packer().packInBackground(least));
  }

  /**
   * Deletes the log of a deleted ref, and the folders that are empty then. As with native git, a
   * failure is only logged: the deletion of a packed ref has already happened.
   */
  void deleteLog(String name) {
    File log = refs.jgit.logFor(name);
    try {
      writes.disk.deleteLoose(log);
    } catch (IOException e) {
      logger.atWarning().withCause(e).log("ref %s was deleted, but its reflog could not be", name);
    }
    EmptyRefFolders.deleteAbove(Map.of(name, log));
  }
}
