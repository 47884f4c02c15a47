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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose.LooseRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * Whether the names of a batch can be had together: a ref and a folder of refs can't have the same
 * name. Each prefix that several names have in common is searched for once, so a batch costs some
 * searches for each of its names.
 *
 * <p>The verdict is JGit's, for which what is deleted in the batch is gone, and nothing may be
 * below or above a name but for what is deleted.
 */
final class NameConflicts {
  private final List<ReceiveCommand> commands;
  private final Set<String> made = new HashSet<>();
  private final Set<String> madeFolders = new HashSet<>();
  private final Set<String> deleted = new HashSet<>();

  /** Prefixes of names that are loose refs. */
  private final Set<String> looseRefs = new HashSet<>();

  /** Names below which there are loose refs that stay. */
  private final Set<String> looseFolders = new HashSet<>();

  private NameConflicts(List<ReceiveCommand> commands) {
    this.commands = commands;
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

  /** Returns the first command whose name is in conflict with refs of now, or null. */
  @Nullable
  static ReceiveCommand first(RefReader refs, List<ReceiveCommand> commands)
      throws IOException, RefReader.LeftToJGit {
    NameConflicts conflicts = new NameConflicts(commands);
    // Files first: a ref that is packed meanwhile is in the list that is asked for afterwards.
    conflicts.lookAtLoose(refs.loose());
    return conflicts.first(refs.packed());
  }

  /**
   * The same, of packed refs alone: for who has the locks of the commands' refs. A lock's file
   * keeps loose refs away from the names of its folders.
   */
  @Nullable
  static ReceiveCommand firstPacked(ParsedRefs packed, List<ReceiveCommand> commands) {
    return new NameConflicts(commands).first(packed);
  }

  /** Whether one name of a batch is below another one, what is deleted being counted too. */
  static boolean areNested(List<ReceiveCommand> commands) {
    Set<String> names = new HashSet<>();
    commands.forEach(command -> names.add(command.getRefName()));
    return names.stream().anyMatch(name -> parents(name).stream().anyMatch(names::contains));
  }

  private void lookAtLoose(LooseRefs loose) throws IOException {
    Set<String> asked = new HashSet<>();
    for (ReceiveCommand command : commands) {
      String name = command.getRefName();
      for (String parent : parents(name)) {
        if (asked.add(parent) && isLoose(loose, parent)) {
          looseRefs.add(parent);
        }
      }
      if (!deletes(command)
          && loose.scan(name + '/').stream().anyMatch(ref -> !deleted.contains(ref.getName()))) {
        looseFolders.add(name);
      }
    }
  }

  /** Only these are listed, so only these count. */
  private static boolean isLoose(LooseRefs loose, String name) throws IOException {
    return (name.startsWith(Constants.R_REFS) || name.equals(Constants.HEAD))
        && loose.readListed(name) != null;
  }

  @Nullable
  private ReceiveCommand first(ParsedRefs packed) {
    Map<String, Boolean> refs = new HashMap<>();
    for (ReceiveCommand command : commands) {
      String name = command.getRefName();
      if ((!deletes(command) && isFolder(name, packed))
          || parents(name).stream()
              .anyMatch(p -> refs.computeIfAbsent(p, parent -> isRef(parent, packed)))) {
        return command;
      }
    }
    return null;
  }

  private boolean isFolder(String name, ParsedRefs packed) {
    return madeFolders.contains(name)
        || looseFolders.contains(name)
        || packed.refs(name + '/').stream().anyMatch(ref -> !deleted.contains(ref.getName()));
  }

  private boolean isRef(String name, ParsedRefs packed) {
    return made.contains(name)
        || (!deleted.contains(name) && (looseRefs.contains(name) || packed.contains(name)));
  }
}
