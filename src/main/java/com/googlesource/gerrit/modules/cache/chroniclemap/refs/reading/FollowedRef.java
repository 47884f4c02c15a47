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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.SymbolicRef;

/**
 * A name, followed from loose file to loose file as far as symbolic refs lead. Packed refs are not
 * symbolic, so at most the last name has to be searched for in {@code packed-refs}. That order
 * matters: a ref that is packed meanwhile is in the list that is read after its file was not found.
 *
 * <p>Not changed once it is made.
 */
final class FollowedRef {
  /** Reads a loose ref; null if there is none. */
  @FunctionalInterface
  interface Reader {
    @Nullable
    Ref read(String name) throws IOException;
  }

  /** The symbolic refs on the way, the first of them the one that is followed. */
  private final List<Ref> links = new ArrayList<>(0);

  /** The name that the last symbolic ref leads to, or the one that was asked for. */
  private String leafName;

  /** The loose ref of that name, if there is one. */
  @Nullable private Ref leaf;

  private boolean tooDeep;

  FollowedRef(String name, Reader loose) throws IOException {
    leafName = name;
    leaf = loose.read(name);
    while (leaf != null && leaf.isSymbolic() && !tooDeep) {
      tooDeep = links.size() == RefDatabase.MAX_SYMBOLIC_REF_DEPTH;
      links.add(leaf);
      leafName = leaf.getTarget().getName();
      leaf = tooDeep ? null : loose.read(leafName);
    }
  }

  /** Whether the first file is a ref, even one that leads nowhere, but not through too many. */
  boolean isRef() {
    return !tooDeep && (leaf != null || !links.isEmpty());
  }

  /** Whether no packed ref has a part in it. */
  boolean isLoose() {
    return leaf != null || tooDeep;
  }

  /**
   * Returns the ref, with what it leads to.
   *
   * @param packed read after the files; may be null if it {@link #isLoose}
   * @param changes since before the files were read
   * @return a symbolic ref without an object if it leads nowhere; null if it leads through too
   *     many, or there is no ref
   */
  @Nullable
  Ref resolve(@Nullable ParsedRefs packed, Transactions.Changes changes) {
    if (tooDeep) {
      return null;
    }
    Transactions.Link changed = changes.firstToChange(leafName);
    Ref resolved =
        changed != null
            ? changed.oldValue(leafName)
            : leaf != null ? leaf : packed.exactRef(leafName);
    for (int i = links.size() - 1; i >= 0; i--) {
      Ref link = links.get(i);
      resolved = resolved == null ? link : new SymbolicRef(link.getName(), resolved);
    }
    return resolved;
  }
}
