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

import com.google.common.base.Strings;
import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RepositoryFiles;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * The name conflicts of a batch of commands: a ref can't have the name of a folder of refs.
 *
 * <p>Packed refs are searched before the locks are taken, and again under them if {@code
 * packed-refs} has another list by then. Without the first search, a batch that packed refs refuse
 * would take locks for nothing, and make native git fail that wants one of them. Files are searched
 * one time, under the locks. The answer then holds until the locks are released, whoever else
 * writes:
 *
 * <ul>
 *   <li>Threads of this process can't hold names above or below each other's (NameReservations).
 *   <li>Other processes with this module take their locks before they look for the locks of others,
 *       as is done here. So at least one of two processes sees the other.
 *   <li>Native git looks only for refs, under its lock. If it locks first, its lock is seen here.
 *       If it locks later, it sees what was packed before. The folder {@code x/} stops its rename
 *       of {@code x.lock} to {@code x} as long as there is a ref or a lock in the folder. So a
 *       writer that packs a ref checks again before it deletes the ref's file or lock ({@link
 *       ForeignLocks}, {@link RefTransaction#finish}).
 * </ul>
 *
 * <p>For one thread at a time. Two conflicts are not prevented. JGit looks for other refs before it
 * takes its lock, so it can make a ref in conflict with one made here. Native git can make and pack
 * a ref {@code x/y} between the check and the rename of a ref {@code x} here.
 */
final class NameConflicts {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Thrown if a command can't be done. Nothing of its batch has changed then. */
  static final class RefusedException extends IOException {
    private static final long serialVersionUID = 1;

    final transient ReceiveCommand command;

    RefusedException(ReceiveCommand command) {
      super(command.getRefName() + " is not as it was, or in conflict");
      this.command = command;
    }
  }

  private final RepositoryFiles refs;
  private final List<ReceiveCommand> commands;
  private final NavigableSet<String> made = new TreeSet<>();
  private final NavigableSet<String> deleted = new TreeSet<>();

  /** The packed refs in which no conflict was found. As lists do not change, there is none. */
  @Nullable private ParsedRefs searched;

  /** Makes the conflicts of a batch, without looking for any. */
  NameConflicts(RepositoryFiles refs, List<ReceiveCommand> commands) {
    this.refs = refs;
    this.commands = commands;
    for (ReceiveCommand command : commands) {
      (deletes(command) ? deleted : made).add(command.getRefName());
    }
  }

  static boolean deletes(ReceiveCommand command) {
    return command.getType() == ReceiveCommand.Type.DELETE;
  }

  /** Whether the batch has a name below one that it deletes. */
  boolean areNested() {
    return deleted.stream().anyMatch(name -> isAbove(name, made) || isAbove(name, deleted));
  }

  /** Whether a name is that of a folder of others. */
  private static boolean isAbove(String name, NavigableSet<String> others) {
    String next = others.ceiling(name + '/');
    return next != null && next.startsWith(name + '/');
  }

  // ---- before the locks

  /**
   * Checks the batch itself and packed refs. The list may be older than that under the locks, so
   * what it refuses is confirmed.
   *
   * @throws RefusedException if there is a conflict
   */
  void checkBeforeLocks() throws IOException {
    if (made.stream().anyMatch(name -> isAbove(name, made) || isAbove(name, deleted))
        || findIn(refs.earlyReader.packed(), commands) != null) {
      refuseLikeJGit();
    }
  }

  /**
   * Refuses the command that JGit would refuse, if there is a conflict with packed or loose refs.
   * This is for batches that fail, as it reads all around each name.
   */
  void refuseLikeJGit() throws IOException {
    for (ReceiveCommand command : commands) {
      String name = command.getRefName();
      File unused = refs.paths.toLock(name); // nothing is looked for under a name that is too long
      boolean isBad =
          (!deletes(command) && isAbove(name, made))
              || RefReader.parents(name).stream().anyMatch(made::contains)
              || refs.lockedReader.conflictingNames(name).stream()
                  .filter(other -> !deleted.contains(other))
                  .anyMatch(other -> !deletes(command) || name.startsWith(other + '/'));
      if (isBad) {
        throw new RefusedException(command);
      }
    }
  }

  @Nullable
  private ReceiveCommand findIn(ParsedRefs packed, Collection<ReceiveCommand> among) {
    if (packed != searched) {
      for (ReceiveCommand command : among) {
        String other = packed.conflicting(command.getRefName(), deleted);
        if (other != null && !deleted.contains(other)) {
          return command;
        }
      }
      searched = packed;
    }
    return null;
  }

  // ---- under the locks

  /**
   * Checks the files around refs that the caller has locked: all locks above new ones, and all
   * files below those that are made. No loose ref can be above, as the caller's lock is in a folder
   * of that name. Must come before the list is read, in which refs that are packed meanwhile are
   * found.
   *
   * @param names those of the refs that are not loose
   */
  void checkFiles(Set<String> names) throws IOException {
    ForeignLocks above = new ForeignLocks(refs.paths, made, deleted);
    for (ReceiveCommand command : commands) {
      String name = command.getRefName();
      if (!deletes(command)
          && names.contains(name)
          && ((command.getType() == ReceiveCommand.Type.CREATE && above.isLocked(name))
              || holdsForeign(refs.paths.loose(name), above.own))) {
        throw new RefusedException(command);
      }
    }
  }

  /** Checks that new refs are not in conflict with packed refs. */
  void checkPacked(ParsedRefs packed, List<ReceiveCommand> created) throws RefusedException {
    ReceiveCommand refused = findIn(packed, created);
    if (refused != null) {
      throw new RefusedException(refused);
    }
  }

  /**
   * The locks that others have on refs above some refs that the caller has locked. A writer that
   * locked {@code x} before {@code x/y} was packed may not have seen {@code x/y}. Only a file in
   * the folder {@code x} then stops that writer. Each lock file is looked for once, if the names
   * come in order.
   */
  static final class ForeignLocks {
    private static final long OLD_MILLIS = TimeUnit.MINUTES.toMillis(1);

    private final RefPaths paths;
    private final Set<File> own = new HashSet<>();

    /** The name before, and the folder above it that others have locked, with a slash. */
    private String last = "";

    @Nullable private String locked;

    /** Makes the locks above names that the caller has locked. */
    @SafeVarargs
    ForeignLocks(RefPaths paths, Collection<String>... names) throws IOException {
      this.paths = paths;
      for (Collection<String> each : names) {
        for (String name : each) {
          own.add(lock(name));
        }
      }
    }

    private File lock(String name) throws IOException {
      return new File(paths.loose(name) + RefPaths.LOCK);
    }

    boolean isLocked(String name) throws IOException {
      if (locked == null || !name.startsWith(locked)) {
        int shared = Strings.commonPrefix(last, name).length();
        last = name;
        locked = null;
        for (int slash = name.indexOf('/', shared);
            slash > 0 && locked == null;
            slash = name.indexOf('/', slash + 1)) {
          if (isThere(lock(name.substring(0, slash)), name)) {
            locked = name.substring(0, slash + 1);
          }
        }
      }
      return locked != null;
    }

    private boolean isThere(File lock, String below) throws IOException {
      if (!LooseFile.isThere(lock) || own.contains(lock)) {
        return false;
      }
      if (System.currentTimeMillis() - lock.lastModified() > OLD_MILLIS) {
        logger.atWarning().atMostEvery(1, TimeUnit.MINUTES).log(
            "lock %s prevents the creation of %s; delete it if its git process is dead",
            lock, below);
      }
      return true;
    }
  }

  /** Whether a folder contains anything but empty folders and the caller's locks. */
  private static boolean holdsForeign(File folder, Set<File> own) throws IOException {
    for (Path path : LooseFile.list(folder.toPath())) {
      File file = path.toFile();
      if (file.isDirectory() ? holdsForeign(file, own) : !own.contains(file)) {
        return true;
      }
    }
    return false;
  }
}
