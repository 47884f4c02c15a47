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

import java.util.Arrays;
import java.util.Random;

/** Draws ranks from 0 on, rank i as often as {@code 1 / (i + 1)^exponent}. */
public final class Zipf {
  private final double[] cumulative;

  public Zipf(int ranks, double exponent) {
    cumulative = new double[ranks];
    double sum = 0;
    for (int i = 0; i < ranks; i++) {
      sum += Math.pow(i + 1, -exponent);
      cumulative[i] = sum;
    }
  }

  /** Draws one. */
  public int next(Random random) {
    double drawn = random.nextDouble() * cumulative[cumulative.length - 1];
    int found = Arrays.binarySearch(cumulative, drawn);
    return found >= 0 ? found : Math.min(-found - 1, cumulative.length - 1);
  }
}
