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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefName;
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
import java.util.stream.Stream;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;

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
  /** The scanned refs in order. */
  final Map<String, Ref> scanned = new LinkedHashMap<>();

  /** What the scanned symbolic refs lead to, by their names. */
  private final Map<String, ResolvedName> links = new HashMap<>();

  private ScannedRefs(LooseRefs loose, List<Ref> refs, List<String> folders) throws IOException {
    for (Ref ref : refs) {
      scanned.put(ref.getName(), ref);
    }
    ResolvedName.Finder finder =
        name ->
            scanned.containsKey(name.text()) || folders.stream().anyMatch(name.text()::startsWith)
                ? scanned.get(name.text())
                : loose.find(name);
    for (Ref ref : refs) {
      if (ref.isSymbolic()) {
        links.put(ref.getName(), new ResolvedName(RefName.of(ref.getName()), finder));
      }
    }
  }

  /** Reads the loose refs with some prefixes. */
  static ScannedRefs of(LooseRefs loose, Collection<String> prefixes) throws IOException {
    boolean withHead = false;
    Set<String> wanted = new TreeSet<>();
    for (String prefix : prefixes) {
      String folder = prefix.substring(0, prefix.lastIndexOf('/') + 1); // which JGit scans
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
      Stream.ofNullable(loose.readListed(Constants.HEAD)).forEach(refs::add);
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

  /**
   * Returns the refs with a prefix that are not dangling, in order, in a new list. One that is or
   * leads to a {@link BadRef} has no object, and hides a packed ref of its name.
   *
   * @param changes the changes since before the files were read, possibly of symbolic refs' targets
   */
  List<Ref> resolve(String prefix, ParsedRefs packed, Transactions.Changes changes) {
    List<Ref> refs = new ArrayList<>(scanned.size());
    for (Ref ref : scanned.values()) {
      Ref resolved = ref.isSymbolic() ? links.get(ref.getName()).resolve(packed, changes) : ref;
      if (resolved != null
          && (resolved.getObjectId() != null || resolved.getLeaf() instanceof BadRef)
          && ref.getName().startsWith(prefix)) {
        refs.add(resolved);
      }
    }
    return refs;
  }
}
