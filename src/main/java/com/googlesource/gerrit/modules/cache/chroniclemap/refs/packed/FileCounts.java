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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.packed;

import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.ToLongFunction;

/** The figures of one {@code packed-refs} file since its first use. Safe for any thread. */
public final class FileCounts {
  /** Lookups of refs. */
  public final LongAdder lookups = new LongAdder();

  /** Reads of the content, for a comparison or because its attributes had changed. */
  public final LongAdder readings = new LongAdder();

  /** Lists that were found in memory or on disk. */
  public final LongAdder found = new LongAdder();

  /** Lists that were made from text. */
  public final LongAdder parses = new LongAdder();

  /** Blocks of these lists that existed already. */
  public final LongAdder reusedBlocks = new LongAdder();

  /** Contents that were left to JGit. */
  public final LongAdder notParsable = new LongAdder();

  /** Lists for which there was no memory. */
  public final LongAdder noMemory = new LongAdder();

  private final List<LongAdder> all =
      List.of(lookups, readings, found, parses, reusedBlocks, notParsable, noMemory);

  /** The time of the last parse in milliseconds since the epoch; 0 if nothing was parsed. */
  public final AtomicLong lastParse = new AtomicLong();

  /** The duration of the last parse. Written here only. */
  public volatile long lastParseNanos;

  /** Counts a list that was made from text; {@code made} of its blocks were new. */
  void parsed(int blocks, int made, long nanos) {
    parses.increment();
    reusedBlocks.add(Math.max(0, blocks - made));
    lastParse.set(System.currentTimeMillis());
    lastParseNanos = nanos;
  }

  /** Adds all counts to others. */
  public void addTo(FileCounts other) {
    addTo(other, LongAdder::sum);
  }

  /** Adds all counts to others, and resets them. */
  public void moveTo(FileCounts other) {
    addTo(other, LongAdder::sumThenReset);
  }

  private void addTo(FileCounts other, ToLongFunction<LongAdder> count) {
    for (int i = 0; i < all.size(); i++) {
      other.all.get(i).add(count.applyAsLong(all.get(i)));
    }
    if (other.lastParse.accumulateAndGet(lastParse.get(), Math::max) == lastParse.get()) {
      other.lastParseNanos = lastParseNanos;
    }
  }
}
