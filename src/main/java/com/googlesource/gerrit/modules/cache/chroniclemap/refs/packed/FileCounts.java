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

import java.util.concurrent.atomic.LongAdder;

/** What became of one packed-refs file since it was first asked for. Safe for any thread. */
public final class FileCounts {
  /** Questions for refs. */
  public final LongAdder lookups = new LongAdder();

  /** Times the content was read, to compare it or as its attributes had changed. */
  public final LongAdder readings = new LongAdder();

  /** Lists that were in memory or on disk already. */
  public final LongAdder found = new LongAdder();

  /** Contents that JGit answers for. */
  public final LongAdder notParsable = new LongAdder();

  /** Times there was no memory for the list. */
  public final LongAdder noMemory = new LongAdder();

  private long parses;
  private long reusedBlocks;
  private long lastParse;
  private long lastParseNanos;

  /** Counts a list that was made from text; {@code made} of its blocks were new. */
  synchronized void parsed(int blocks, int made, long nanos) {
    parses++;
    reusedBlocks += Math.max(0, blocks - made);
    lastParse = System.currentTimeMillis();
    lastParseNanos = nanos;
  }

  /** Adds what was counted here to another one, and begins anew. */
  public void moveTo(FileCounts other) {
    other.lookups.add(lookups.sumThenReset());
    other.readings.add(readings.sumThenReset());
    other.found.add(found.sumThenReset());
    other.notParsable.add(notParsable.sumThenReset());
    other.noMemory.add(noMemory.sumThenReset());
    long parsed;
    long reused;
    long last;
    synchronized (this) {
      parsed = parses;
      reused = reusedBlocks;
      last = lastParse;
      parses = 0;
      reusedBlocks = 0;
    }
    other.addParses(parsed, reused, last);
  }

  private synchronized void addParses(long parsed, long reused, long last) {
    parses += parsed;
    reusedBlocks += reused;
    lastParse = Math.max(lastParse, last);
  }

  public synchronized long parses() {
    return parses;
  }

  public synchronized long reusedBlocks() {
    return reusedBlocks;
  }

  /** Milliseconds since the epoch; 0 if nothing was parsed. */
  public synchronized long lastParse() {
    return lastParse;
  }

  public synchronized long lastParseNanos() {
    return lastParseNanos;
  }
}
