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

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import com.google.common.flogger.FluentLogger;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;

/**
 * The log of the faults of a store's file. Counts all faults but logs each kind at most once an
 * hour, since on a disk that is full or gone every call fails.
 *
 * <p>Safe for any thread.
 */
public final class FaultLog {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();
  private final String cache;
  private final LongAdder count;

  /** The kinds that were logged within the last hour, by the texts of their messages. */
  private final Cache<String, Boolean> said =
      CacheBuilder.newBuilder().expireAfterWrite(Duration.ofHours(1)).build();

  /**
   * Makes a log.
   *
   * @param count counts the faults
   */
  public FaultLog(String cache, LongAdder count) {
    this.cache = cache;
    this.count = count;
  }

  /** Counts a fault that the caller reports in another way. */
  public void count(Throwable cause) {
    count.increment();
    logger.atFine().withCause(cause).log("Cache %s", cache);
  }

  /**
   * Counts and logs a fault.
   *
   * @param message says what it results in, or which operation on the file failed
   * @param file one at most, with which the message ends; it does not tell messages apart
   */
  public void warn(Throwable cause, String message, Path... file) {
    count.increment();
    tell(cause, message, file);
  }

  /** Like {@link #warn}, for a fault that was counted before. */
  public void tell(Throwable cause, String message, Path... file) {
    if (said.asMap().putIfAbsent(message, true) == null) {
      String end = file.length == 0 ? "" : " " + file[0];
      logger.atWarning().withCause(cause).log("Cache %s: %s%s", cache, message, end);
    }
  }
}
