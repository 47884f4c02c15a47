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

import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.ForwardingDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.FilesOnDisk;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;

/**
 * A store is cleared when its file is about to grow and waits for the writer's lock; while the
 * larger file is made another store takes what the bound on all leaves.
 */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class ClearInRebuildTest {
  private static final long LIMIT = 9_600_000;
  private static final long TOTAL = 14_000_000;
  private static final int VALUE_BYTES = 1000;

  @TempDir Path temp;

  private final RacingDisk disk = new RacingDisk();
  private StoreDirectory directory;
  private Store cleared;
  private Store other;

  /** Waits for the growth. */
  private Thread flushing = new Thread();

  @AfterEach
  void close() throws Exception {
    disk.goOn.countDown();
    flushing.join();
    directory.close();
  }

  private final class RacingDisk extends ForwardingDisk {
    /** Both threads on which files grow wait for this. */
    final CountDownLatch goOn = new CountDownLatch(1);

    final CountDownLatch busy = new CountDownLatch(2);

    /** Who clears. */
    volatile Thread clearing;

    private volatile boolean isCleared;

    RacingDisk() {
      super(Disk.REAL);
    }

    @Override
    public void mapping(Path file) throws IOException {
      super.mapping(file);
      String name = file.getFileName().toString();
      if (name.startsWith("busy") && isGrowing(Thread.currentThread())) {
        busy.countDown();
        Uninterruptibles.awaitUninterruptibly(goOn);
      } else if (Thread.currentThread() == clearing) {
        clearing = null;
        goOn.countDown();
        awaitThat(ClearInRebuildTest::isGrowthWaiting);
        isCleared = true;
      } else if (isCleared && name.startsWith("cleared") && name.endsWith(".growing")) {
        isCleared = false;
        fill(other, 8_000_000);
      }
    }
  }

  private static boolean isGrowing(Thread thread) {
    return thread.getName().startsWith("cache-chroniclemap-upkeep-");
  }

  private static void awaitThat(BooleanSupplier condition) {
    long begun = System.nanoTime();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - begun > TimeUnit.SECONDS.toNanos(30)) {
        throw new AssertionError("the threads did not get there");
      }
      Thread.onSpinWait();
    }
  }

  private static boolean isGrowthWaiting() {
    return Thread.getAllStackTraces().entrySet().stream()
        .filter(each -> isGrowing(each.getKey()))
        .map(each -> List.of(each.getValue()))
        .anyMatch(frames -> waitsIn(frames, WriterLock.class, StoreGrowth.class));
  }

  /** Whether a method of a class was called by another one, which was called to run by a thread. */
  private static boolean waitsIn(List<StackTraceElement> frames, Class<?> called, Class<?> caller) {
    for (int i = 1; i + 1 < frames.size(); i++) {
      if (frames.get(i - 1).getClassName().equals(called.getName())
          && frames.get(i).getClassName().equals(caller.getName())
          && frames.get(i + 1).getMethodName().equals("run")) {
        return true;
      }
    }
    return false;
  }

  private static void fill(Store store, int bytes) {
    put(store, bytes);
    store.flush();
  }

  private static void put(Store store, int bytes) {
    for (int i = 0; i < bytes / VALUE_BYTES; i++) {
      byte[] key = ("key " + i).getBytes(UTF_8);
      var unused = store.put(key, new byte[VALUE_BYTES], System.currentTimeMillis());
    }
  }

  private Store open(String name) throws Exception {
    return TestStores.open(directory, new StoreSettings(name, 1, LIMIT, Optional.empty()));
  }

  @Test
  void theBoundOnAllHolds() throws Exception {
    directory =
        StoreDirectory.open(
            temp.resolve("stores"), OptionalLong.of(TOTAL), disk, System::currentTimeMillis);
    cleared = open("cleared");
    other = open("other");
    fill(cleared, 1_000_000);
    TestStores.awaitRebuilt(cleared);
    assertThat(cleared.stats().diskBytes()).isAtMost(LIMIT / 2);
    for (String name : new String[] {"busy1", "busy2"}) {
      put(open(name), 300_000);
    }
    disk.busy.await();
    // Asked for now, and begun when a thread is free.
    put(cleared, 6_000_000);
    flushing = new Thread(cleared::flush, "flushing");
    flushing.start();
    awaitThat(
        () ->
            flushing.getState() == Thread.State.WAITING
                && Arrays.stream(flushing.getStackTrace())
                    .anyMatch(frame -> frame.getClassName().equals(StoreGrowth.class.getName())));
    assertThat(cleared.stats().diskBytes()).isAtMost(LIMIT / 2);

    disk.clearing = Thread.currentThread();
    cleared.clear();
    flushing.join();
    TestStores.awaitRebuilt(cleared);
    TestStores.awaitRebuilt(other);
    assertThat(FilesOnDisk.bytes(disk, directory.path()).values().stream().mapToLong(n -> n).sum())
        .isAtMost(TOTAL);
  }
}
