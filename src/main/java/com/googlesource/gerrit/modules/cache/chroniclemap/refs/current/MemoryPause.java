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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.current;

import com.google.common.flogger.FluentLogger;
import java.io.File;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * A pause in which JGit answers for a repository, after there was no memory for its list. Each
 * further try would collect the whole heap several times before it fails. The first pause takes a
 * minute, each following one twice as long, up to an hour.
 *
 * <p>Safe for any thread.
 */
final class MemoryPause {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  static final long FIRST_NANOS = TimeUnit.MINUTES.toNanos(1);
  static final long MAX_NANOS = TimeUnit.HOURS.toNanos(1);

  private final LongSupplier nanoTime;

  /** The length of the last pause; 0 if a list was made since. */
  private volatile long length;

  private volatile long end;

  MemoryPause(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
  }

  /** Whether JGit has to answer. */
  boolean isOn() {
    return length != 0 && nanoTime.getAsLong() - end < 0;
  }

  /** Begins a pause, as there was no memory. */
  synchronized void begin(File file, OutOfMemoryError cause) {
    boolean first = length == 0;
    long next = first ? FIRST_NANOS : Math.min(MAX_NANOS, 2 * length);
    end = nanoTime.getAsLong() + next;
    length = next;
    if (first) {
      logger.atSevere().withCause(cause).log(
          "JGit answers for %s, first for a minute and longer each time, as there is no memory for its"
              + " parsed ref list: %s. (-XX:MaxDirectMemorySize must be larger than"
              + " cache.packed_refs.memoryLimit)",
          file, cause.getMessage());
    }
  }

  /** Resets the pause, as there was memory. */
  void over() {
    if (length != 0) {
      length = 0;
    }
  }
}
