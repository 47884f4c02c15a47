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
import static com.google.common.util.concurrent.Uninterruptibles.awaitUninterruptibly;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is due at a certain time does not wait for what takes long. */
@Timeout(60)
class StoreThreadsTest {
  @Test
  void noRebuildDelaysWhatIsDue() throws Exception {
    StoreThreads threads = new StoreThreads(StoreThreads::named);
    CountDownLatch rebuilt = new CountDownLatch(1);
    CountDownLatch later = new CountDownLatch(1);
    try {
      for (int i = 0; i < 10; i++) {
        assertThat(threads.maintain(() -> awaitUninterruptibly(rebuilt))).isTrue();
      }
      boolean unused = threads.later(later::countDown, 1, TimeUnit.SECONDS);
      later.await();
    } finally {
      rebuilt.countDown();
      threads.stop(System.nanoTime());
    }
  }
}
