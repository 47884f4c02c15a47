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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * The name conflicts of a batch of commands: a ref can't have the name of a folder of refs. Each
 * prefix that several names share is searched once, so a batch costs some searches for each name.
 *
 * <p>Conflicts are checked twice. The check before the locks gives JGit's verdict: no ref may be
 * above or below a name, unless the batch deletes that ref. The check under the locks holds until
 * the locks are released, whoever else writes:
 *
 * <ul>
 *   <li>Threads of this process can't hold names above or below each other's (HeldNames).
 *   <li>Other processes with this module take their locks before they look for the locks of others,
 *       as is done here. So at least one of two processes sees the other.
 *   <li>Native git looks only for refs, under its lock. If it locks first, its lock is seen here.
 *       If it locks later, it sees what was packed before. The folder {@code x/} stops its rename
 *       of {@code x.lock} to {@code x} as long as there is a ref or a lock in the folder. So a
 *       writer that packs a ref checks again before it deletes the ref's file or lock ({@link
 *       LocksAbove}, {@link PackedTransaction#finish}).
 * </ul>
 *
 * <p>Two conflicts are not prevented. JGit looks for other refs before it takes its lock, so it can
 * make a ref in conflict with one made here. Native git can make and pack a ref {@code x/y} between
 * the check and the rename of a ref {@code x} here.
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

  private final List<ReceiveCommand> commands;
  private final List<ReceiveCommand> sorted;
  private final Set<String> made = new HashSet<>();
  private final Set<String> madeFolders = new HashSet<>();
  private final Set<String> deleted = new HashSet<>();

  /** The commands in conflict with others of the batch, with loose refs, or with others' locks. */
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
        madeFolders.addAll(RefReader.parents(name));
      }
    }
  }

  static boolean deletes(ReceiveCommand command) {
    return command.getType() == ReceiveCommand.Type.DELETE;
  }

  /** Whether one name of a batch is below another one. Deletions count too. */
  static boolean areNested(List<ReceiveCommand> commands) {
    Set<String> names = new HashSet<>();
    commands.forEach(command -> names.add(command.getRefName()));
    return names.stream()
        .anyMatch(name -> RefReader.parents(name).stream().anyMatch(names::contains));
  }

  // ---- files are read before the list, in which refs that are packed meanwhile are found

  /** Checks the batch itself and loose refs. */
  static NameConflicts before(LooseRefs loose, List<ReceiveCommand> commands) throws IOException {
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
   * Checks the files around refs that the caller has locked: all locks above a new ref, and all
   * files below a ref. No loose ref can be above, as the caller's lock is in a folder of that name.
   */
  static NameConflicts underLocks(RefPaths paths, List<ReceiveCommand> commands)
      throws IOException {
    NameConflicts conflicts = new NameConflicts(commands);
    LocksAbove above =
        new LocksAbove(paths, commands.stream().map(ReceiveCommand::getRefName).toList());
    for (ReceiveCommand command : commands) {
      String name = command.getRefName();
      boolean isNew = command.getType() == ReceiveCommand.Type.CREATE;
      if ((isNew && above.isLocked(name))
          || (!deletes(command) && holdsForeign(paths.loose(name), above.own))) {
        conflicts.bad.add(command);
      }
    }
    return conflicts;
  }

  /** Whether there is a conflict by the files alone. */
  boolean isFound() {
    return !bad.isEmpty();
  }

  /**
   * The locks that others have on refs above some refs that the caller has locked. A writer that
   * locked {@code x} before {@code x/y} was packed may not have seen {@code x/y}. Only a file in
   * the folder {@code x} then stops that writer. Each lock file is looked for once.
   */
  static final class LocksAbove {
    private static final long OLD_MILLIS = TimeUnit.MINUTES.toMillis(1);

    private final RefPaths paths;
    private final Set<File> own = new HashSet<>();
    private final Map<String, Boolean> asked = new HashMap<>();

    /** Makes the locks above names that the caller has locked. */
    LocksAbove(RefPaths paths, Collection<String> names) throws IOException {
      this.paths = paths;
      for (String name : names) {
        own.add(lock(paths, name));
      }
    }

    boolean isLocked(String name) throws IOException {
      for (String parent : RefReader.parents(name)) {
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

  /** A question about a name that may need the disk. */
  private interface Question {
    boolean ask(String name) throws IOException;
  }

  /** Adds commands whose name is below a ref, or that set a ref with the name of a folder. */
  private void find(Question isRef, Question isFolder, Set<ReceiveCommand> bad) throws IOException {
    Map<String, Boolean> refs = new HashMap<>();
    for (ReceiveCommand command : sorted) {
      String name = command.getRefName();
      boolean isBad = !deletes(command) && isFolder.ask(name);
      for (String parent : RefReader.parents(name)) {
        if (!isBad && !refs.containsKey(parent)) {
          refs.put(parent, isRef.ask(parent));
        }
        isBad = isBad || refs.get(parent);
      }
      if (isBad) {
        bad.add(command);
      }
    }
  }

  // ---- packed refs

  /**
   * Refuses the first command that is in conflict with files or with packed refs.
   *
   * @param packed null for files alone
   * @throws RefusedException if there is a conflict
   */
  void refuse(@Nullable ParsedRefs packed) throws IOException {
    Set<ReceiveCommand> all = new HashSet<>(bad);
    if (packed != null) {
      find(
          parent -> !deleted.contains(parent) && packed.contains(parent),
          name -> isFolder(name + '/', packed),
          all);
    }
    for (ReceiveCommand command : commands) {
      if (all.contains(command)) {
        throw new RefusedException(command);
      }
    }
  }

  private boolean isFolder(String prefix, ParsedRefs packed) {
    return packed.refs(prefix).stream().anyMatch(ref -> !deleted.contains(ref.getName()));
  }
}
