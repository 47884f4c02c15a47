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

import com.google.gerrit.server.patch.IntraLineDiff;
import com.google.gerrit.server.patch.filediff.FileDiffOutput;
import com.google.gerrit.server.patch.gitfilediff.GitFileDiff;
import java.util.concurrent.TimeUnit;

/**
 * Tells which computed values are poor: Gerrit gave up after a time, and another server might have
 * made it. Such values are kept by the server that computed them, and not shared.
 *
 * <p>Any thread may call.
 */
final class PoorValues {
  /** The cache whose values those of gerrit_file_diff are made from, on the thread that loads. */
  static final String PARTS = "git_file_diff";

  /** Values are shared some time after they were made. */
  private static final long LATER_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** When a thread last met a part that Gerrit had given up. */
  private static final ThreadLocal<Long> MET = new ThreadLocal<>();

  /** Whether that cache has a disk tier, which tells of its values. */
  private static volatile boolean isWatched;

  private PoorValues() {}

  /** Notes that {@link #meet} will be called. */
  static void watch() {
    isWatched = true;
  }

  /**
   * Notes what a caller of the cache {@link #PARTS} gets. A diff that is made of a part that was
   * given up may not tell: it shows what came with a rebase as changes.
   */
  static void meet(Object part) {
    if (part instanceof GitFileDiff diff && diff.isNegative()) {
      MET.set(System.nanoTime());
    }
  }

  /**
   * Whether a value is poor that this thread has computed.
   *
   * @param nanos how long it took to compute
   */
  static boolean isPoor(Object value, long nanos) {
    if (value instanceof FileDiffOutput diff) {
      Long met = MET.get();
      return diff.isNegative()
          || diff.isEmpty()
          || !isWatched
          || (met != null && System.nanoTime() - met < nanos + LATER_NANOS);
    }
    if (value instanceof IntraLineDiff diff) {
      return diff.getStatus() == IntraLineDiff.Status.TIMEOUT
          || diff.getStatus() == IntraLineDiff.Status.ERROR;
    }
    return false;
  }
}
