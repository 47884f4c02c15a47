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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.RefCursor;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose.LooseRefs;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * Whether the names of a batch can be had together: a ref and a folder of refs can't have the same
 * name. Names are looked for in order, each prefix that several have in common once, so a batch
 * walks once through a list, and costs what its names cost, not what there is.
 *
 * <p>The verdict is JGit's, for which what is deleted in the batch is gone, and nothing may be
 * below or above a name but for what is deleted.
 */
final class NameConflicts {
  private final LooseRefs loose;
  private final ParsedRefs packed;
  private final RefCursor cursor;
  private final Set<String> made = new HashSet<>();
  private final Set<String> madeFolders = new HashSet<>();
  private final Set<String> deleted = new HashSet<>();

  /** Whether prefixes of the batch's names are refs that stay. */
  private final Map<String, Boolean> refs = new HashMap<>();

  private NameConflicts(LooseRefs loose, ParsedRefs packed, List<ReceiveCommand> commands) {
    this.loose = loose;
    this.packed = packed;
    this.cursor = new RefCursor(packed);
    for (ReceiveCommand command : commands) {
      String name = command.getRefName();
      if (command.getType() == ReceiveCommand.Type.DELETE) {
        deleted.add(name);
      } else {
        made.add(name);
        for (int slash = name.indexOf('/'); slash > 0; slash = name.indexOf('/', slash + 1)) {
          madeFolders.add(name.substring(0, slash));
        }
      }
    }
  }

  /**
   * Returns the first command whose name is in conflict, or null.
   *
   * @param packed the list of now
   */
  @Nullable
  static ReceiveCommand first(LooseRefs loose, ParsedRefs packed, List<ReceiveCommand> commands)
      throws IOException {
    NameConflicts conflicts = new NameConflicts(loose, packed, commands);
    List<ReceiveCommand> sorted = new ArrayList<>(commands);
    sorted.sort(Comparator.comparing(ReceiveCommand::getRefName));
    Set<ReceiveCommand> bad = new HashSet<>();
    for (ReceiveCommand command : sorted) {
      if (conflicts.has(command)) {
        bad.add(command);
      }
    }
    return commands.stream().filter(bad::contains).findFirst().orElse(null);
  }

  /** Whether one name of a batch is below another one, what is deleted being counted too. */
  static boolean areNested(List<ReceiveCommand> commands) {
    Set<String> names = new HashSet<>();
    commands.forEach(command -> names.add(command.getRefName()));
    for (String name : names) {
      for (int slash = name.indexOf('/'); slash > 0; slash = name.indexOf('/', slash + 1)) {
        if (names.contains(name.substring(0, slash))) {
          return true;
        }
      }
    }
    return false;
  }

  private boolean has(ReceiveCommand command) throws IOException {
    String name = command.getRefName();
    if (command.getType() != ReceiveCommand.Type.DELETE && isFolder(name)) {
      return true;
    }
    for (int slash = name.indexOf('/'); slash > 0; slash = name.indexOf('/', slash + 1)) {
      if (isRef(name.substring(0, slash))) {
        return true;
      }
    }
    return false;
  }

  private boolean isFolder(String name) {
    if (madeFolders.contains(name)) {
      return true;
    }
    String prefix = name + '/';
    cursor.seek(prefix);
    while (!cursor.isAtEnd() && cursor.startsWith(prefix)) {
      if (!deleted.contains(cursor.name())) {
        return true;
      }
      cursor.next();
    }
    for (Ref ref : loose.scan(prefix)) {
      if (!deleted.contains(ref.getName())) {
        return true;
      }
    }
    return false;
  }

  private boolean isRef(String prefix) throws IOException {
    if (made.contains(prefix)) {
      return true;
    }
    if (deleted.contains(prefix)) {
      return false;
    }
    Boolean known = refs.get(prefix);
    if (known == null) {
      known = packed.contains(prefix) || isLoose(prefix);
      refs.put(prefix, known);
    }
    return known;
  }

  /** Only these are listed, so only these count. */
  private boolean isLoose(String name) {
    return (name.startsWith(Constants.R_REFS) || name.equals(Constants.HEAD))
        && loose.readListed(name) != null;
  }
}
