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

package com.googlesource.gerrit.modules.cache.chroniclemap.build;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.File;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import net.openhft.chronicle.map.ChronicleMap;
import net.openhft.chronicle.map.ChronicleMapBuilder;
import net.openhft.chronicle.map.ExternalMapQueryContext;
import net.openhft.chronicle.map.MapSegmentContext;

/**
 * The child of {@link NoCompilerIT}: makes a map of byte strings as the store does, uses it, opens
 * it again and recovers it. Ends with {@link #DONE} on standard output if all went well.
 */
final class NoCompilerMain {
  static final String DONE = "all is well";

  private static final int ENTRIES = 1000;
  private static final byte[] VALUE = "value".repeat(20).getBytes(UTF_8);

  private NoCompilerMain() {}

  public static void main(String[] args) throws IOException {
    File file = new File(args[0]);
    check(
        ModuleLayer.boot().findModule("jdk.compiler").isEmpty(),
        "this runtime has no jdk.compiler");
    System.setProperty("chronicle.analytics.disable", "true");

    try (ChronicleMap<byte[], byte[]> map = builder().createPersistedTo(file)) {
      for (int i = 0; i < ENTRIES; i++) {
        map.put(key(i), VALUE);
      }
      check(map.get(key(7)).length == VALUE.length, "get");
      check(sizeInPlace(map, key(8)) == VALUE.length, "zero-copy read");
      check(count(map) == ENTRIES, "scan of the segments");
    }
    try (ChronicleMap<byte[], byte[]> map = builder().createPersistedTo(file)) {
      check(map.longSize() == ENTRIES, "reopen");
    }
    try (ChronicleMap<byte[], byte[]> map = builder().recoverPersistedTo(file, true)) {
      check(map.longSize() == ENTRIES, "recover");
    }
    System.out.println(DONE);
  }

  private static ChronicleMapBuilder<byte[], byte[]> builder() {
    return ChronicleMapBuilder.of(byte[].class, byte[].class)
        .entries(10L * ENTRIES)
        .averageKeySize(36)
        .averageValueSize(1000)
        .actualSegments(4)
        .sparseFile(false)
        .allowSegmentTiering(false)
        .checksumEntries(false);
  }

  private static byte[] key(int i) {
    return ("key" + i).getBytes(UTF_8);
  }

  private static long sizeInPlace(ChronicleMap<byte[], byte[]> map, byte[] key) {
    try (ExternalMapQueryContext<byte[], byte[], ?> context = map.queryContext(key)) {
      context.readLock().lock();
      return context.entry().value().size();
    }
  }

  private static int count(ChronicleMap<byte[], byte[]> map) {
    AtomicInteger count = new AtomicInteger();
    for (int i = 0; i < map.segments(); i++) {
      try (MapSegmentContext<byte[], byte[], ?> context = map.segmentContext(i)) {
        context.forEachSegmentEntry(entry -> count.incrementAndGet());
      }
    }
    return count.get();
  }

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException("does not hold: " + what);
    }
  }
}
