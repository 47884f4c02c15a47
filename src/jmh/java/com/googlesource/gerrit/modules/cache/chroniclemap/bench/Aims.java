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
import java.util.function.ToDoubleFunction;

/** What this project wants to reach, and what of it a run did not. */
final class Aims {
  private static final double GET_THROUGHPUT = 10;
  private static final double MIXED_P99 = 100;

  private Aims() {}

  static void print(PrintStream out, List<Comparison> results) {
    print(
        out,
        "gets per second: 10 times H2's",
        results,
        Operation.GET,
        Comparison::throughputRatio,
        GET_THROUGHPUT);
    print(
        out,
        "mixed 95/5, p99: a hundredth of H2's",
        results,
        Operation.MIXED,
        result -> result.latencyRatio(99),
        MIXED_P99);
  }

  private static void print(
      PrintStream out,
      String aim,
      List<Comparison> results,
      Operation operation,
      ToDoubleFunction<Comparison> ratio,
      double wanted) {
    int count = 0;
    StringBuilder missed = new StringBuilder();
    for (Comparison result : results) {
      if (result.scenario().operation() == operation) {
        count++;
        double reached = ratio.applyAsDouble(result);
        if (reached < wanted) {
          missed
              .append("\n  not in ")
              .append(result.scenario())
              .append(": ")
              .append(ResultTable.Numbers.threeDigits(reached))
              .append(" times");
        }
      }
    }
    long missedCount = missed.chars().filter(c -> c == '\n').count();
    out.println(
        "Aim, %s: reached in %d of %d%s".formatted(aim, count - missedCount, count, missed));
  }
}
