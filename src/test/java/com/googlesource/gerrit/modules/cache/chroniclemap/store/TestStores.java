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

import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMapBuilder;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.log4j.Appender;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;

/** Stores for tests that must not depend on how fast the machine is. */
public final class TestStores {
  private TestStores() {}

  /** The key of a number. */
  public static byte[] key(int number) {
    return ("key " + number).getBytes(UTF_8);
  }

  /** Bytes that a seed decides. */
  public static byte[] random(int length, long seed) {
    byte[] out = new byte[length];
    new Random(seed).nextBytes(out);
    return out;
  }

  /** Bytes of the heap in use when all that nobody needs has gone. */
  public static long usedHeap() {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 5; i++) {
      System.gc();
      Runtime runtime = Runtime.getRuntime();
      least = Math.min(least, runtime.totalMemory() - runtime.freeMemory());
    }
    return least;
  }

  /** How many bytes of real disk a file takes; 0 if it was deleted meanwhile. */
  public static long blocks(Path file) throws Exception {
    Process stat =
        new ProcessBuilder("stat", "-c", "%b %B", file.toString())
            .redirectErrorStream(true)
            .start();
    String[] out = new String(stat.getInputStream().readAllBytes(), UTF_8).trim().split(" ", -1);
    return stat.waitFor() == 0 ? Long.parseLong(out[0]) * Long.parseLong(out[1]) : 0;
  }

  /** The same of all files of a folder but its lock. */
  static long blocksIn(Path folder) throws Exception {
    long sum = 0;
    for (Path file : filesIn(folder)) {
      sum += file.endsWith("lock") || Files.isHidden(file) ? 0 : blocks(file);
    }
    return sum;
  }

  /** Opens a store and waits until that is done, however long it takes. */
  static Store open(StoreDirectory directory, StoreSettings settings) throws Exception {
    Store store = directory.openStore(settings);
    store.awaitOpened();
    return store;
  }

  /** Removes the values that are too old, on this thread. */
  static void sweep(Store store) {
    BooleanSupplier sweep = store.upkeep.newSweep();
    boolean isLeft = true;
    while (isLeft) {
      isLeft = sweep.getAsBoolean();
    }
  }

  /** The files of a folder. */
  static List<Path> filesIn(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.toList();
    }
  }

  /** The only file of a folder whose name ends so, or any of them. */
  static Path fileIn(Path folder, String end) throws IOException {
    return filesIn(folder).stream()
        .filter(file -> file.toString().endsWith(end))
        .findFirst()
        .orElseThrow();
  }

  /** Makes a copy of a folder as it is, which is what a kill leaves of it. */
  static Path copy(Path from, Path to) throws IOException {
    Files.createDirectory(to);
    for (Path file : filesIn(from)) {
      try {
        Files.copy(file, to.resolve(file.getFileName()), StandardCopyOption.COPY_ATTRIBUTES);
      } catch (NoSuchFileException e) {
        // Deleted or moved meanwhile, in the background.
      }
    }
    return to;
  }

  /** Waits for what another thread is about to do. */
  public static void await(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      Thread.onSpinWait();
    }
  }

  /** The settings of a store of the first version, whose values never get too old. */
  static StoreSettings settings(String name, long maxBytes) {
    return new StoreSettings(name, 1, maxBytes, Optional.empty());
  }

  static StoreSettings settings(String name, long maxBytes, OldValues oldValues) {
    return new StoreSettings(name, 1, maxBytes, Optional.empty(), oldValues);
  }

  /** What a test does. */
  interface Task {
    void run() throws Exception;
  }

  /** Hears what is logged where it is added. */
  static Appender listener(Consumer<LoggingEvent> hears) {
    return new AppenderSkeleton() {
      @Override
      protected void append(LoggingEvent event) {
        hears.accept(event);
      }

      @Override
      public void close() {}

      @Override
      public boolean requiresLayout() {
        return false;
      }
    };
  }

  /** What a class logs while a task runs. */
  static List<String> logged(Class<?> type, Task task) throws Exception {
    List<String> texts = new CopyOnWriteArrayList<>();
    Appender appender = listener(event -> texts.add(event.getRenderedMessage()));
    Logger logger = Logger.getLogger(type);
    logger.addAppender(appender);
    try {
      task.run();
    } finally {
      logger.removeAppender(appender);
    }
    return texts;
  }

  /** A file with what is known of it beside it. All of its segments have their disk. */
  public static RecordMap file(Path path, Geometry geometry) throws IOException {
    RecordMap file = RecordMapBuilder.create(Disk.REAL, path, geometry, true);
    for (int i = 0; i < geometry.segments(); i++) {
      boolean unused = file.takeDisk(i, file.geometry.maxPayload() * 16, 0);
      while (file.takeDisk(i, 1, 0)) {}
    }
    return file;
  }

  /** Has a folder that could not be opened tried again, as some time later. */
  public static void tryAgain(StoreDirectory directory) {
    directory.lastTry = 0;
    directory.sweep();
  }

  /** Returns when the disk tasks that are queued now are done. */
  static void awaitSettled(StoreDirectory directory) throws InterruptedException {
    CountDownLatch done = new CountDownLatch(1);
    directory.threads.onDiskThread(done::countDown);
    done.await();
  }

  /** What is known of the files of a folder, to be changed where it stands. */
  private static List<ByteBuffer> statesIn(Path folder) throws IOException {
    List<ByteBuffer> states = new ArrayList<>();
    for (Path file : filesIn(folder)) {
      if (file.toString().endsWith(".state")) {
        states.add(Disk.REAL.map(file).order(ByteOrder.LITTLE_ENDIAN));
      }
    }
    return states;
  }

  /** Has the stores of a folder, which were closed, look as if their user had been killed. */
  static void leaveOpen(Path folder) throws IOException {
    for (ByteBuffer state : statesIn(folder)) {
      state.putInt(FileState.CLOSED_AT, 0);
    }
  }

  /**
   * Has the stores of a folder, which were closed, look as if the machine had stopped under them
   * after they had been on disk once.
   */
  public static void leaveToCrash(Path folder) throws IOException {
    leaveOpen(folder);
    for (ByteBuffer state : statesIn(folder)) {
      state.putInt(FileState.FORCED_AT, 1);
      state.put(FileState.BOOT_AT, (byte) 'x');
    }
  }

  /** Has a file that was copied count as the one that it is a copy of. */
  static void takeForTheSame(Path file) throws IOException {
    byte[] key = Arrays.copyOf(Disk.REAL.fileKey(file).getBytes(UTF_8), 64);
    Disk.REAL.map(FileState.pathOf(file)).put(FileState.KEY_AT, key);
  }

  /** Has the stores of a folder, which were closed, know as little as those of earlier versions. */
  static void forgetAges(Path folder) throws IOException {
    for (ByteBuffer state : statesIn(folder)) {
      for (int at = 512 + 12; at < state.capacity() * 4 / 5; at += 16) {
        state.putInt(at, 0);
      }
    }
  }

  /** The disk of this machine after another start of it. */
  static TestDisk anotherBoot() {
    return new TestDisk() {
      @Override
      public String boot(Path file) {
        return "another-boot";
      }
    };
  }

  /** A disk that takes a file which was copied for the one that it is a copy of. */
  static TestDisk ofCopies() {
    return new TestDisk() {
      @Override
      public boolean hasKey(Path file, String key) {
        return true;
      }
    };
  }

  /** Changes a bit of a value wherever it stands in the file of a store, if it does. */
  static boolean flip(Path folder, String store, byte[] value) throws IOException {
    Path file = fileOf(store, folder);
    byte[] all = Files.readAllBytes(file);
    boolean isFound = false;
    try (RandomAccessFile out = new RandomAccessFile(file.toFile(), "rw")) {
      for (int i = 0; i < all.length - 64; i++) {
        if (all[i] == value[0] && Arrays.equals(all, i, i + 64, value, 0, 64)) {
          out.seek(i + 10);
          out.write(all[i + 10] ^ 1);
          isFound = true;
        }
      }
    }
    return isFound;
  }

  /** Overwrites a part of a store's file with zeros, as a disk does that loses a block. */
  static void zero(Path folder, String store, long from, int bytes) throws IOException {
    try (RandomAccessFile out = new RandomAccessFile(fileOf(store, folder).toFile(), "rw")) {
      out.seek(from);
      out.write(new byte[bytes]);
    }
  }

  private static Path fileOf(String store, Path folder) throws IOException {
    return filesIn(folder).stream()
        .filter(file -> file.getFileName().toString().matches("\\Q" + store + "\\E.*\\.chm"))
        .findFirst()
        .orElseThrow();
  }
}
