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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs.At;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * The name conflicts of a batch of commands: a ref can't have the name of a folder of refs. Each
 * prefix that several names share is searched once, so a batch costs some searches for each name.
 * The folders of one name at a time are held: those of 500 names with 1,900 folders each would take
 * 1.8 GB. Packed refs are searched again under the locks only if {@code packed-refs} has another
 * list then.
 *
 * <p>Conflicts are checked twice. The check before the locks gives JGit's verdict: no ref may be
 * above or below a name, unless the batch deletes that ref. The check under the locks holds until
 * the locks are released, whoever else writes:
 *
 * <ul>
 *   <li>Threads of this process can't hold names above or below each other's (ReservedNames).
 *   <li>Other processes with this module take their locks before they look for the locks of others,
 *       as is done here. So at least one of two processes sees the other.
 *   <li>Native git looks only for refs, under its lock. If it locks first, its lock is seen here.
 *       If it locks later, it sees what was packed before. The folder {@code x/} stops its rename
 *       of {@code x.lock} to {@code x} as long as there is a ref or a lock in the folder. So a
 *       writer that packs a ref checks again before it deletes the ref's file or lock ({@link
 *       LocksAbove}, {@link PackedTransaction#finish}).
 * </ul>
 *
 * <p>The check before the locks must include packed refs: a batch that they refuse would otherwise
 * take locks for nothing, and make native git fail that wants one of them.
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

  private final List<ReceiveCommand> commands;

  /** The commands in the order of names. */
  final List<ReceiveCommand> sorted;

  private final NavigableSet<String> made = new TreeSet<>();
  private final NavigableSet<String> deleted = new TreeSet<>();

  /** The commands in conflict with others of the batch, with loose refs, or with others' locks. */
  private final Set<ReceiveCommand> bad = new HashSet<>();

  /**
   * The packed refs that were searched last, the commands in conflict with them, and names that
   * they do not have. As lists do not change, none of this has to be searched again in the same
   * list.
   */
  @Nullable private ParsedRefs searched;

  private final Set<ReceiveCommand> badInPacked = new HashSet<>();
  private final Set<String> notPacked = new HashSet<>();

  /** Makes the conflicts of a batch, without looking for any. */
  NameConflicts(List<ReceiveCommand> commands) {
    this.commands = commands;
    this.sorted = new ArrayList<>(commands);
    sorted.sort(Comparator.comparing(ReceiveCommand::getRefName));
    for (ReceiveCommand command : commands) {
      (deletes(command) ? deleted : made).add(command.getRefName());
    }
  }

  static boolean deletes(ReceiveCommand command) {
    return command.getType() == ReceiveCommand.Type.DELETE;
  }

  /** Whether one name of the batch is below another one. Deletions count too. */
  boolean areNested() {
    return Stream.of(made, deleted)
        .flatMap(Set::stream)
        .anyMatch(name -> isAbove(name, made) || isAbove(name, deleted));
  }

  /** Whether a name is that of a folder of others. */
  private static boolean isAbove(String name, NavigableSet<String> others) {
    String next = others.ceiling(name + '/');
    return next != null && next.startsWith(name + '/');
  }

  /** What there is at a name. */
  private interface Search<E extends Exception> {
    At at(String name) throws E;
  }

  /**
   * A search of the folders above names. If the names come in order, each folder that several share
   * is searched for once.
   */
  private static final class Above {
    /** The name before; the end of the folder at which its search ended; what was found there. */
    private String last = "";

    private int end;
    private At found = At.OTHERS;

    /** Returns what is at the shortest folder at which there are not just others. */
    <E extends Exception> At find(String name, Search<E> search) throws E {
      if (LooseRefs.isTooLong(name)) {
        return At.OTHERS; // the time grows with the square of the length
      }
      int shared = Strings.commonPrefix(last, name).length();
      last = name;
      if (end < shared) {
        return found;
      }
      found = At.OTHERS;
      for (end = name.indexOf('/', Math.max(1, shared));
          end > 0;
          end = name.indexOf('/', end + 1)) {
        found = search.at(name.substring(0, end));
        if (found != At.OTHERS) {
          return found;
        }
      }
      end = name.length();
      return found;
    }
  }

  // ---- files are read before the list, in which refs that are packed meanwhile are found

  /** Checks the batch itself and loose refs. */
  void checkLoose(LooseRefs loose) throws IOException {
    bad.clear();
    Above own = new Above();
    Above above = new Above();
    for (ReceiveCommand command : sorted) {
      String name = command.getRefName();
      if ((!deletes(command) && (isAbove(name, made) || holdsOthers(loose.scan(name + '/'))))
          || own.find(name, parent -> made.contains(parent) ? At.REF : At.OTHERS) == At.REF
          || above.find(name, parent -> at(parent, loose)) == At.REF) {
        bad.add(command);
      }
    }
  }

  /** Nothing is in a folder that is not there, however many folders a client names in it. */
  private At at(String name, LooseRefs loose) throws IOException {
    if (!deleted.contains(name) && loose.readListed(name) != null) {
      return At.REF;
    }
    return loose.paths().loose(name).isDirectory() ? At.OTHERS : At.NOTHING;
  }

  private boolean holdsOthers(List<Ref> refs) {
    return refs.stream().anyMatch(ref -> !deleted.contains(ref.getName()));
  }

  /**
   * Checks the files around refs that the caller has locked: all locks above a new ref, and all
   * files below a ref. No loose ref can be above, as the caller's lock is in a folder of that name.
   */
  void checkUnderLocks(RefPaths paths) throws IOException {
    bad.clear();
    LocksAbove above =
        new LocksAbove(paths, commands.stream().map(ReceiveCommand::getRefName).toList());
    for (ReceiveCommand command : sorted) {
      boolean isNew = command.getType() == ReceiveCommand.Type.CREATE;
      if ((isNew && above.isLocked(command.getRefName()))
          || (!deletes(command) && holdsForeign(paths.loose(command.getRefName()), above.own))) {
        bad.add(command);
      }
    }
  }

  /** Whether there is a conflict by the files alone. */
  boolean isFound() {
    return !bad.isEmpty();
  }

  /**
   * The locks that others have on refs above some refs that the caller has locked. A writer that
   * locked {@code x} before {@code x/y} was packed may not have seen {@code x/y}. Only a file in
   * the folder {@code x} then stops that writer. Each lock file is looked for once, if the names
   * come in order.
   */
  static final class LocksAbove {
    private static final long OLD_MILLIS = TimeUnit.MINUTES.toMillis(1);

    private final RefPaths paths;
    private final Set<File> own = new HashSet<>();
    private final Above above = new Above();

    /** Makes the locks above names that the caller has locked. */
    LocksAbove(RefPaths paths, Collection<String> names) throws IOException {
      this.paths = paths;
      for (String name : names) {
        own.add(lock(paths, name));
      }
    }

    boolean isLocked(String name) throws IOException {
      return above.find(name, parent -> isLocked(lock(paths, parent), name) ? At.REF : At.OTHERS)
          == At.REF;
    }

    private boolean isLocked(File lock, String below) throws IOException {
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

  // ---- packed refs

  /**
   * Refuses the first command that is in conflict with files or with packed refs.
   *
   * @param packed null for files alone
   * @throws RefusedException if there is a conflict
   */
  void refuse(@Nullable ParsedRefs packed) throws RefusedException {
    if (packed != null) {
      search(packed);
    }
    for (ReceiveCommand command : commands) {
      if (bad.contains(command) || (packed != null && badInPacked.contains(command))) {
        throw new RefusedException(command);
      }
    }
  }

  /** Returns the packed ref of a command, or null. */
  @Nullable
  Ref packedRef(ReceiveCommand command, ParsedRefs packed) {
    String name = command.getRefName();
    return packed == searched && notPacked.contains(name) ? null : packed.exactRef(name);
  }

  /**
   * Searches the packed refs, unless they were searched last. If no packed name starts with the
   * name of a folder, nothing in that folder is searched for.
   */
  private void search(ParsedRefs packed) {
    if (packed == searched) {
      return;
    }
    // For the case that the search fails.
    searched = null;
    badInPacked.clear();
    notPacked.clear();
    Above above = new Above();
    for (ReceiveCommand command : sorted) {
      String name = command.getRefName();
      At at = above.find(name, parent -> at(parent, packed));
      if (at == At.NOTHING) {
        notPacked.add(name);
      } else if (at == At.REF || (!deletes(command) && holdsOthers(packed.refs(name + '/')))) {
        badInPacked.add(command);
      }
    }
    searched = packed;
  }

  private At at(String name, ParsedRefs packed) {
    At at = packed.at(name);
    return at == At.REF && deleted.contains(name) ? At.OTHERS : at;
  }
}
