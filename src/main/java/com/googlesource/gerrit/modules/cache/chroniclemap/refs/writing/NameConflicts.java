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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefName;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RepositoryFiles;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * The name conflicts of a batch of commands: a ref can't have the name of a folder of refs.
 *
 * <p>All is looked for under the locks: files first, then packed refs, and these again if {@code
 * packed-refs} has another list when it is locked too. (A batch looks for packed refs before, so as
 * not to lock thousands of refs for nothing. A list is searched once.) The answer then holds until
 * the locks are released, whoever else writes:
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
  private final RepositoryFiles refs;
  private final List<ReceiveCommand> commands;
  private final NavigableMap<String, ReceiveCommand> made = new TreeMap<>();
  private final NavigableMap<String, ReceiveCommand> deleted = new TreeMap<>();

  /** The packed refs that were searched last. */
  @Nullable private ParsedRefs searched;

  /**
   * The names that are in no conflict there, and whether they are in a folder without packed refs.
   * As lists do not change, this stays so.
   */
  private final Map<String, Boolean> free = new HashMap<>();

  /** The {@link ParsedRefs#freeFolder} of the name that was searched for last. */
  @Nullable private String freeFolder;

  /** Makes the conflicts of a batch, without looking for any. */
  NameConflicts(RepositoryFiles refs, List<ReceiveCommand> commands) {
    this.refs = refs;
    this.commands = commands;
    for (ReceiveCommand command : commands) {
      (deletes(command) ? deleted : made).put(command.getRefName(), command);
    }
  }

  static boolean deletes(ReceiveCommand command) {
    return command.getType() == ReceiveCommand.Type.DELETE;
  }

  /** Whether the batch has a name below one that it deletes. */
  boolean areNested() {
    return deleted.keySet().stream()
        .anyMatch(name -> isAbove(name, made) || isAbove(name, deleted));
  }

  /** Whether a name is that of a folder of others. */
  private static boolean isAbove(String name, NavigableMap<String, ReceiveCommand> others) {
    String next = others.ceilingKey(name + '/');
    return next != null && next.startsWith(name + '/');
  }

  /**
   * Checks the names of a batch against each other, and against packed refs. As in JGit, no
   * deletion makes room above.
   */
  void checkBeforeLocks() throws IOException {
    for (String name : made.keySet()) {
      if (isAbove(name, made) || isAbove(name, deleted)) {
        throw new RefusedException(name, null);
      }
    }
    ParsedRefs early = commands.size() == 1 ? null : refs.earlyReader.packed();
    for (ReceiveCommand command : early == null ? List.<ReceiveCommand>of() : commands) {
      // That list may be too old.
      if (isCreated(command) && !isFree(early, command.getRefName())) {
        checkPacked(refs.lockedReader.packed(), List.of(command.getRefName()));
      }
    }
  }

  /**
   * Returns the name that JGit would refuse, if there is a conflict with packed or loose refs. This
   * is for batches that fail. The list of packed refs is read once, and a folder that several names
   * in a row share is looked at once.
   */
  @Nullable
  String refusedByJGit() throws IOException {
    ParsedRefs packed = refs.lockedReader.packed();
    String clear = "";
    for (ReceiveCommand command : commands) {
      String name = command.getRefName();
      if ((!deletes(command) && isAbove(name, made))
          || RefReader.parents(name).stream().anyMatch(made::containsKey)
          || (mayConflict(packed, name, clear)
              && refs.lockedReader.conflictingNames(name).stream()
                  .filter(other -> !deleted.containsKey(other))
                  .anyMatch(other -> !deletes(command) || name.startsWith(other + '/')))) {
        return name;
      }
      clear = name;
    }
    return null;
  }

  /**
   * Whether there may be a ref above or below a name that is not deleted.
   *
   * @param clear a name that has none
   */
  private boolean mayConflict(ParsedRefs packed, String name, String clear) throws IOException {
    File file = refs.paths.toLock(name); // nothing is looked for under a name that is too long
    if (!isFree(packed, name) || !LooseFile.isNoFolder(file.toPath())) {
      return true;
    }
    int shared = Strings.commonPrefix(clear, name).length();
    for (String folder : RefReader.parents(name)) {
      if (folder.length() >= shared && refs.loose.findFile(RefName.of(folder)) != null) {
        return true;
      }
    }
    return false;
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
    ForeignLocks others = new ForeignLocks(refs.paths, made.keySet(), deleted.keySet());
    for (String name : made.keySet()) {
      if (names.contains(name)) {
        // A batch fails if a ref is missing that it does not create.
        boolean mayBeNew = commands.size() == 1 || isCreated(made.get(name));
        Path file = mayBeNew ? others.above(name) : null;
        file = file == null ? others.below(name) : file;
        if (file != null) {
          throw new RefusedException(name, file);
        }
      }
    }
  }

  /** Whether a ref was missing when its command was made. */
  private static boolean isCreated(ReceiveCommand command) {
    return command.getType() == ReceiveCommand.Type.CREATE;
  }

  /**
   * Whether a command is expected to create a ref, whose folder has no packed refs. So it need not
   * be searched for itself.
   */
  boolean isInFreeFolder(ParsedRefs packed, ReceiveCommand command) {
    String name = command.getRefName();
    return isCreated(command) && isFree(packed, name) && free.get(name);
  }

  /** Whether there are no packed refs above and below a name. Two names of a change cost one. */
  private boolean isFree(ParsedRefs packed, String name) {
    if (packed != searched) {
      searched = packed;
      free.clear();
      freeFolder = null;
    }
    if (free.containsKey(name)) {
      return true;
    }
    if (freeFolder == null || !name.startsWith(freeFolder)) {
      freeFolder = packed.freeFolder(name, deleted.keySet());
    }
    if (freeFolder != null) {
      free.put(name, name.startsWith(freeFolder));
    }
    return freeFolder != null;
  }

  /** Checks that new refs are not in conflict with packed refs. */
  void checkPacked(ParsedRefs packed, List<String> created) throws RefusedException {
    for (String name : created) {
      if (!isFree(packed, name)) {
        throw new RefusedException(name, null);
      }
    }
  }

  /**
   * The files of others around some refs that the caller has locked. A writer that locked {@code x}
   * before {@code x/y} was packed may not have seen {@code x/y}. Only a file in the folder {@code
   * x} then stops that writer. Each lock file is looked for once, if the names come in order.
   */
  static final class ForeignLocks {
    private final RefPaths paths;
    private final Set<String> own = new HashSet<>();

    /** The name before, the lock that others have above it, and what that lock is above. */
    private String last = "";

    @Nullable private Path lock;
    private String locked = "";

    /** Makes the locks around names that the caller has locked. */
    @SafeVarargs
    ForeignLocks(RefPaths paths, Collection<String>... names) {
      this.paths = paths;
      for (Collection<String> each : names) {
        own.addAll(each);
      }
    }

    /** Returns a lock that others have on a folder above a name; null if there is none. */
    @Nullable
    Path above(String name) throws IOException {
      if (lock == null || !name.startsWith(locked)) {
        int shared = Strings.commonPrefix(last, name).length();
        last = name;
        lock = null;
        for (int slash = name.indexOf('/', shared);
            slash > 0 && lock == null;
            slash = name.indexOf('/', slash + 1)) {
          String folder = name.substring(0, slash);
          Path other = RefPaths.lockOf(paths.loose(folder));
          if (!own.contains(folder) && LooseFile.isThere(other.toFile())) {
            lock = other;
            locked = name.substring(0, slash + 1);
          }
        }
      }
      return lock;
    }

    /** Returns a file of others in the folder of a name; null if there are at most folders. */
    @Nullable
    private Path below(String name) throws IOException {
      Path folder = paths.loose(name).toPath();
      // Nearly always. To list it would cost an exception.
      return LooseFile.isNoFolder(folder) ? null : in(folder, name + '/');
    }

    @Nullable
    private Path in(Path folder, String prefix) throws IOException {
      for (Path each : LooseFile.list(folder)) {
        String name = prefix + each.getFileName();
        boolean isOwn =
            name.endsWith(RefPaths.LOCK)
                && own.contains(name.substring(0, name.length() - RefPaths.LOCK.length()));
        Path file = Files.isDirectory(each) ? in(each, name + '/') : isOwn ? null : each;
        if (file != null) {
          return file;
        }
      }
      return null;
    }
  }
}
