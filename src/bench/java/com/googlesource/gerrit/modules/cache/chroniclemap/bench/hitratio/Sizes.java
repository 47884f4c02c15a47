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

import java.util.Random;

/** How many bytes an entry takes. */
enum Sizes {
  LARGE("10 KB each") {
    @Override
    int bytes(int key) {
      return 10 << 10;
    }
  },
  SMALL("200 B each") {
    @Override
    int bytes(int key) {
      return 200;
    }
  },
  /** Log-normal about 2 KB: many small ones, and a few that are 100 times as large. */
  UNEQUAL("100 B to 100 KB") {
    @Override
    int bytes(int key) {
      double drawn = new Random(Hashes.of(key)).nextGaussian();
      return (int) Math.max(100, Math.min(100 << 10, 2048 * Math.exp(1.5 * drawn)));
    }
  };

  private final String title;

  Sizes(String title) {
    this.title = title;
  }

  abstract int bytes(int key);

  String title() {
    return title;
  }

  /** Sizes of all keys below {@code keyCount}. */
  int[] table(int keyCount) {
    int[] table = new int[keyCount];
    for (int key = 0; key < keyCount; key++) {
      table[key] = bytes(key);
    }
    return table;
  }

  /** Bytes that hold about so many entries. */
  long capacity(int entries) {
    long sum = 0;
    for (int key = 0; key < entries; key++) {
      sum += bytes(key);
    }
    return sum;
  }
}
