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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.BadRef;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.SymbolicRef;

/**
 * The loose refs for a lookup of many refs, each read once, and the targets of their symbolic refs.
 * All files are read before the packed list, so that a ref that is packed meanwhile is in that
 * list.
 *
 * <p>JGit answers such a lookup by a scan of a folder around the requested refs. This class reads
 * fewer files. As in JGit, a dangling symbolic ref is not listed, and hides no packed ref. In JGit,
 * though, a symbolic ref to a dangling one of an earlier name leads to the packed ref of that name.
 *
 * <p>Immutable.
 */
final class ScannedRefs {
  private final LooseRefs loose;

  /** The folders that were scanned. None is within another one. */
  private final List<String> folders;

  /** The scanned refs in order. */
  final Map<String, Ref> scanned = new LinkedHashMap<>();

  /** Targets of symbolic refs that were not scanned; null for a missing file. */
  private final Map<String, Ref> elsewhere = new HashMap<>();

  private ScannedRefs(LooseRefs loose, List<Ref> refs, List<String> folders) throws IOException {
    this.loose = loose;
    this.folders = folders;
    for (Ref ref : refs) {
      scanned.put(ref.getName(), ref);
    }
    for (Ref ref : refs) {
      if (ref.isSymbolic()) {
        readTargets(ref);
      }
    }
  }

  /** Reads the loose refs with a prefix. */
  static ScannedRefs of(LooseRefs loose, String prefix) throws IOException {
    String folder = folder(prefix);
    return folder.isEmpty() || !loose.paths().mayBeLoose(prefix)
        ? of(loose, List.of(), List.of(prefix))
        : new ScannedRefs(loose, loose.scan(folder), List.of(folder));
  }

  /**
   * Reads some loose refs.
   *
   * @param names names of single refs, in order and before all names with a prefix
   * @param prefixes prefixes of other names
   */
  static ScannedRefs of(LooseRefs loose, List<String> names, Collection<String> prefixes)
      throws IOException {
    boolean withHead = false;
    Set<String> wanted = new TreeSet<>();
    for (String prefix : prefixes) {
      String folder = folder(prefix);
      if (!folder.isEmpty() || Constants.R_REFS.startsWith(prefix)) {
        if (loose.paths().mayBeLoose(prefix)) {
          wanted.add(folder);
        }
      } else {
        withHead |= Constants.HEAD.startsWith(prefix);
      }
    }
    List<Ref> refs = new ArrayList<>();
    if (withHead && !wanted.contains(RefDatabase.ALL)) {
      add(loose.readListed(Constants.HEAD), refs);
    }
    for (String name : names) {
      add(loose.readListed(name), refs);
    }
    List<String> folders = new ArrayList<>();
    for (String folder : wanted) {
      if (folders.isEmpty() || !folder.startsWith(folders.get(folders.size() - 1))) {
        folders.add(folder);
        refs.addAll(loose.scan(folder));
      }
    }
    return new ScannedRefs(loose, refs, folders);
  }

  private static void add(@Nullable Ref ref, List<Ref> refs) {
    if (ref != null) {
      refs.add(ref);
    }
  }

  /** Returns the folder that JGit scans for a prefix. */
  private static String folder(String prefix) {
    return prefix.substring(0, prefix.lastIndexOf('/') + 1);
  }

  private void readTargets(Ref symbolic) throws IOException {
    Ref next = symbolic;
    for (int depth = 0; depth < RefDatabase.MAX_SYMBOLIC_REF_DEPTH; depth++) {
      String name = next.getTarget().getName();
      if (!isScanned(name) && !elsewhere.containsKey(name)) {
        elsewhere.put(name, loose.find(name));
      }
      next = found(name);
      if (next == null || !next.isSymbolic()) {
        return;
      }
    }
  }

  private boolean isScanned(String name) {
    return scanned.containsKey(name) || folders.stream().anyMatch(name::startsWith);
  }

  /** Finds a loose ref. Scanned folders are not read again. */
  @Nullable
  private Ref found(String name) {
    return isScanned(name) ? scanned.get(name) : elsewhere.get(name);
  }

  /**
   * Returns the refs with a prefix that are not dangling, in order, in a new list. One that is or
   * leads to a {@link BadRef} has no object, and hides a packed ref of its name.
   *
   * @param changes the changes since before the files were read, possibly of symbolic refs' targets
   */
  List<Ref> resolve(String prefix, ParsedRefs packed, Transactions.Changes changes) {
    List<Ref> refs = new ArrayList<>(scanned.size());
    for (Ref ref : scanned.values()) {
      Ref resolved = resolve(ref, 0, packed, changes);
      if (resolved != null
          && (resolved.getObjectId() != null || resolved.getLeaf() instanceof BadRef)
          && ref.getName().startsWith(prefix)) {
        refs.add(resolved);
      }
    }
    return refs;
  }

  /** Resolves a ref. Returns null if it leads through too many symbolic refs. */
  @Nullable
  private Ref resolve(Ref ref, int depth, ParsedRefs packed, Transactions.Changes changes) {
    if (!ref.isSymbolic()) {
      return ref;
    }
    if (depth == RefDatabase.MAX_SYMBOLIC_REF_DEPTH) {
      return null;
    }
    String name = ref.getTarget().getName();
    Transactions.Link changed = changes.firstToChange(name);
    Ref target = changed != null ? changed.oldValues.get(name) : found(name);
    if (target == null && changed == null) {
      target = packed.exactRef(name);
    }
    if (target == null) {
      return ref;
    }
    Ref resolved = resolve(target, depth + 1, packed, changes);
    return resolved == null ? null : new SymbolicRef(ref.getName(), resolved);
  }
}
