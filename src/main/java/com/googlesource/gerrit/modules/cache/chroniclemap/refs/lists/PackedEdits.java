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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.ObjectId;

/** The changes of a {@code packed-refs} file: refs to set and refs to remove. For one thread. */
public final class PackedEdits {
  /**
   * A changed line.
   *
   * @param name of the ref, as bytes of the file
   * @param id null if the ref has to be removed
   * @param peeled the peeled id of a tag; null for any other ref
   */
  record Edit(byte[] name, @Nullable ObjectId id, @Nullable ObjectId peeled) {}

  private final Map<String, Edit> edits = new HashMap<>();

  /** Removed refs without a line, for which nothing has to be written. */
  private final Set<String> keptOut = new HashSet<>();

  /** Sets a ref, unless it was removed. */
  public void set(String name, ObjectId id, @Nullable ObjectId peeled) {
    // A removal wins. Packing has read the ref before the deletion, or has read its loose file,
    // which is deleted last.
    if (keptOut.contains(name)) {
      return;
    }
    edits.merge(name, new Edit(name.getBytes(UTF_8), id, peeled), (a, b) -> a.id == null ? a : b);
  }

  /**
   * Removes a ref, and prevents it from being set.
   *
   * @param packed the list of the file, which need not have the ref
   */
  public void remove(String name, ParsedRefs packed) {
    if (packed.contains(name)) {
      edits.put(name, new Edit(name.getBytes(UTF_8), null, null));
    } else {
      edits.remove(name);
      keptOut.add(name);
    }
  }

  public boolean isEmpty() {
    return edits.isEmpty();
  }

  /** Returns all edits in the order of names. */
  Edit[] inOrder() {
    Edit[] sorted = edits.values().toArray(Edit[]::new);
    Arrays.sort(sorted, (a, b) -> Arrays.compareUnsigned(a.name, b.name));
    return sorted;
  }
}
