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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import com.googlesource.gerrit.modules.cache.chroniclemap.counting.Counter;
import com.googlesource.gerrit.modules.cache.chroniclemap.counting.Counters;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.ToLongFunction;

/** The figures of one {@code packed-refs} file since its first use. Safe for any thread. */
public final class FileCounts extends Counters {
  public final Counter lookups = counter("lookups", "lookups of refs", "lookups");

  /** Reads of the content, for a comparison or because its attributes had changed. */
  public final Counter readings = counter("checks", "reads of a packed-refs file", "readings");

  public final Counter found = counter("found", "lists found in memory or on disk", "lists");
  public final Counter parses = counter("parses", "lists made from text", "lists");
  public final Counter reusedBlocks =
      counter("reused_blocks", "blocks that a parse reused", "blocks");
  public final Counter notParsable =
      counter("left_to_jgit", "files that only JGit can read", "lists");
  public final Counter noMemory = counter("no_memory", "lists without memory", "lists");

  /** The time of the last parse in milliseconds since the epoch; 0 if nothing was parsed. */
  public final AtomicLong lastParse = new AtomicLong();

  /** The duration of the last parse. Written here only. */
  public volatile long lastParseNanos;

  /** Counts a list of which some blocks were made from text. */
  void parsed(int blocks, int parsedBlocks, long nanos) {
    parses.increment();
    reusedBlocks.add(blocks - parsedBlocks);
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
    other.add(this, count);
    if (other.lastParse.accumulateAndGet(lastParse.get(), Math::max) == lastParse.get()) {
      other.lastParseNanos = lastParseNanos;
    }
  }
}
