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

/**
 * How often a key was asked for, about: a Count-Min sketch of counters of 4 bits. The counters of a
 * key are in one block of 64 bytes, so that a look at them touches one line of the processor's
 * cache. Only the smallest of a key's counters are raised, which keeps rare keys from looking
 * frequent.
 */
final class Sketch {
  private static final int BLOCK_BYTES = 64;
  private static final int MOST = 15;

  private final byte[] counters;
  private final int blocks;
  private final int rows;

  /**
   * Makes a sketch of zeros.
   *
   * @param bytes about its size
   * @param rows counters of a key
   */
  Sketch(int bytes, int rows) {
    this.blocks = Math.max(1, bytes / BLOCK_BYTES);
    this.counters = new byte[blocks * BLOCK_BYTES];
    this.rows = rows;
  }

  int frequency(long hash) {
    int block = block(hash);
    int smallest = MOST;
    for (int row = 0; row < rows; row++) {
      smallest = Math.min(smallest, counter(block, index(hash, row)));
    }
    return smallest;
  }

  void increment(long hash) {
    int smallest = frequency(hash);
    if (smallest == MOST) {
      return;
    }
    int block = block(hash);
    for (int row = 0; row < rows; row++) {
      int index = index(hash, row);
      if (counter(block, index) == smallest) {
        counters[block + (index >> 1)] += (byte) ((index & 1) == 0 ? 1 : 16);
      }
    }
  }

  /** Halves all counters if their mean is above a limit. */
  void age(double mostMean) {
    while (mean() > mostMean) {
      for (int i = 0; i < counters.length; i++) {
        counters[i] = (byte) ((counters[i] >> 1) & 0x77);
      }
    }
  }

  private double mean() {
    long sum = 0;
    for (byte two : counters) {
      sum += (two & 15) + ((two >> 4) & 15);
    }
    return sum / (2.0 * counters.length);
  }

  // The segment is chosen by the upper bits of the hash, so the block is chosen by the lower.
  private int block(long hash) {
    return (int) ((hash & 0xFFFFFFL) % blocks) * BLOCK_BYTES;
  }

  private static int index(long hash, int row) {
    return (int) (hash >>> (24 + 7 * row)) & 127;
  }

  private int counter(int block, int index) {
    int two = counters[block + (index >> 1)];
    return (index & 1) == 0 ? two & 15 : (two >> 4) & 15;
  }
}
