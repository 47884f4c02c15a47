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

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BlockIndexTest {
  private final BlockIndex index = new BlockIndex();

  @Test
  void firstPlaceCounts() {
    index.add(1, 2, 3, 4);
    index.add(1, 2, 5, 6);
    assertThat(index.find(1, 2)).isEqualTo(ListBlocks.place(3, 4));
    index.remove(1, 2, 5);
    assertThat(index.find(1, 2)).isEqualTo(ListBlocks.place(3, 4));
    index.remove(1, 2, 3);
    assertThat(index.find(1, 2)).isEqualTo(-1);
    assertThat(index.size()).isEqualTo(0);
  }

  /** With few different home slots, so that what was displaced by others is met all the time. */
  @Test
  void doesWhatAMapDoes() {
    for (int seed = 0; seed < 20; seed++) {
      Random random = new Random(seed);
      BlockIndex tried = new BlockIndex();
      Map<ContentDigest, Integer> model = new HashMap<>();
      List<ContentDigest> ids = new ArrayList<>();
      for (int i = 0; i < 3000; i++) {
        ids.add(new ContentDigest(i, seed % 2 == 0 ? random.nextInt(64) : random.nextLong()));
      }
      for (int step = 0; step < 30_000; step++) {
        ContentDigest id = ids.get(random.nextInt(ids.size()));
        // Grows, then shrinks.
        if (random.nextInt(30_000) > step) {
          tried.add(id.hi(), id.lo(), step % 1000, step);
          model.putIfAbsent(id, step);
        } else if (model.containsKey(id)) {
          tried.remove(id.hi(), id.lo(), model.remove(id) % 1000);
        }
      }
      assertThat(tried.size()).isEqualTo(model.size());
      for (ContentDigest id : ids) {
        Integer step = model.get(id);
        assertWithMessage("seed %s, %s", seed, id)
            .that(tried.find(id.hi(), id.lo()))
            .isEqualTo(step == null ? -1 : ListBlocks.place(step % 1000, step));
      }
    }
  }
}
