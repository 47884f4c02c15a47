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
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which stores wait for which when a server starts. */
class OpeningOrderTest {
  private static final long LIMIT = 1 << 20;
  private static final int LARGE_STORES = 5;

  @TempDir Path temp;

  /** On which files named "large..." look large, and can't be read before that is allowed. */
  private static final class SlowDisk extends ForwardingDisk {
    final CountDownLatch mayRead = new CountDownLatch(1);

    SlowDisk() {
      super(Disk.REAL);
    }

    @Override
    void called() {}

    private static boolean isLarge(Path file) {
      return file.getFileName().toString().startsWith("large");
    }

    @Override
    public long size(Path file) throws IOException {
      return isLarge(file) && mayRead.getCount() > 0 ? Long.MAX_VALUE : super.size(file);
    }

    @Override
    public String readText(Path file) throws IOException {
      awaitMayRead(file);
      return super.readText(file);
    }

    @Override
    public FileChannel open(Path file, Set<? extends OpenOption> options) throws IOException {
      awaitMayRead(file);
      return super.open(file, options);
    }

    private void awaitMayRead(Path file) throws IOException {
      if (isLarge(file)) {
        try {
          mayRead.await();
        } catch (InterruptedException e) {
          throw new IOException(e);
        }
      }
    }
  }

  private static StoreSettings settings(String name) {
    return new StoreSettings(name, 1, LIMIT, Optional.empty());
  }

  @Test
  void smallStoresDoNotWaitForLargeOnes() throws Exception {
    fill();
    SlowDisk disk = new SlowDisk();
    try (StoreDirectory directory =
        StoreDirectory.open(temp, OptionalLong.empty(), disk, System::currentTimeMillis)) {
      List<Store> large = new ArrayList<>();
      try {
        for (int i = 0; i < LARGE_STORES; i++) {
          large.add(directory.openStore(settings("large" + i)));
        }
        Store small = TestStores.open(directory, settings("small"));
        assertThat(small.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
        assertThat(small.read("key".getBytes(UTF_8))).isNotNull();
        for (Store store : large) {
          assertThat(store.stats().state()).isEqualTo(StoreState.OPENING);
        }
      } finally {
        // Closing them waits for them.
        disk.mayRead.countDown();
      }
      for (Store store : large) {
        store.awaitOpened();
        assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
        assertThat(store.read("key".getBytes(UTF_8))).isNotNull();
      }
    }
  }

  private void fill() throws Exception {
    try (StoreDirectory directory = StoreDirectory.open(temp)) {
      List<String> names = new ArrayList<>(List.of("small"));
      for (int i = 0; i < LARGE_STORES; i++) {
        names.add("large" + i);
      }
      for (String name : names) {
        Store store = TestStores.open(directory, settings(name));
        store.put("key".getBytes(UTF_8), "value".getBytes(UTF_8), System.currentTimeMillis());
      }
    }
  }
}
