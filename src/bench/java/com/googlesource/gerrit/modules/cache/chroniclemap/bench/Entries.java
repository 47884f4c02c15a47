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
  /** Number of entries. */
  static final int COUNT = 10_000;

  private static final int KEY_CHARS = 36;

  /** Puts after which {@link #putAllTo} waits: less than what a cache may keep in a queue. */
  private static final int BATCH = 256;

  private static final int ROUNDS = 10;

  private final int valueBytes;
  private final String[] keys = new String[COUNT];
  private final byte[][] values = new byte[COUNT][];

  Entries(int valueBytes) {
    this.valueBytes = valueBytes;
    Random random = new Random(1);
    for (int i = 0; i < COUNT; i++) {
      keys[i] = Hashing.sha256().hashInt(i).toString().substring(0, KEY_CHARS);
      values[i] = new byte[valueBytes];
      random.nextBytes(values[i]);
      System.arraycopy(Ints.toByteArray(i), 0, values[i], 0, Ints.BYTES);
    }
  }

  /**
   * Puts all entries, and again if some have left: a cache whose file has to grow meanwhile may
   * have no room for all.
   *
   * @throws IllegalStateException if there is no room for them
   */
  void putAllTo(OpenCache cache) {
    for (int round = 0; cache.entriesOnDisk() != COUNT; round++) {
      if (round == ROUNDS) {
        throw new IllegalStateException("entries on disk: " + cache.entriesOnDisk());
      }
      for (int i = 0; i < COUNT; i++) {
        cache.put(keys[i], values[i]);
        if (i % BATCH == 0) {
          cache.drain();
        }
      }
      cache.drain();
    }
  }

  /** Removes all entries, as slowly. */
  void removeAllFrom(OpenCache cache) {
    for (int i = 0; i < COUNT; i++) {
      cache.remove(keys[i]);
      if (i % BATCH == 0) {
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
