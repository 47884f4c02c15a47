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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** A moment by which something must have happened. */
final class Deadline {
  private static final Duration TICK = Duration.ofMillis(20);

  private final Duration limit;
  private final long start = System.nanoTime();

  private Deadline(Duration limit) {
    this.limit = limit;
  }

  static Deadline in(Duration limit) {
    return new Deadline(limit);
  }

  /** Looks again and again until the condition holds; throws once the time is over. */
  void await(BooleanSupplier condition, String what) {
    while (!condition.getAsBoolean()) {
      if (elapsed().compareTo(limit) > 0) {
        throw new IllegalStateException("not in " + limit.toSeconds() + " s: " + what);
      }
      LockSupport.parkNanos(TICK.toNanos());
    }
  }

  Duration elapsed() {
    return Duration.ofNanos(System.nanoTime() - start);
  }
}
