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

/**
 * Tells which computed values are poor: Gerrit gave up after a time, and another server might have
 * made it. Such values are kept by the server that computed them, and not shared.
 */
final class PoorValues {
  private PoorValues() {}

  /**
   * Whether a value is poor.
   *
   * @param nanos how long it took to compute
   * @param diffTimeoutNanos after which Gerrit gives up the diff of a file. Such a diff may be a
   *     part of a value that does not tell
   */
  static boolean isPoor(Object value, long nanos, long diffTimeoutNanos) {
    if (value instanceof FileDiffOutput diff) {
      return diff.isNegative() || diff.isEmpty() || nanos >= diffTimeoutNanos;
    }
    if (value instanceof IntraLineDiff diff) {
      return diff.getStatus() == IntraLineDiff.Status.TIMEOUT
          || diff.getStatus() == IntraLineDiff.Status.ERROR;
    }
    return false;
  }
}
