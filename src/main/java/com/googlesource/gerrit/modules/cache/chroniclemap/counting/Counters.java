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

package com.googlesource.gerrit.modules.cache.chroniclemap.counting;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.ToLongFunction;

/**
 * The counts of one subject, such as a store. Each is a field of a subclass that is made by {@link
 * #counter}, and is thereby a metric, a figure in JSON, and in the sums of several subjects. Any
 * thread may call.
 */
public abstract class Counters {
  private final List<Counter> all = new ArrayList<>();

  /** Adds a count that starts at 0. Only subclasses call it, for their fields. */
  protected final Counter counter(String name, String meaning, String unit) {
    Counter counter = new Counter(name, meaning, unit);
    all.add(counter);
    return counter;
  }

  /** All counts, in the same order for each subject of a kind. */
  public final List<Counter> all() {
    return Collections.unmodifiableList(all);
  }

  /** Adds the counts of another subject of the same kind, each as a function reads it. */
  protected final void add(Counters other, ToLongFunction<LongAdder> read) {
    for (int i = 0; i < all.size(); i++) {
      all.get(i).add(read.applyAsLong(other.all.get(i)));
    }
  }
}
