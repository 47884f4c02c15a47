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
import java.util.Locale;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;

/** What this project wants to reach, and what of it a run did not. */
final class Aims {
  private static final int MANY_THREADS = 8;

  /**
   * An aim.
   *
   * @param in where it is to be reached
   * @param measured what is reached, the more the better
   * @param shown what is reached, for people
   */
  private record Aim(
      String text,
      Predicate<Comparison> in,
      ToDoubleFunction<Comparison> measured,
      double wanted,
      Function<Comparison, String> shown) {}

  private static final List<Aim> ALL =
      List.of(
          ratio(
              "gets per second: 10 times H2's",
              result -> isBeside(Peer.H2, Operation.GET, result),
              Comparison::throughputRatio,
              10),
          ratio(
              "mixed 95/5, p99: a hundredth of H2's",
              result -> isBeside(Peer.H2, Operation.MIXED, result),
              result -> result.latencyRatio(99),
              100),
          ratio(
              "gets per second: LMDB's",
              result -> isBeside(Peer.LMDB, Operation.GET, result),
              Comparison::throughputRatio,
              1),
          ratio(
              "mixed 95/5 by 8 threads, calls per second: LMDB's",
              result ->
                  isBeside(Peer.LMDB, Operation.MIXED, result)
                      && result.scenario().threads() == MANY_THREADS,
              Comparison::throughputRatio,
              1),
          // Beside one peer, so that it is not said for each.
          new Aim(
              "mixed 95/5, p99.9: less than 1 ms",
              result -> isBeside(Peer.LMDB, Operation.MIXED, result),
              result -> -result.ours().micros(99.9),
              -1000,
              result -> String.format(Locale.ROOT, "%.1f ms", result.ours().micros(99.9) / 1000)));

  private Aims() {}

  private static Aim ratio(
      String text, Predicate<Comparison> in, ToDoubleFunction<Comparison> measured, double wanted) {
    return new Aim(
        text,
        in,
        measured,
        wanted,
        result -> ResultTable.Numbers.threeDigits(measured.applyAsDouble(result)) + " times");
  }

  private static boolean isBeside(Peer peer, Operation operation, Comparison result) {
    return result.peer() == peer && result.scenario().operation() == operation;
  }

  /** Prints each aim of which something was measured. */
  static void print(PrintStream out, List<Comparison> results) {
    for (Aim aim : ALL) {
      List<Comparison> measured = results.stream().filter(aim.in()).toList();
      List<Comparison> missed =
          measured.stream()
              .filter(result -> aim.measured().applyAsDouble(result) < aim.wanted())
              .toList();
      if (!measured.isEmpty()) {
        out.println(
            "Aim, %s: reached in %d of %d"
                .formatted(aim.text(), measured.size() - missed.size(), measured.size()));
      }
      for (Comparison result : missed) {
        out.println("  not in %s: %s".formatted(result.scenario(), aim.shown().apply(result)));
      }
    }
  }
}
