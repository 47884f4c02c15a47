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

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMapBuilder;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Loads Chronicle-Map's classes before they are needed, on a thread of its own.
 *
 * <p>Loading takes a third of a second of one processor, for which a server's start would wait at
 * its first store. On this thread, loading overlaps with the rest of the start.
 */
public final class WarmUp {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();
  private static final AtomicBoolean begun = new AtomicBoolean();

  private WarmUp() {}

  /**
   * Starts to load, once per process. Returns at once and never throws. Does nothing if flags are
   * missing. May be called from any thread.
   */
  public static void begin() {
    if (JvmFlags.missing().isPresent() || !begun.compareAndSet(false, true)) {
      return;
    }
    boolean unused = StoreThreads.start("cache-chroniclemap-warm-up", WarmUp::run);
  }

  private static void run() {
    try {
      RecordMapBuilder.warmUp();
    } catch (RuntimeException | Error e) {
      // If something is wrong, the stores will report it.
      logger.atFine().withCause(e).log("warm-up failed");
    }
  }
}
