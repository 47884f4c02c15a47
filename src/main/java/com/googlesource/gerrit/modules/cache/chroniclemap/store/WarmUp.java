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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMapBuilder;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Loads Chronicle-Map's classes before anyone needs them, on a thread of its own.
 *
 * <p>That takes a third of a second of one processor, during which a server's start would wait for
 * its first store. Done while the server still prepares other things, nobody waits.
 */
public final class WarmUp {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();
  private static final AtomicBoolean begun = new AtomicBoolean();

  private WarmUp() {}

  /**
   * Begins, once in the life of the process. Returns at once; may be called from any thread, and
   * never throws. Does nothing where flags are missing.
   */
  public static void begin() {
    if (JvmFlags.missing().isPresent() || !begun.compareAndSet(false, true)) {
      return;
    }
    Thread thread = new Thread(WarmUp::run, "cache-chroniclemap-warm-up");
    thread.setDaemon(true);
    thread.start();
  }

  private static void run() {
    try {
      RecordMapBuilder.warmUp();
    } catch (DamagedEntryException | RuntimeException | Error e) {
      // The stores will say what is wrong, if it is.
      logger.atFine().withCause(e).log("warm-up failed");
    }
  }
}
