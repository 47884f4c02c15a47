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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.hitratio;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.util.Arrays;
import java.util.Random;

/** Makes the traces. Each is the same in every run. */
final class Traces {
  /** Keys that a trace draws from; scans bring their own. */
  static final int KEYS = 1_000_000;

  private static final double EXPONENT = 0.99;
  private static final int SCAN_EVERY = 200_000;
  private static final int SCAN_KEYS = 50_000;
  private static final int SHIFT_EVERY = 500_000;
  private static final int REQUESTS_PER_NEW_KEY = 20;

  private final int length;

  /**
   * Makes traces of a length.
   *
   * @param length requests of a trace
   */
  Traces(int length) {
    this.length = length;
  }

  /** Popularity that never changes. */
  Trace zipf(int cacheEntries) {
    return new Trace("Zipf", zipfRequests(length), KEYS, cacheEntries);
  }

  /** The same with a run through keys that are asked for once, from time to time. */
  Trace zipfWithScans(int cacheEntries) {
    Zipf zipf = new Zipf(KEYS, EXPONENT, 1);
    int[] requests = new int[length];
    int scanned = KEYS;
    for (int i = 0; i < length; i++) {
      boolean scanning = i % SCAN_EVERY >= SCAN_EVERY - SCAN_KEYS;
      requests[i] = scanning ? scanned++ : zipf.next();
    }
    return new Trace("Zipf and scans", requests, scanned, cacheEntries);
  }

  /** Popularity that changes at once, wholly. */
  Trace shiftingZipf(int cacheEntries) {
    Zipf zipf = new Zipf(KEYS, EXPONENT, 1);
    Random random = new Random(2);
    int[] requests = new int[length];
    int offset = 0;
    for (int i = 0; i < length; i++) {
      if (i % SHIFT_EVERY == 0) {
        offset = random.nextInt(KEYS);
      }
      requests[i] = (zipf.next() + offset) % KEYS;
    }
    return new Trace("Zipf that shifts", requests, KEYS, cacheEntries);
  }

  /** New keys come all the time, and the newer a key the more popular: as changes in a review. */
  Trace newestFirst(int cacheEntries) {
    Zipf zipf = new Zipf(KEYS, EXPONENT, 1);
    int[] requests = new int[length];
    int newest = KEYS;
    for (int i = 0; i < length; i++) {
      if (i % REQUESTS_PER_NEW_KEY == 0) {
        newest++;
      }
      requests[i] = newest - zipf.next();
    }
    return new Trace("Newest first", requests, newest + 1, cacheEntries);
  }

  /** Round and round through a tenth more keys than fit. */
  Trace loop(int cacheEntries) {
    int keys = cacheEntries + cacheEntries / 10;
    int[] requests = new int[length];
    Arrays.setAll(requests, i -> i % keys);
    return new Trace("Loop", requests, keys, cacheEntries);
  }

  /** What a heap tier of a fifth of the entries lets through of a Zipf trace. */
  Trace secondLevel(int cacheEntries) {
    return behindHeapTier(
        "Zipf, 2nd level", new Trace("", zipfRequests(2 * length), KEYS, cacheEntries));
  }

  /** What a heap tier of a fifth of the entries lets through of {@link #newestFirst}. */
  Trace newestFirstSecondLevel(int cacheEntries) {
    return behindHeapTier("Newest, 2nd level", new Traces(2 * length).newestFirst(cacheEntries));
  }

  private static Trace behindHeapTier(String name, Trace all) {
    Cache<Integer, Boolean> heap =
        Caffeine.newBuilder().maximumSize(all.cacheEntries() / 5).executor(Runnable::run).build();
    int[] missed = new int[all.requests().length];
    int count = 0;
    for (int key : all.requests()) {
      if (heap.getIfPresent(key) == null) {
        heap.put(key, true);
        missed[count++] = key;
      }
    }
    return new Trace(name, Arrays.copyOf(missed, count), all.keyCount(), all.cacheEntries());
  }

  private static int[] zipfRequests(int length) {
    Zipf zipf = new Zipf(KEYS, EXPONENT, 1);
    int[] requests = new int[length];
    Arrays.setAll(requests, i -> zipf.next());
    return requests;
  }
}
