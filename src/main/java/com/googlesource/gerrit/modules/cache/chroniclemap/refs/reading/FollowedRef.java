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
import java.util.Map;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.SymbolicRef;

/**
 * A loose ref, followed from file to file as far as symbolic refs lead. Packed refs are not
 * symbolic, so at most the last name is left to be looked for there. That order matters: a ref that
 * is packed meanwhile is in the list that is asked for after its file was not found.
 *
 * <p>Immutable.
 */
final class FollowedRef {
  /** Reads a loose ref; null if there is none. */
  @FunctionalInterface
  interface Reader {
    @Nullable
    Ref read(String name) throws IOException;
  }

  /** The symbolic refs on the way, the first of them the one that is followed. */
  private final List<Ref> links;

  /** Where they lead; null if that is not loose. */
  @Nullable private final Ref leaf;

  private final boolean tooDeep;

  private FollowedRef(List<Ref> links, @Nullable Ref leaf, boolean tooDeep) {
    this.links = links;
    this.leaf = leaf;
    this.tooDeep = tooDeep;
  }

  /** Follows a loose ref. */
  static FollowedRef of(Ref ref, Reader loose) throws IOException {
    if (!ref.isSymbolic()) {
      return new FollowedRef(List.of(), ref, false);
    }
    List<Ref> links = new ArrayList<>(1);
    Ref next = ref;
    while (next != null && next.isSymbolic()) {
      if (links.size() == RefDatabase.MAX_SYMBOLIC_REF_DEPTH) {
        return new FollowedRef(links, null, true);
      }
      links.add(next);
      next = loose.read(next.getTarget().getName());
    }
    return new FollowedRef(links, next, false);
  }

  /**
   * Whether it is a ref at all, even one that leads nowhere: not one that leads through too many.
   */
  boolean isRef() {
    return !tooDeep;
  }

  /** Whether no packed ref has a part in it. */
  boolean isLoose() {
    return leaf != null || tooDeep;
  }

  /** The name that the last symbolic ref leads to. */
  String leafName() {
    return leaf != null ? leaf.getName() : links.get(links.size() - 1).getTarget().getName();
  }

  /**
   * Returns the ref, with what it leads to.
   *
   * @param packed asked for after the files were; may be null if it {@link #isLoose}
   * @param undo see {@link Transactions#undo}
   * @return a symbolic ref without an object if it leads nowhere; null if it leads through too many
   */
  @Nullable
  Ref resolve(@Nullable ParsedRefs packed, @Nullable Map<String, Ref> undo) {
    if (tooDeep) {
      return null;
    }
    Ref end = leaf;
    if (undo != null && undo.containsKey(leafName())) {
      end = undo.get(leafName());
    } else if (end == null) {
      end = packed.exactRef(leafName());
    }
    Ref resolved = end;
    for (int i = links.size() - 1; i >= 0; i--) {
      Ref link = links.get(i);
      resolved = resolved == null ? link : new SymbolicRef(link.getName(), resolved);
    }
    return resolved;
  }
}
