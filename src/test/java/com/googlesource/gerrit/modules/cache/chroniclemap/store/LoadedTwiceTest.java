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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Two loads of one key store their values, the second one while another thread writes, so that it
 * waits; and then the key or another one is changed. Whoever saw the second value must not find the
 * first one again.
 */
@Timeout(60)
class LoadedTwiceTest extends FolderTest {
  private static final byte[] KEY = "key".getBytes(UTF_8);

  private final CountDownLatch writing = new CountDownLatch(1);
  private final CountDownLatch goOn = new CountDownLatch(1);

  private static final byte[] OTHER = "other".getBytes(UTF_8);

  /** Stays in the middle of its write. */
  private final Thread writer =
      new Thread(() -> store.put("slow".getBytes(UTF_8), new byte[100], now()), "writer");

  private final CountDownLatch changing = new CountDownLatch(1);

  /** Stays in the middle of its change, which has ended the tickets of the key. */
  private final Thread changer = new Thread(() -> store.remove(KEY), "changer");

  private void touching(Path file) {
    if (Thread.currentThread() == writer) {
      writing.countDown();
      Uninterruptibles.awaitUninterruptibly(goOn);
    } else if (Thread.currentThread() == changer) {
      changing.countDown();
      Uninterruptibles.awaitUninterruptibly(goOn);
    }
  }

  @BeforeEach
  void open() throws Exception {
    start(new TestDisk().before(Call.TOUCHING, this::touching), settings("cache", 16 << 20));
    store.putIfCurrent(KEY, "first".getBytes(UTF_8), now(), store.ticket(KEY));
    store.flush();
    writer.start();
    writing.await();
    store.putIfCurrent(KEY, "second".getBytes(UTF_8), now(), store.ticket(KEY));
    assertThat(read()).isEqualTo("second");
  }

  @AfterEach
  void goOn() throws Exception {
    goOn.countDown();
    writer.join();
    changer.join();
  }

  private String read() {
    Value value = store.read(KEY);
    return value == null ? null : new String(value.bytes(), UTF_8);
  }

  @Test
  void theFirstIsNotFoundWhileTheKeyIsChanged() throws Exception {
    changer.start();
    changing.await();
    assertThat(read()).isNotEqualTo("first");
  }

  @Test
  void theSecondIsFoundWhileItWaits() {
    store.remove(OTHER);
    assertThat(read()).isEqualTo("second");
  }

  @Test
  void theSecondIsWrittenAfterAnotherKeyWasChanged() {
    store.remove(OTHER);
    goOn.countDown();
    store.flush();
    assertThat(read()).isEqualTo("second");
  }
}
