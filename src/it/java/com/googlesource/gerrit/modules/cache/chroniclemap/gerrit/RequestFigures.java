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

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * What came of one kind of request.
 *
 * @param millis of each request that was acknowledged, sorted
 * @param refused how many were not
 * @param seconds that all together took
 * @param cpuSeconds of the daemon meanwhile
 * @param lastRefusal what was said to the last one refused; empty if there was none
 */
record RequestFigures(
    List<Double> millis, int refused, double seconds, double cpuSeconds, String lastRefusal) {
  /** Sums up users who asked at the same time. */
  static RequestFigures of(List<RequestFigures> users, double seconds, double cpuSeconds) {
    RequestFigures all = new RequestFigures(List.of(), 0, 0, 0, "");
    for (RequestFigures one : users) {
      all = all.plus(one);
    }
    return new RequestFigures(all.millis, all.refused, seconds, cpuSeconds, all.lastRefusal);
  }

  /** Sums up what was asked one after the other. */
  RequestFigures plus(RequestFigures other) {
    List<Double> both = new ArrayList<>(millis);
    both.addAll(other.millis);
    Collections.sort(both);
    return new RequestFigures(
        both,
        refused + other.refused,
        seconds + other.seconds,
        cpuSeconds + other.cpuSeconds,
        lastRefusal.isEmpty() ? other.lastRefusal : lastRefusal);
  }

  double perSecond() {
    return millis.size() / seconds;
  }

  double percentile(double percent) {
    if (millis.isEmpty()) {
      return Double.NaN;
    }
    return millis.get(Math.max(0, (int) Math.ceil(millis.size() * percent / 100) - 1));
  }

  double cpuMillis() {
    return cpuSeconds * 1000 / Math.max(1, millis.size() + refused);
  }
}
