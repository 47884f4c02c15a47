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

import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

/**
 * When a new file is tried after one failed: after a minute, then after twice as long each time. A
 * disk that is gone is let alone in the end; one whose files work for a day is trusted again.
 *
 * <p>For one thread at a time.
 */
final class HealTimes {
  private static final long FIRST_SECONDS = 60;

  /** How often a new file is tried: twelve times take nearly three days. */
  private static final int MOST = 12;

  private static final long TRUSTED_MILLIS = TimeUnit.DAYS.toMillis(1);

  private int tried;

  /** When there was a file last; milliseconds since the epoch. */
  private long since = Long.MAX_VALUE;

  /**
   * There is a file.
   *
   * @param now milliseconds since the epoch
   */
  void opened(long now) {
    since = now;
  }

  /**
   * The file failed, or none could be made.
   *
   * @param now milliseconds since the epoch
   * @return seconds after which a new one should be tried; empty for never
   */
  OptionalLong failed(long now) {
    if (since != Long.MAX_VALUE && now - since >= TRUSTED_MILLIS) {
      tried = 0;
    }
    // What follows up to the next file is a try that failed, however late it was made.
    since = Long.MAX_VALUE;
    return tried < MOST ? OptionalLong.of(FIRST_SECONDS << tried++) : OptionalLong.empty();
  }
}
