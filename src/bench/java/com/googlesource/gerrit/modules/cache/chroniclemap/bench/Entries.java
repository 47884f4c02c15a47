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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import com.google.common.hash.Hashing;
import com.google.common.primitives.Ints;
import java.util.Arrays;
import java.util.Random;

/**
 * Keys of {@value #KEY_CHARS} characters with values that name their key, so that a wrong answer is
 * noticed. The values are random bytes: neither cache could make them smaller.
 */
final class Entries {
  private static final int MOST_ENTRIES = 10_000;

  /** Bytes of all values: those of 10 KB that are as many as that. */
  private static final int MOST_BYTES = 10 * 1024 * MOST_ENTRIES;

  private static final int KEY_CHARS = 36;

  /** Bytes after which {@link #putAllTo} waits: less than what a cache may keep in a queue. */
  private static final int BATCH_BYTES = 5 << 20;

  private static final int MOST_IN_A_BATCH = 256;

  private static final int ROUNDS = 10;

  /** Number of entries. */
  final int count;

  private final int valueBytes;
  private final int batch;
  private final String[] keys;
  private final byte[][] values;

  Entries(int valueBytes) {
    this.valueBytes = valueBytes;
    count = count(valueBytes);
    batch = Math.clamp(BATCH_BYTES / valueBytes, 1, MOST_IN_A_BATCH);
    keys = new String[count];
    values = new byte[count][];
    Random random = new Random(1);
    for (int i = 0; i < count; i++) {
      keys[i] = Hashing.sha256().hashInt(i).toString().substring(0, KEY_CHARS);
      values[i] = new byte[valueBytes];
      random.nextBytes(values[i]);
      System.arraycopy(Ints.toByteArray(i), 0, values[i], 0, Ints.BYTES);
    }
  }

  /** The number of entries with values of so many bytes. */
  static int count(int valueBytes) {
    return Math.min(MOST_ENTRIES, MOST_BYTES / valueBytes);
  }

  /**
   * The cache to put them to. Most values of megabytes are diffs, in a cache whose keys determine
   * their values; only in other caches are such values cut by their content.
   */
  String cacheName() {
    return valueBytes < 1 << 20 ? "benchmark" : "gerrit_file_diff";
  }

  /**
   * Puts all entries, and again if some have left: a cache whose file has to grow meanwhile may
   * have no room for all.
   *
   * @throws IllegalStateException if there is no room for them
   */
  void putAllTo(OpenCache cache) {
    for (int round = 0; cache.entriesOnDisk() != count; round++) {
      if (round == ROUNDS) {
        throw new IllegalStateException("entries on disk: " + cache.entriesOnDisk());
      }
      for (int i = 0; i < count; i++) {
        cache.put(keys[i], values[i]);
        if (i % batch == 0) {
          cache.drain();
        }
      }
      cache.drain();
    }
  }

  /** Removes all entries, as slowly. */
  void removeAllFrom(OpenCache cache) {
    for (int i = 0; i < count; i++) {
      cache.remove(keys[i]);
      if (i % batch == 0) {
        cache.drain();
      }
    }
    cache.drain();
  }

  String key(int i) {
    return keys[i];
  }

  byte[] value(int i) {
    return values[i];
  }

  /**
   * Returns what a cache found for key i, having looked whether it can be right. Does not touch the
   * value that was put: a read of cold memory would count as the cache's time.
   */
  byte[] check(int i, byte[] found) {
    if (found.length != valueBytes || Ints.fromByteArray(found) != i) {
      throw new IllegalStateException("wrong value for key " + i);
    }
    return found;
  }

  /** As {@link #check}, with each byte compared. */
  void checkAll(int i, byte[] found) {
    if (!Arrays.equals(found, values[i])) {
      throw new IllegalStateException("wrong value for key " + i);
    }
  }
}
