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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cancellation.RequestStateContext;
import com.google.gerrit.server.logging.LoggingContext;
import com.google.gerrit.server.logging.Metadata;
import com.google.gerrit.server.logging.PerformanceLogRecord;
import com.google.gerrit.server.logging.TraceContext;
import com.google.gerrit.server.logging.TraceContext.TraceTimer;
import com.google.inject.Provider;

/**
 * The timers of a cache's loads, for Gerrit's traces and its performance log. Loads have the names
 * that Gerrit's own disk caches use, so that tools which read these logs keep working.
 *
 * <p>A timer describes its key, which may cost more than a read from disk. Therefore each method
 * returns null unless the thread is traced or its performance is logged.
 */
record CacheTrace(String cacheName) {
  static final String LOAD = "Loading value from cache";
  static final String LOAD_ALL = "Loading multiple values from cache";

  /** Gerrit's logs ask for a record only if performance is logged. */
  private static final class PerformanceIsLogged extends RuntimeException {
    private static final long serialVersionUID = 1L;

    PerformanceIsLogged() {
      // Without a stack trace, which would be the only cost.
      super(null, null, false, false);
    }
  }

  private static final Provider<PerformanceLogRecord> RECORD =
      () -> {
        throw new PerformanceIsLogged();
      };

  /** Times the whole load of a key, or of many if it is null. */
  @Nullable
  TraceTimer loading(@Nullable Object key) {
    if (!TraceContext.isTracing() && !isPerformanceLogged()) {
      // A timer does the same, so that tracing does not change when a request is cancelled.
      RequestStateContext.abortIfCancelled();
      return null;
    }
    Metadata.Builder metadata = Metadata.builder().cacheName(cacheName);
    return key == null
        ? TraceContext.newTimer(LOAD_ALL, metadata.build())
        : TraceContext.newTimer(LOAD, metadata.cacheKey(key.toString()).build());
  }

  private static boolean isPerformanceLogged() {
    try {
      LoggingContext.getInstance().addPerformanceLogRecord(RECORD);
      return false;
    } catch (PerformanceIsLogged e) {
      return true;
    }
  }
}
