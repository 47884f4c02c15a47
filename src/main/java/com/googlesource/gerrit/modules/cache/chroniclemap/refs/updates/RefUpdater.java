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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.updates;

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.Journal;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.LockedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.SharedMode;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import java.io.File;
import java.io.IOException;
import java.util.List;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.errors.LockFailedException;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.Config;
import org.eclipse.jgit.lib.ConfigConstants;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.CoreConfig;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.ProgressMonitor;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.StoredConfig;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * What all updates of one repository's refs need: its files, its settings, its locks, and the queue
 * for {@code packed-refs}. Any thread may call.
 */
public final class RefUpdater {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private static final Config.SectionParser<Boolean> IS_DURABLE =
      config -> config.getBoolean("core", null, "fsyncRefFiles", false);

  private final UpdatableRefs refs;
  private final RefPaths paths;
  private final SharedWrites writes;
  private final UpdateSettings settings;
  private final Recovery recovery;

  /**
   * Makes it; reads and changes nothing yet.
   *
   * @param writes one for all instances of the repository
   */
  public RefUpdater(
      UpdatableRefs refs, RefPaths paths, SharedWrites writes, UpdateSettings settings) {
    this.refs = refs;
    this.paths = paths;
    this.writes = writes;
    this.settings = settings;
    this.recovery = new Recovery(refs, paths, writes);
  }

  /** Whether updates are made here, not by JGit. */
  private boolean isOwn() {
    return settings.by() == UpdateSettings.By.OWN;
  }

  boolean isAtomicByRewrite() {
    return settings.atomic() == UpdateSettings.Atomic.REWRITE;
  }

  UpdatableRefs refs() {
    return refs;
  }

  SharedWrites writes() {
    return writes;
  }

  RefPaths paths() {
    return paths;
  }

  /** By which files are changed. */
  RefDisk disk() {
    return writes.disk();
  }

  RefPacker packer() {
    return new RefPacker(this);
  }

  /** Whether refs are to outlive a crash of the machine, as the repository's config says. */
  boolean isDurable() {
    return isDurable(refs.repository().getConfig());
  }

  /**
   * The same.
   *
   * @param config of the repository; asked for once for an update, as each time costs a look at six
   *     files
   */
  boolean isDurable(StoredConfig config) {
    return config.get(IS_DURABLE);
  }

  /**
   * Whether changes of a ref are logged: where its log is there, or is to be made.
   *
   * @param config as above
   */
  boolean isLogged(String name, boolean force, StoredConfig config) {
    return force || makesLog(name, config) || refs.jgit().logFor(name).isFile();
  }

  /** As JGit has it, and git. */
  private boolean makesLog(String name, StoredConfig config) {
    boolean bare = refs.repository().isBare();
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

  /**
   * Locks refs.
   *
   * @param entries in the order of names
   */
  LockedRefs lock(List<Journal.Entry> entries, long waitMillis)
      throws IOException, LockedRefs.Refused {
    try {
      return writes.locks().lock(paths, entries, waitMillis);
    } catch (LockedRefs.Refused e) {
      // Another Gerrit on the same folder may have been killed while this one ran.
      if (recovery.run()) {
        return writes.locks().lock(paths, entries, waitMillis);
      }
      throw e;
    }
  }

  /**
   * Looks at the files around refs that the caller has locked.
   *
   * @throws IOException if a file can't be named or asked for
   */
  NameConflicts conflicts(List<ReceiveCommand> commands) throws IOException {
    NameConflicts conflicts = NameConflicts.underLocks(paths, commands);
    // Nobody may ever ask for the ref that a killed process has locked above a new one.
    return conflicts.isFound() && recovery.run()
        ? NameConflicts.underLocks(paths, commands)
        : conflicts;
  }

  /** Has {@code packed-refs} written. */
  void write(PackedRefsQueue.Request request, PackedRefsQueue.Terms terms) throws IOException {
    try {
      writes.queue().run(request, terms, refs::lockedList);
    } catch (LockFailedException e) {
      if (!recovery.run()) {
        throw e;
      }
      writes.queue().run(request, terms, refs::lockedList);
    }
  }

  /** Does what killed processes have left undone, when the repository is first used. */
  public void recover() {
    if (isOwn()) {
      writes.beforeFirstUse(
          () -> {
            disk().share(SharedMode.of(refs.repository().getConfig()));
            boolean unused = recovery.run();
          });
    }
  }

  /** Returns an update of a ref, or null if JGit must do it. */
  @Nullable
  public RefUpdate newUpdate(String name, boolean detach) throws IOException {
    if (!isOwn() || !Journal.isWritable(name)) {
      return null;
    }
    Ref ref;
    try {
      ref = refs.earlyReader().refToWrite(name, () -> {}).ref();
    } catch (RefReader.LeftToJGit e) {
      return null;
    }
    if (ref == null) {
      ref = new ObjectIdRef.Unpeeled(Ref.Storage.NEW, name, null);
    } else if (!Journal.isWritable(ref.getLeaf().getName())) {
      return null;
    }
    FileRefUpdate update = new FileRefUpdate(this, ref);
    if (detach && ref.isSymbolic()) {
      update.setDetachingSymbolicRef();
    }
    return update;
  }

  /** Returns an update of several refs, or null if JGit must do it. */
  @Nullable
  public BatchRefUpdate newBatchUpdate() {
    return isOwn() ? new FileBatchUpdate(this) : null;
  }

  /**
   * Packs loose refs.
   *
   * @param all whether all; else tags alone
   * @return false if JGit must do it; then nothing has happened
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

  /** Notes loose refs that were made: when there are many, they are packed in the background. */
  void madeLoose(int count) {
    int least = settings.maxLoose();
    writes.added(count, least, () -> packer().packInBackground(least));
  }

  /**
   * Deletes the log of a ref that is deleted, and the folders that only it needed. The deletion
   * does not fail if the log stays, as with native git: where the ref was packed it has happened.
   */
  void deleteLog(String name) {
    File log = refs.jgit().logFor(name);
    try {
      if (log.isFile()) {
        disk().delete(log.toPath());
      }
    } catch (IOException e) {
      logger.atWarning().withCause(e).log("the log of %s stays, which is deleted", name);
    }
    RefPaths.deleteEmptyParents(log, name);
  }
}
