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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.values;

import static com.google.common.truth.Truth.assertThat;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FaultLog;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The saved usage of a store's values. */
class UsageTest {
  private static final int VALUES = 10_000;
  private static final long STORE_BYTES = 64 << 20;
  private static final FileTime LONG_AGO = FileTime.fromMillis(1);

  @TempDir private Path folder;
  private Path saved;

  @BeforeEach
  void name() {
    saved = folder.resolve("use");
  }

  /** One whose tasks run on the thread that has them. */
  static Usage usage(LongSupplier clock, Path saved) {
    return new Usage(
        clock,
        task -> {
          task.run();
          return true;
        },
        Disk.REAL,
        saved,
        new FaultLog("cache", new LongAdder()));
  }

  private Usage usage() {
    Usage usage = usage(System::currentTimeMillis, saved);
    usage.count(VALUES);
    return usage;
  }

  private static void ask(Usage usage, int times) {
    for (int i = 0; i < times; i++) {
      usage.asked(("key " + i).getBytes(UTF_8));
    }
  }

  /** Saves; whether that wrote the file. */
  private boolean writes(Usage usage, long storeBytes) throws Exception {
    return writes(usage, storeBytes, /* closing= */ false);
  }

  private boolean writes(Usage usage, long storeBytes, boolean closing) throws Exception {
    if (Files.exists(saved)) {
      Files.setLastModifiedTime(saved, LONG_AGO);
    }
    usage.save(storeBytes, closing);
    return Files.exists(saved) && !Files.getLastModifiedTime(saved).equals(LONG_AGO);
  }

  /** Memory for many is allocated on another thread. */
  @Test
  void isCountedOnceThereIsAThreadForIt() {
    List<Runnable> given = new ArrayList<>();
    AtomicBoolean isTaken = new AtomicBoolean();
    Usage usage =
        new Usage(
            System::currentTimeMillis,
            task -> isTaken.get() && given.add(task),
            Disk.REAL,
            saved,
            new FaultLog("cache", new LongAdder()));
    usage.count(1_000_000);
    isTaken.set(true);
    usage.count(1_000_000);
    assertThat(given).hasSize(1);
    usage.count(1_000_000);
    assertThat(given).hasSize(1);
  }

  /** All of it is written each time, which in a large store is much. */
  @Test
  void isWrittenIfMuchWasRead() throws Exception {
    Usage usage = usage();
    ask(usage, 1);
    assertThat(writes(usage, STORE_BYTES)).isTrue();
    ask(usage, VALUES / 64);
    assertThat(writes(usage, STORE_BYTES)).isFalse();
    ask(usage, VALUES / 32);
    assertThat(writes(usage, STORE_BYTES)).isTrue();
    assertThat(writes(usage, STORE_BYTES)).isFalse();
  }

  /** Counters are halved now and then, each slice at another time. */
  @Test
  void isWrittenHoweverMuchWasRead() throws Exception {
    Usage usage = usage();
    for (int round = 0; round < 20; round++) {
      // Other keys each time, as a counter at its maximum stays.
      for (int i = 0; i < VALUES; i++) {
        usage.asked(("key " + round + " " + i).getBytes(UTF_8));
      }
      assertThat(writes(usage, STORE_BYTES)).isTrue();
    }
  }

  @Test
  void isWrittenAtTheEndIfAnythingWasRead() throws Exception {
    Usage usage = usage();
    ask(usage, VALUES);
    assertThat(writes(usage, STORE_BYTES)).isTrue();
    assertThat(writes(usage, STORE_BYTES, /* closing= */ true)).isFalse();
    usage.asked("one more".getBytes(UTF_8));
    assertThat(writes(usage, STORE_BYTES)).isFalse();
    assertThat(writes(usage, STORE_BYTES, /* closing= */ true)).isTrue();
  }

  @Test
  void isNotWrittenAgainByANewProcess() throws Exception {
    Usage before = usage();
    ask(before, VALUES);
    assertThat(writes(before, STORE_BYTES)).isTrue();
    Usage after = usage();
    assertThat(writes(after, STORE_BYTES)).isFalse();
    ask(after, VALUES);
    assertThat(writes(after, STORE_BYTES)).isTrue();
  }

  @Test
  void isWrittenIfItIsGoneOrTooLarge() throws Exception {
    Usage usage = usage();
    ask(usage, VALUES);
    assertThat(writes(usage, STORE_BYTES)).isTrue();
    Files.delete(saved);
    assertThat(writes(usage, STORE_BYTES)).isTrue();
    long bytes = Files.size(saved);
    assertThat(writes(usage, bytes * 128 / 2)).isTrue();
    assertThat(Files.size(saved)).isLessThan(bytes);
  }
}
