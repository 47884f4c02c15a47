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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import java.util.List;

/**
 * What the refs of a repository take while it is open.
 *
 * @param heap bytes a ref
 * @param direct bytes a ref, outside the heap
 */
record RefsMemory(RefsPeer peer, int refs, double heap, double direct) {
  /** This one's beside ours; none for ours. */
  List<Figure> figures(RefsMemory ours) {
    if (peer == ours.peer) {
      return List.of();
    }
    String where = ", " + RefsCase.count(refs) + ", vs " + peer.title();
    return List.of(
        Figure.lessIsBetter("heap a ref" + where, "B", ours.heap, heap),
        Figure.lessIsBetter("off-heap a ref" + where, "B", ours.direct, direct));
  }

  @Override
  public String toString() {
    return "memory, " + RefsCase.count(refs);
  }
}
