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
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/** Stores for tests that must not depend on how fast the machine is. */
public final class TestStores {
  private TestStores() {}

  /** The key of a number. */
  public static byte[] key(int number) {
    return ("key " + number).getBytes(UTF_8);
  }

  /** Bytes that a seed decides. */
  static byte[] random(int length, long seed) {
    byte[] out = new byte[length];
    new Random(seed).nextBytes(out);
    return out;
  }

  /** How many bytes of real disk a file takes; 0 if it was deleted meanwhile. */
  static long blocks(Path file) throws Exception {
    Process stat =
        new ProcessBuilder("stat", "-c", "%b %B", file.toString())
            .redirectErrorStream(true)
            .start();
    String[] out = new String(stat.getInputStream().readAllBytes(), UTF_8).trim().split(" ", -1);
    return stat.waitFor() == 0 ? Long.parseLong(out[0]) * Long.parseLong(out[1]) : 0;
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

  /** A file with what is known of it beside it. All of its segments have their disk. */
  public static RecordMap file(Path path, Geometry geometry) throws IOException {
    RecordMap file = RecordMapBuilder.create(Disk.REAL, path, FileState.pathOf(path), geometry);
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

  /** Has the stores of a folder, which were closed, look as if their user had been killed. */
  static void leaveOpen(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.filter(f -> f.toString().endsWith(".state")).toList()) {
        Disk.REAL.map(file).putInt(FileState.CLOSED_AT, 0);
      }
    }
  }

  /**
   * Has the stores of a folder, which were closed, look as if the machine had stopped under them
   * after they had been on disk once.
   */
  public static void leaveToCrash(Path folder) throws IOException {
    leaveOpen(folder);
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.filter(f -> f.toString().endsWith(".state")).toList()) {
        ByteBuffer state = Disk.REAL.map(file).order(ByteOrder.LITTLE_ENDIAN);
        state.putInt(FileState.FORCED_AT, 1);
        state.put(FileState.BOOT_AT, (byte) 'x');
      }
    }
  }

  /** Has a file that was copied count as the one that it is a copy of. */
  static void takeForTheSame(Path file) throws IOException {
    byte[] key = Arrays.copyOf(Disk.REAL.fileKey(file).getBytes(UTF_8), 64);
    Disk.REAL.map(FileState.pathOf(file)).put(FileState.KEY_AT, key);
  }

  /** Has the stores of a folder, which were closed, know as little as those of earlier versions. */
  static void forgetAges(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.filter(f -> f.toString().endsWith(".state")).toList()) {
        ByteBuffer state = Disk.REAL.map(file).order(ByteOrder.LITTLE_ENDIAN);
        for (int at = 512 + 12; at < state.capacity() * 4 / 5; at += 16) {
          state.putInt(at, 0);
        }
      }
    }
  }

  /** The disk of this machine after another start of it. */
  static Disk anotherBoot() {
    return new Disk() {
      @Override
      public String boot(Path file) {
        return "another-boot";
      }
    };
  }

  /** Changes a bit of a value wherever it stands in the file of a store. */
  static void flip(Path folder, String store, byte[] value) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      Path file = files.filter(f -> isFileOf(store, f)).findFirst().orElseThrow();
      byte[] all = Files.readAllBytes(file);
      boolean found = false;
      try (RandomAccessFile out = new RandomAccessFile(file.toFile(), "rw")) {
        for (int i = 0; i < all.length - 64; i++) {
          if (all[i] == value[0] && Arrays.equals(all, i, i + 64, value, 0, 64)) {
            out.seek(i + 10);
            out.write(all[i + 10] ^ 1);
            found = true;
          }
        }
      }
      if (!found) {
        throw new AssertionError("not found");
      }
    }
  }

  /** Overwrites a part of a store's file with zeros, as a disk does that loses a block. */
  static void zero(Path folder, String store, long from, int bytes) throws IOException {
    Path file = filesIn(folder).stream().filter(f -> isFileOf(store, f)).findFirst().orElseThrow();
    try (RandomAccessFile out = new RandomAccessFile(file.toFile(), "rw")) {
      out.seek(from);
      out.write(new byte[bytes]);
    }
  }

  private static boolean isFileOf(String store, Path file) {
    String name = file.getFileName().toString();
    return name.startsWith(store) && name.endsWith(".chm");
  }
}
