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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;

import com.google.common.collect.Iterables;
import com.google.common.primitives.Ints;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The caches of a site on a small volume. */
@Timeout(120)
class SmallVolumeTest extends FolderTest {
  private static final long MB = 1 << 20;
  private static final long VOLUME_BYTES = 64 * MB;

  private final List<Store> stores = new CopyOnWriteArrayList<>();

  /** A small volume, which tells what is free. */
  private final class SmallVolume extends Disk {
    @Override
    public long free(Path asked) {
      return VOLUME_BYTES - taken();
    }
  }

  private long taken() {
    return stores.stream().mapToLong(store -> store.stats().diskBytes()).sum();
  }

  private Store store(String name, OldValues kind) throws Exception {
    stores.add(TestStores.open(directory, settings(name, 128 * MB, kind)));
    return Iterables.getLast(stores);
  }

  private static void fill(Store store, int values) {
    for (int i = 0; i < values; i++) {
      store.put(Ints.toByteArray(i), new byte[20_000], 1);
    }
    store.flush();
  }

  @Test
  void eachCacheHasAFileAndSessionsHaveTheLastOfTheRoom() throws Exception {
    openFolder(new SmallVolume());
    List<Store> others = new ArrayList<>();
    for (int i = 0; i < 16; i++) {
      others.add(store("cache" + i, i % 2 == 0 ? OldValues.MUTABLE : OldValues.PURE));
    }
    Store sessions = store("web_sessions", OldValues.SECRET);
    for (Store store : others) {
      assertWithMessage(store.name()).that(store.stats().state()).isEqualTo(StoreState.READY);
    }
    assertThat(sessions.stats().state()).isEqualTo(StoreState.READY);
    assertThat(taken()).isLessThan(VOLUME_BYTES * 2 / 3);
    for (Store store : others) {
      fill(store, 400);
    }
    assertThat(VOLUME_BYTES - taken()).isAtLeast(8 * MB);
    fill(sessions, 100);
    assertThat(sessions.stats().counts().evicted.sum()).isEqualTo(0);
    for (int i = 0; i < 100; i++) {
      assertThat(sessions.read(Ints.toByteArray(i))).isNotNull();
    }
    assertThat(taken()).isLessThan(VOLUME_BYTES);
  }
}
