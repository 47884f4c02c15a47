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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose.LooseFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose.LooseRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose.RefPaths;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * Whether the names of a batch can be had together: a ref and a folder of refs can't have the same
 * name. Each prefix that several names have in common is searched for once, so a batch costs some
 * searches for each of its names.
 *
 * <p>It is asked twice. Before anything is locked the verdict is JGit's, for which what is deleted
 * in the batch is gone, and nothing may be below or above a name but for what is deleted. Under the
 * locks the answer holds until they go, whoever writes beside:
 *
 * <ul>
 *   <li>Threads of this process don't hold names above or below each other's (HeldNames).
 *   <li>Other processes with this module take their locks first and look for those of others
 *       second, as is done here: of two at least one sees the other.
 *   <li>Native git looks under its lock for refs only. Where it locks first, its lock is seen here;
 *       where it locks later, it sees what was packed before, and is stopped by the folder {@code
 *       x/} when it renames {@code x.lock} to {@code x}, as long as there is a ref or a lock in it.
 *       So who packs a ref looks again afterwards, before its file or its lock goes ({@link
 *       LocksAbove}, {@link PackedTransaction#finish}).
 * </ul>
 *
 * <p>Not kept apart are a ref of ours and one that JGit makes beside, which looks for others before
 * it takes its lock; and a ref {@code x} of ours and one {@code x/y} that native git both makes and
 * packs in the time between our look and our rename.
 */
final class NameConflicts {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** A command can't be done, and so none of its batch; nothing has changed. */
  static final class RefusedException extends IOException {
    private static final long serialVersionUID = 1;

    private final transient ReceiveCommand command;

    RefusedException(ReceiveCommand command) {
      super(command.getRefName() + " is not as it was, or in conflict");
      this.command = command;
    }

    ReceiveCommand command() {
      return command;
    }
  }

  private final List<ReceiveCommand> commands;
  private final List<ReceiveCommand> sorted;
  private final Set<String> made = new HashSet<>();
  private final Set<String> madeFolders = new HashSet<>();
  private final Set<String> deleted = new HashSet<>();

  /** Those in conflict with others of the batch, with loose refs, or with others' locks. */
  private final Set<ReceiveCommand> bad = new HashSet<>();

  private NameConflicts(List<ReceiveCommand> commands) {
    this.commands = commands;
    this.sorted = new ArrayList<>(commands);
    sorted.sort(Comparator.comparing(ReceiveCommand::getRefName));
    for (ReceiveCommand command : commands) {
      String name = command.getRefName();
      if (deletes(command)) {
        deleted.add(name);
      } else {
        made.add(name);
        madeFolders.addAll(parents(name));
      }
    }
  }

  private static boolean deletes(ReceiveCommand command) {
    return command.getType() == ReceiveCommand.Type.DELETE;
  }

  /** All names that would be folders above it. */
  private static List<String> parents(String name) {
    List<String> parents = new ArrayList<>();
    for (int slash = name.indexOf('/'); slash > 0; slash = name.indexOf('/', slash + 1)) {
      parents.add(name.substring(0, slash));
    }
    return parents;
  }

  /** Whether one name of a batch is below another one, what is deleted being counted too. */
  static boolean areNested(List<ReceiveCommand> commands) {
    Set<String> names = new HashSet<>();
    commands.forEach(command -> names.add(command.getRefName()));
    return names.stream().anyMatch(name -> parents(name).stream().anyMatch(names::contains));
  }

  // ---- first what is in files: a ref that is packed meanwhile is in the list that is asked later

  /** Looks at the batch itself and at loose refs. */
  static NameConflicts before(LooseRefs loose, List<ReceiveCommand> commands) {
    NameConflicts conflicts = new NameConflicts(commands);
    conflicts.find(
        parent ->
            conflicts.made.contains(parent)
                || (!conflicts.deleted.contains(parent) && loose.readListed(parent) != null),
        name ->
            conflicts.madeFolders.contains(name)
                || loose.scan(name + '/').stream()
                    .anyMatch(ref -> !conflicts.deleted.contains(ref.getName())),
        conflicts.bad);
    return conflicts;
  }

  /**
   * Looks at the files around refs that the caller has locked: at locks above a new one, and at all
   * that is below. The caller's own locks keep loose refs away from the names of their folders.
   */
  static NameConflicts underLocks(RefPaths paths, List<ReceiveCommand> commands)
      throws IOException {
    NameConflicts conflicts = new NameConflicts(commands);
    Set<File> own = new HashSet<>();
    for (ReceiveCommand command : commands) {
      own.add(lock(paths, command.getRefName()));
    }
    LocksAbove above = new LocksAbove(paths, own);
    for (ReceiveCommand command : commands) {
      String name = command.getRefName();
      boolean isNew = command.getType() == ReceiveCommand.Type.CREATE;
      if ((isNew && above.isLocked(name))
          || (!deletes(command) && holdsForeign(paths.loose(name), own))) {
        conflicts.bad.add(command);
      }
    }
    return conflicts;
  }

  /** Whether there is any, by what is in files. */
  boolean isFound() {
    return !bad.isEmpty();
  }

  /**
   * The locks that others have on refs above some that the caller has locked. Whoever has locked
   * {@code x} before {@code x/y} was packed may not have seen that, and only a file in the folder
   * {@code x} keeps them out. Each lock file is asked for once.
   */
  static final class LocksAbove {
    private static final long OLD_MILLIS = TimeUnit.MINUTES.toMillis(1);

    private final RefPaths paths;
    private final Set<File> own;
    private final Map<String, Boolean> asked = new HashMap<>();

    private LocksAbove(RefPaths paths, Set<File> own) {
      this.paths = paths;
      this.own = own;
    }

    /** Above names that the caller has locked. */
    static LocksAbove of(RefPaths paths, Collection<String> names) throws IOException {
      Set<File> own = new HashSet<>();
      for (String name : names) {
        own.add(lock(paths, name));
      }
      return new LocksAbove(paths, own);
    }

    boolean isLocked(String name) throws IOException {
      for (String parent : parents(name)) {
        Boolean locked = asked.get(parent);
        if (locked == null) {
          locked = isLocked(lock(paths, parent), name);
          asked.put(parent, locked);
        }
        if (locked) {
          return true;
        }
      }
      return false;
    }

    private boolean isLocked(File lock, String below) throws IOException {
      if (!LooseFile.isThere(lock) || own.contains(lock)) {
        return false;
      }
      if (System.currentTimeMillis() - lock.lastModified() > OLD_MILLIS) {
        logger.atWarning().atMostEvery(1, TimeUnit.MINUTES).log(
            "%s keeps %s from being made. If a killed git left it, delete it by hand", lock, below);
      }
      return true;
    }
  }

  private static File lock(RefPaths paths, String name) throws IOException {
    return new File(paths.loose(name) + RefPaths.LOCK);
  }

  /** Whether anything but empty folders and the caller's locks is below a name. */
  private static boolean holdsForeign(File folder, Set<File> own) {
    File[] files = folder.listFiles();
    return files != null
        && Arrays.stream(files)
            .anyMatch(file -> file.isDirectory() ? holdsForeign(file, own) : !own.contains(file));
  }

  /** Finds those below a ref, and new ones that are a folder of refs. */
  private void find(Predicate<String> isRef, Predicate<String> isFolder, Set<ReceiveCommand> bad) {
    Map<String, Boolean> refs = new HashMap<>();
    for (ReceiveCommand command : sorted) {
      String name = command.getRefName();
      if (parents(name).stream().anyMatch(p -> refs.computeIfAbsent(p, isRef::test))
          || (!deletes(command) && isFolder.test(name))) {
        bad.add(command);
      }
    }
  }

  // ---- and then what is packed

  /**
   * Refuses the first command whose name is in conflict with any.
   *
   * @throws RefusedException if there is one
   */
  void refuse(ParsedRefs packed) throws RefusedException {
    Set<ReceiveCommand> all = new HashSet<>(bad);
    find(
        parent -> !deleted.contains(parent) && packed.contains(parent),
        name -> isFolder(name + '/', packed),
        all);
    refuse(all);
  }

  /** The same, of what is in files alone. */
  void refuse() throws RefusedException {
    refuse(bad);
  }

  private void refuse(Set<ReceiveCommand> found) throws RefusedException {
    for (ReceiveCommand command : commands) {
      if (found.contains(command)) {
        throw new RefusedException(command);
      }
    }
  }

  private boolean isFolder(String prefix, ParsedRefs packed) {
    return packed.refs(prefix).stream().anyMatch(ref -> !deleted.contains(ref.getName()));
  }
}
