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

import static com.google.common.truth.Truth.assertWithMessage;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.fileIn;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.filesIn;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.random;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Bits;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Bits.Part;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A bit of a file flips after a clean stop, unnoticed. That costs at most the values of its
 * segment: no wrong value is found, and the store does not fail, whatever is done with it. Where
 * more is lost, also after a kill, that costs more values, and is as harmless.
 */
class DamagedBitsTest extends FolderTest {
  private static final int KEYS = 2000;
  private static final int FLIPS = Integer.getInteger("damage.flips", 6);
  private static final long BYTES = 4 << 20;

  private Path file;
  private byte[] content;
  private byte[] state;
  private FileTime modified;

  /** The newest version of each value that was put or removed since. */
  private final Map<Integer, Integer> versions = new HashMap<>();

  @BeforeEach
  void fillAStore() throws Exception {
    start(settings("cache", BYTES));
    for (int i = 0; i < KEYS; i++) {
      store.put(key(i), value(i, 0), 1000 + i);
    }
    store.flush();
    directory.close();
    file = fileIn(folder(), ".chm");
    content = Files.readAllBytes(file);
    state = Files.readAllBytes(FileState.pathOf(file));
    modified = Files.getLastModifiedTime(file);
  }

  private static byte[] value(int number, int version) {
    return random(number % 300 == 0 ? 40_000 : 130 + number * 37 % 500, number * 1000L + version);
  }

  @ParameterizedTest
  @EnumSource
  void aBitThatFlipped(Part part) throws Exception {
    Geometry geometry = Geometry.forFileOf(BYTES, Geometry.DEFAULT_BYTES_PER_SLOT);
    Random random = new Random(part.name().hashCode());
    try (Bits bits = new Bits(content, geometry, temp.resolve("empty"))) {
      for (int i = 0; i < FLIPS; i++) {
        long at = bits.choose(part, random);
        int bit = random.nextInt(8);
        int segment = bits.segmentAt(at);
        flip(at, bit);
        // What the header does not say is found nowhere.
        boolean isHeader = part == Part.FILE_HEADER;
        StartReport.Kind kind = isHeader ? StartReport.Kind.REPLACED : StartReport.Kind.CLEAN;
        long limit = i % 2 == 0 ? 2 * BYTES : BYTES;
        use(bits, limit, kind, isHeader ? -2 : segment, "byte " + at + ", bit " + bit);
        restore();
      }
    }
  }

  private void flip(long at, int bit) throws Exception {
    overwrite(at, (byte) (content[(int) at] ^ 1 << bit));
  }

  private void overwrite(long at, byte... bytes) throws Exception {
    try (RandomAccessFile access = new RandomAccessFile(file.toFile(), "rw")) {
      access.seek(at);
      access.write(bytes);
    }
    Files.setLastModifiedTime(file, modified);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void blocksThatWereLost(boolean isKilled) throws Exception {
    Geometry geometry = Geometry.forFileOf(BYTES, Geometry.DEFAULT_BYTES_PER_SLOT);
    Random random = new Random(isKilled ? 1 : 2);
    try (Bits bits = new Bits(content, geometry, temp.resolve("empty"))) {
      for (int i = 0; i < 10 * FLIPS; i++) {
        // Of zeros, or of anything.
        byte[] lost = new byte[1 + random.nextInt(20_000)];
        if (i % 2 == 0) {
          random.nextBytes(lost);
        }
        int at = random.nextInt(4096, content.length - lost.length);
        overwrite(at, lost);
        if (isKilled) {
          TestStores.leaveOpen(folder());
        }
        StartReport.Kind kind = isKilled ? StartReport.Kind.RECOVERED : StartReport.Kind.CLEAN;
        use(bits, BYTES, kind, -2, lost.length + " bytes at " + at);
        restore();
      }
    }
  }

  /** Makes the files as they were, although another one took the place of the file. */
  private void restore() throws Exception {
    for (Path one : filesIn(folder())) {
      if (one.toString().contains("-g") && !one.toString().startsWith(file.toString())) {
        Files.delete(one);
      }
    }
    Files.write(file, content);
    Files.setLastModifiedTime(file, modified);
    Files.write(FileState.pathOf(file), state);
    TestStores.takeForTheSame(file);
    versions.clear();
  }

  private void use(Bits bits, long limit, StartReport.Kind kind, int segment, String where)
      throws Exception {
    start(settings("cache", limit));
    assertWithMessage(where).that(store.stats().start().kind()).isEqualTo(kind);
    check(bits, segment, where);
    for (int i = 0; i < KEYS; i += 7) {
      versions.put(i, i % 2);
      if (i % 2 == 0) {
        store.remove(key(i));
      } else {
        store.put(key(i), value(i, 1), 5000);
      }
    }
    store.flush();
    check(bits, -2, where);
    for (int i = 0; i < 400; i++) {
      store.put(key(KEYS + i), random(9000, i), 6000);
    }
    store.flush();
    check(bits, -2, where);
    assertWithMessage(where).that(store.verify(true, Progress.NONE).complete()).isTrue();
    check(bits, -2, where);
    assertWithMessage(where).that(store.verify(false, Progress.NONE).damaged()).isEqualTo(0);
    start(settings("cache", limit));
    check(bits, -2, where);
    directory.close();
  }

  /**
   * Reads all.
   *
   * @param segment from which values may be lost; -1 for none, -2 for any
   */
  private void check(Bits bits, int segment, String where) {
    for (int i = 0; i < KEYS; i++) {
      Value value = store.read(key(i));
      int version = versions.getOrDefault(i, 0);
      boolean removed = versions.containsKey(i) && version == 0;
      if (value != null) {
        assertWithMessage("%s: key %s", where, i).that(removed).isFalse();
        assertWithMessage("%s: key %s", where, i).that(value.bytes()).isEqualTo(value(i, version));
      } else if (segment != -2 && i % 300 != 0) {
        // Large values have parts in all segments.
        assertWithMessage("%s: key %s", where, i).that(bits.segmentOf(key(i))).isEqualTo(segment);
      }
    }
    assertWithMessage(where).that(store.stats().state()).isEqualTo(StoreState.READY);
    assertWithMessage(where).that(store.stats().counts().faults.sum()).isEqualTo(0);
  }
}
