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

import com.googlesource.gerrit.modules.cache.chroniclemap.counting.Counter;
import com.googlesource.gerrit.modules.cache.chroniclemap.counting.Counters;
import java.util.concurrent.atomic.LongAdder;

/** The counts of a store since it was opened. Any thread may call. */
public final class StoreCounts extends Counters {
  public final Counter hits = counter("hits", "reads that found a value", "reads");
  public final Counter misses = counter("misses", "reads that found none", "reads");
  public final Counter puts = counter("puts", "values written to disk", "entries");
  public final Counter notStored = counter("not_stored", "values without room", "entries");
  public final Counter evicted = counter("evicted", "values evicted to make room", "entries");
  public final Counter expired = counter("expired", "values past their maxAge", "entries");

  /** Removals; a clear counts as one. */
  public final Counter invalidated = counter("invalidated", "keys removed on request", "entries");

  public final Counter flushes = counter("flushes", "removals of all values at once", "flushes");

  /** Entries that a read, a check, a repair or a copy found damaged, each counted once. */
  public final Counter damaged = counter("damaged", "damaged entries found", "entries");

  /** Errors of the disk, whatever followed from them. */
  public final Counter faults = counter("faults", "errors of the disk", "faults");

  /** Returns the counts as they are now. */
  StoreCounts copy() {
    StoreCounts copy = new StoreCounts();
    copy.add(this, LongAdder::sum);
    return copy;
  }
}
