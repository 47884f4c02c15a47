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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.disk;

import com.google.common.flogger.FluentLogger;
import java.nio.file.Path;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts the faults that a store's file meets, and says each kind of them in the log once an hour
 * at most: a disk that is full or gone fails every call.
 *
 * <p>Safe for any thread.
 */
public final class FaultLog {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();
  private static final long QUIET_NANOS = TimeUnit.HOURS.toNanos(1);

  private final String cache;
  private final LongAdder count = new LongAdder();

  /** When each kind was last said, by the text of its message. */
  private final ConcurrentHashMap<String, Long> said = new ConcurrentHashMap<>();

  public FaultLog(String cache) {
    this.cache = cache;
  }

  /** Faults since the store was opened. */
  public long count() {
    return count.sum();
  }

  /** Counts a fault that somebody else tells of. */
  public void count(Throwable cause) {
    count.increment();
    logger.atFine().withCause(cause).log("Cache %s", cache);
  }

  /** Counts a fault of a file; the message says what could not be done with it. */
  public void warn(Throwable cause, String message, Path file) {
    warn(cause, message, " " + file);
  }

  /** Counts a fault; the message says what follows from it. */
  public void warn(Throwable cause, String message) {
    warn(cause, message, "");
  }

  /** Tells of a fault that was counted; the message says what follows from it. */
  public void tell(Throwable cause, String message) {
    tell(cause, message, "");
  }

  private void warn(Throwable cause, String message, String detail) {
    count.increment();
    tell(cause, message, detail);
  }

  private void tell(Throwable cause, String message, String detail) {
    long now = System.nanoTime();
    boolean[] isNew = new boolean[1];
    said.compute(
        message,
        (text, last) -> {
          isNew[0] = last == null || now - last > QUIET_NANOS;
          return isNew[0] ? Long.valueOf(now) : last;
        });
    if (isNew[0]) {
      logger.atWarning().withCause(cause).log("Cache %s: %s%s", cache, message, detail);
    }
  }
}
