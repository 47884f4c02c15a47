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
 * Times the loads of a cache for Gerrit's traces and its performance log. A load has the name that
 * it has with Gerrit's own disk caches, so that what reads those logs goes on working.
 *
 * <p>A timer describes its key, which may cost more than a read from disk. So there is none unless
 * the thread is traced or its performance is logged, and whoever asks must take null for one.
 */
final class CacheTrace {
  static final String LOAD = "Loading value from cache";
  static final String LOAD_ALL = "Loading multiple values from cache";
  static final String READ = "Reading value from disk";
  static final String STORE = "Storing value on disk";

  /** Says that performance is logged: who can tell is asked for a record only then. */
  private static final class PerformanceIsLogged extends RuntimeException {
    private static final long serialVersionUID = 1L;

    PerformanceIsLogged() {
      // Without a stack, which would be what it costs.
      super(null, null, false, false);
    }
  }

  private static final Provider<PerformanceLogRecord> QUESTION =
      () -> {
        throw new PerformanceIsLogged();
      };

  private final String cacheName;

  CacheTrace(String cacheName) {
    this.cacheName = cacheName;
  }

  /** Of all that it takes to answer for a key that the heap tier does not have. */
  @Nullable
  TraceTimer loading(Object key) {
    if (isOn()) {
      return TraceContext.newTimer(LOAD, metadata().cacheKey(key.toString()).build());
    }
    // As a timer does: what becomes of a cancelled request must not hang on whether it is traced.
    RequestStateContext.abortIfCancelled();
    return null;
  }

  /** Of all that it takes to answer for many keys. */
  @Nullable
  TraceTimer loadingAll() {
    if (isOn()) {
      return TraceContext.newTimer(LOAD_ALL, metadata().build());
    }
    RequestStateContext.abortIfCancelled();
    return null;
  }

  /** Of the part of a load that reads from disk. */
  @Nullable
  TraceTimer reading() {
    return isOn() ? TraceContext.newTimer(READ, metadata().build()) : null;
  }

  /** Of the part of a load that puts what was computed to disk. */
  @Nullable
  TraceTimer storing() {
    return isOn() ? TraceContext.newTimer(STORE, metadata().build()) : null;
  }

  private Metadata.Builder metadata() {
    return Metadata.builder().cacheName(cacheName);
  }

  private static boolean isOn() {
    if (TraceContext.isTracing()) {
      return true;
    }
    try {
      LoggingContext.getInstance().addPerformanceLogRecord(QUESTION);
      return false;
    } catch (PerformanceIsLogged e) {
      return true;
    }
  }
}
