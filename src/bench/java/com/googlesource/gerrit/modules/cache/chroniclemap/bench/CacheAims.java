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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import java.io.PrintStream;
import java.util.List;

/** What the caches are to reach, and what of it a run did not. */
final class CacheAims {
  private static final int SMALL = 200;
  private static final int MIDDLE = 10 << 10;
  private static final int MANY_THREADS = 8;
  private static final int PROCESSORS = Runtime.getRuntime().availableProcessors();

  private static final List<Aim<Comparison<CacheCase, CachePeer>>> ALL =
      List.of(
          Aim.ratio(
              "gets per second: 10 times H2's",
              result -> isBeside(CachePeer.H2, CacheOperation.GET, result),
              Comparison::throughputRatio,
              10),
          Aim.ratio(
              "mixed 95/5, p99: a hundredth of H2's",
              result -> isBeside(CachePeer.H2, CacheOperation.MIXED, result),
              result -> result.latencyRatio(99),
              100),
          Aim.ratio(
              "gets of 200 B per second: LMDB's in 0.7 of its time",
              result -> isBesideLmdb(CacheOperation.GET, SMALL, result),
              Comparison::throughputRatio,
              1 / 0.7),
          Aim.ratio(
              "gets of 10 KB per second: LMDB's",
              result -> isBesideLmdb(CacheOperation.GET, MIDDLE, result),
              Comparison::throughputRatio,
              1),
          Aim.ratio(
              "puts of 10 KB per second: LMDB's",
              result -> isBesideLmdb(CacheOperation.PUT, MIDDLE, result),
              Comparison::throughputRatio,
              1),
          Aim.ratio(
              "gets and puts of 100 KB and 5 MB per second: LMDB's in 1.5 times its time",
              result -> result.peer() == CachePeer.LMDB && result.scenario().valueBytes() > MIDDLE,
              Comparison::throughputRatio,
              1 / 1.5),
          Aim.ratio(
              "mixed 95/5 by 8 threads, calls per second: LMDB's",
              result ->
                  isBeside(CachePeer.LMDB, CacheOperation.MIXED, result)
                      && result.scenario().threads() == MANY_THREADS,
              Comparison::throughputRatio,
              1),
          // Beside one peer, so that it is not said for each. With more threads than processors,
          // this
          // would be how long a thread waits for its turn to run.
          Aim.atMost(
              "mixed 95/5 by no more threads than processors, p99.9: less than 1 ms",
              result ->
                  isBeside(CachePeer.LMDB, CacheOperation.MIXED, result)
                      && result.scenario().threads() <= PROCESSORS,
              result -> result.ours().micros(99.9) / 1000,
              1,
              "ms"));

  private CacheAims() {}

  private static boolean isBeside(
      CachePeer peer, CacheOperation operation, Comparison<CacheCase, CachePeer> result) {
    return result.peer() == peer && result.scenario().operation() == operation;
  }

  private static boolean isBesideLmdb(
      CacheOperation operation, int valueBytes, Comparison<CacheCase, CachePeer> result) {
    return isBeside(CachePeer.LMDB, operation, result)
        && result.scenario().valueBytes() == valueBytes;
  }

  static void print(PrintStream out, List<Comparison<CacheCase, CachePeer>> results) {
    Aim.print(out, ALL, results, result -> result.scenario().toString());
  }
}
