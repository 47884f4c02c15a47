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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;

import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;

/** A file is closed in the middle of a read, which would end the process if it were unmapped. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class ReadDuringCloseTest {
  @TempDir Path temp;
  private final CountDownLatch reading = new CountDownLatch(1);
  private final CountDownLatch goOn = new CountDownLatch(1);
  private final AtomicReference<Value> found = new AtomicReference<>();
  private Store store;
  private final Thread reader = new Thread(() -> found.set(store.read(key(1))), "reader");

  private final class SlowDisk extends Disk {
    @Override
    public void touching(Path file) {
      if (Thread.currentThread() == reader) {
        reading.countDown();
        Uninterruptibles.awaitUninterruptibly(goOn);
      }
    }
  }

  @Test
  void theFileStaysUntilItIsRead() throws Exception {
    StoreDirectory directory =
        StoreDirectory.open(temp.resolve("stores"), new SlowDisk(), System::currentTimeMillis);
    store = TestStores.open(directory, new StoreSettings("cache", 1, 16 << 20, Optional.empty()));
    store.put(key(1), new byte[100], System.currentTimeMillis());
    store.flush();
    reader.start();
    reading.await();
    Thread closer = new Thread(directory::close, "closer");
    closer.start();
    // If it does not wait for the reader, it ends.
    assertThat(closer.join(Duration.ofSeconds(1))).isFalse();
    assertThat(found.get()).isNull();
    goOn.countDown();
    reader.join();
    closer.join();
    assertThat(found.get().bytes()).hasLength(100);
    assertThat(store.read(key(1))).isNull();
  }
}
