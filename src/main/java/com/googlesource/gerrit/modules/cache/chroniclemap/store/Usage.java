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

import java.util.function.LongSupplier;

/**
 * What a store knows of the use of its values beside the access times in its file: how often their
 * keys were asked for lately. Nothing of it is on the heap per value, and nothing is kept over a
 * restart.
 *
 * <p>Safe for any thread.
 */
final class Usage {
  /** An access time is rewritten at most this often, so that reads do not dirty pages. */
  private static final long MAX_TOUCH_MILLIS = 60_000;

  /** How much finer than the age at which values leave access times are kept. */
  private static final int TOUCHES_PER_LIFE = 64;

  private final LongSupplier clock;

  /** Null until a value has to leave: a store that is never full needs no more than its file. */
  private volatile Frequencies frequencies;

  /** Whether there was no off-heap memory for {@link #frequencies}. By the writer only. */
  private boolean outOfMemory;

  /** About the time since their last access at which values leave; milliseconds. */
  private volatile long evictedAge = Long.MAX_VALUE;

  private volatile long touchMillis = MAX_TOUCH_MILLIS;

  /**
   * Begins with no knowledge.
   *
   * @param clock milliseconds since the epoch
   */
  Usage(LongSupplier clock) {
    this.clock = clock;
  }

  long now() {
    return clock.getAsLong();
  }

  /** Age of an access time above which a read rewrites it. */
  long touchMillis() {
    return touchMillis;
  }

  /** Notes that a key was asked for, whether there was a value or not. */
  void asked(byte[] key) {
    Frequencies counts = frequencies;
    if (counts != null) {
      counts.increment(Frequencies.hash(key, key.length));
    }
  }

  /** How often a record's key was asked for lately: 0, or up to {@link Frequencies#MOST}. */
  int frequency(byte[] storedKey) {
    Frequencies counts = frequencies;
    return counts == null
        ? 0
        : counts.of(Frequencies.hash(storedKey, StoredKey.keyLength(storedKey)));
  }

  /**
   * Says that values have to leave a store. By the writer only.
   *
   * @param entries values in the store
   */
  void evicting(long entries) {
    Frequencies counts = frequencies;
    if (!outOfMemory && (counts == null || entries > 2 * counts.entries())) {
      try {
        frequencies = new Frequencies(entries);
      } catch (OutOfMemoryError e) {
        // Then by age alone: a put must not fail for this, and asking again takes long.
        outOfMemory = true;
      }
    }
  }

  /** Takes note of the age at which a record left. By the writer only. */
  void evicted(long ageMillis) {
    long before = evictedAge;
    long age = Math.max(0, ageMillis);
    evictedAge = before == Long.MAX_VALUE ? age : before + (age - before) / 16;
    touchMillis = Math.min(MAX_TOUCH_MILLIS, evictedAge / TOUCHES_PER_LIFE);
  }
}
