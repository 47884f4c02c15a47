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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.SymbolicRef;

/**
 * The loose refs of a folder, as one scan found them, with the files that symbolic ones of them
 * lead to: all files are read before the list of packed refs is asked for, as one that is packed
 * meanwhile must be in that list.
 *
 * <p>A symbolic ref that leads nowhere is left out and hides no packed ref. JGit leaves them out
 * one by one, in order, and those that come later do not find one that was left out: such a one
 * leads to the packed ref of that name. So it is here.
 *
 * <p>Immutable once made.
 */
final class ScannedRefs {
  private final LooseRefs loose;
  private final String folder;
  private final String listed;
  private final Map<String, Ref> scanned = new LinkedHashMap<>();

  /** What symbolic refs lead to outside of the folder; null where there is no file. */
  private final Map<String, Ref> elsewhere = new HashMap<>();

  /** Whether a symbolic ref leads to another one. */
  private boolean hasChain;

  private ScannedRefs(LooseRefs loose, String folder, String listed) throws IOException {
    this.loose = loose;
    this.folder = folder;
    this.listed = listed;
    for (Ref ref : loose.scan(folder)) {
      scanned.put(ref.getName(), ref);
    }
    for (Ref ref : scanned.values()) {
      if (ref.isSymbolic()) {
        readTargets(ref);
      }
    }
  }

  /**
   * Scans a folder.
   *
   * @param folder as for {@link LooseRefs#scan}
   */
  static ScannedRefs of(LooseRefs loose, String folder) throws IOException {
    return new ScannedRefs(loose, folder, folder);
  }

  /**
   * Scans a folder, to answer as if the one around it was scanned. That one is if need be: where
   * symbolic refs lead to others.
   */
  static ScannedRefs part(LooseRefs loose, String folder, String around) throws IOException {
    ScannedRefs part = new ScannedRefs(loose, folder, around);
    return part.hasChain ? of(loose, around) : part;
  }

  private void readTargets(Ref symbolic) throws IOException {
    Ref next = symbolic;
    for (int depth = 0; depth < RefDatabase.MAX_SYMBOLIC_REF_DEPTH; depth++) {
      String name = next.getTarget().getName();
      if (!name.startsWith(folder) && !elsewhere.containsKey(name)) {
        elsewhere.put(name, name.startsWith(listed) ? loose.readListed(name) : loose.read(name));
      }
      next = found(name);
      if (next == null || !next.isSymbolic()) {
        return;
      }
      hasChain = true;
    }
  }

  /** What was scanned is one state: it is not read again. */
  @Nullable
  private Ref found(String name) {
    return name.startsWith(folder) ? scanned.get(name) : elsewhere.get(name);
  }

  /** Returns, in order, the refs whose names start so and that lead somewhere. */
  List<Ref> resolve(String prefix, ParsedRefs packed) {
    List<Ref> refs = new ArrayList<>(scanned.size());
    Set<String> leftOut = new HashSet<>();
    for (Ref ref : scanned.values()) {
      Ref resolved = resolve(ref, 0, leftOut, packed);
      if (resolved == null || resolved.getObjectId() == null) {
        leftOut.add(ref.getName());
      } else if (ref.getName().startsWith(prefix)) {
        refs.add(resolved);
      }
    }
    return refs;
  }

  /** Returns null for one that leads through too many. */
  @Nullable
  private Ref resolve(Ref ref, int depth, Set<String> leftOut, ParsedRefs packed) {
    if (!ref.isSymbolic()) {
      return ref;
    }
    if (depth == RefDatabase.MAX_SYMBOLIC_REF_DEPTH) {
      return null;
    }
    String name = ref.getTarget().getName();
    Ref target = leftOut.contains(name) ? null : found(name);
    if (target == null) {
      target = packed.exactRef(name);
    }
    if (target == null) {
      return ref;
    }
    Ref resolved = resolve(target, depth + 1, leftOut, packed);
    return resolved == null ? null : new SymbolicRef(ref.getName(), resolved);
  }
}
