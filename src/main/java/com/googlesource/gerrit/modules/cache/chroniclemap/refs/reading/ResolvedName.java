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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefName;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.SymbolicRef;

/**
 * A ref name that was resolved through loose symbolic refs. Packed refs are never symbolic, so at
 * most the last name has to be looked up in {@code packed-refs}. The order matters: a ref that is
 * packed meanwhile is in the list, which is read after its loose file was not found.
 *
 * <p>Immutable.
 */
final class ResolvedName {
  /** Finds a loose ref, perhaps a {@link BadRef}; null if there is none. */
  @FunctionalInterface
  interface Finder {
    @Nullable
    Ref find(RefName name) throws IOException;
  }

  /** The symbolic refs on the way, starting with the given name. */
  private final List<Ref> links = new ArrayList<>(0);

  /** The target of the last symbolic ref, or the given name. */
  private String leafName;

  /** The loose ref {@link #leafName}; null if there is none. */
  @Nullable private Ref leaf;

  private boolean tooDeep;

  ResolvedName(RefName name, Finder loose) throws IOException {
    leafName = name.text();
    leaf = loose.find(name);
    while (leaf != null && leaf.isSymbolic() && !tooDeep) {
      tooDeep = links.size() == RefDatabase.MAX_SYMBOLIC_REF_DEPTH;
      links.add(leaf);
      leafName = leaf.getTarget().getName();
      leaf = tooDeep ? null : loose.find(RefName.of(leafName));
    }
  }

  /** Whether there is a loose ref, which may be dangling but not too deep. */
  boolean isRef() {
    return !tooDeep && (leaf != null || !links.isEmpty());
  }

  /** Whether {@link #resolve} needs no packed ref. */
  boolean isLoose() {
    return leaf != null || tooDeep;
  }

  /**
   * Resolves the ref.
   *
   * @param packed the list, which was read after the files; may be null if {@link #isLoose}
   * @param changes the changes since before the files were read
   * @return a symbolic ref without an object if the ref is dangling, or leads to a {@link BadRef};
   *     such a ref itself; null if there is no ref, or if it leads through too many symbolic refs
   */
  @Nullable
  Ref resolve(@Nullable ParsedRefs packed, Transactions.Changes changes) {
    if (tooDeep) {
      return null;
    }
    Transactions.Link changed = changes.firstToChange(leafName);
    Ref resolved =
        changed != null
            ? changed.oldValues.get(leafName)
            : leaf != null ? leaf : packed.exactRef(leafName);
    for (int i = links.size() - 1; i >= 0; i--) {
      Ref link = links.get(i);
      resolved = resolved == null ? link : new SymbolicRef(link.getName(), resolved);
    }
    return resolved;
  }
}
