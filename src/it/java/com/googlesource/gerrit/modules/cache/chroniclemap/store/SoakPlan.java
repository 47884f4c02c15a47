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

import com.google.common.base.Splitter;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;

/**
 * The bounds of some stores.
 *
 * @param keys of each store
 * @param limits of the stores
 * @param ages of the stores, milliseconds; 0 if there is none
 * @param kinds of the stores
 */
record SoakPlan(int keys, List<Long> limits, List<Long> ages, List<OldValues> kinds) {
  private static final int MIN_LOG = 16;
  private static final int MAX_LOG = 24;

  /** Of stores whose values may all be changed. */
  private static SoakPlan of(int keys, List<Long> limits, List<Long> ages) {
    return new SoakPlan(keys, limits, ages, Collections.nCopies(limits.size(), OldValues.MUTABLE));
  }

  /** For stores that are to be made. */
  static SoakPlan first(Random random) {
    int stores = 2 + random.nextInt(SoakModel.STORES - 1);
    List<Long> limits = new ArrayList<>();
    List<Long> ages = new ArrayList<>();
    for (int i = 0; i < stores; i++) {
      limits.add(limit(random));
      ages.add(i == stores - 1 ? 0 : age(random));
    }
    return of(32 << random.nextInt(5), limits, ages);
  }

  /** For the next start of the same stores: some bounds are other ones. */
  SoakPlan next(Random random) {
    if (random.nextBoolean()) {
      return this;
    }
    List<Long> newLimits = new ArrayList<>();
    List<Long> newAges = new ArrayList<>();
    for (int i = 0; i < limits.size(); i++) {
      newLimits.add(random.nextBoolean() ? limits.get(i) : Long.valueOf(limit(random)));
      boolean same = isLoadedOnly(i) || random.nextBoolean();
      newAges.add(same ? ages.get(i) : Long.valueOf(age(random)));
    }
    return of(keys, newLimits, newAges);
  }

  private static long limit(Random random) {
    double log = MIN_LOG + random.nextDouble() * (MAX_LOG - MIN_LOG);
    return Math.max(1L << MIN_LOG, (long) Math.pow(2, log));
  }

  private static long age(Random random) {
    return random.nextInt(3) == 0 ? 500 + random.nextInt(3000) : 0;
  }

  int stores() {
    return limits.size();
  }

  /**
   * Whether nothing is ever put in place of a value or removed, as with caches whose keys say what
   * the values are: such a store is kept when the machine stops. Nor do its values get too old:
   * what is loaded then is put in their place.
   */
  boolean isLoadedOnly(int store) {
    return store == stores() - 1;
  }

  StoreSettings settings(int store) {
    long age = ages.get(store);
    return new StoreSettings(
        "soak" + store,
        1,
        limits.get(store),
        age == 0 ? Optional.empty() : Optional.of(Duration.ofMillis(age)),
        kinds.get(store));
  }

  /** As one word, which {@link #parse} reads. */
  @Override
  public String toString() {
    StringBuilder out = new StringBuilder(Integer.toString(keys));
    for (int i = 0; i < limits.size(); i++) {
      out.append(',').append(limits.get(i)).append(',').append(ages.get(i));
    }
    return out.toString();
  }

  static SoakPlan parse(String text) {
    List<Long> numbers = Splitter.on(',').splitToStream(text).map(Long::valueOf).toList();
    List<Long> limits = new ArrayList<>();
    List<Long> ages = new ArrayList<>();
    for (int i = 1; i < numbers.size(); i += 2) {
      limits.add(numbers.get(i));
      ages.add(numbers.get(i + 1));
    }
    return of(numbers.get(0).intValue(), limits, ages);
  }
}
