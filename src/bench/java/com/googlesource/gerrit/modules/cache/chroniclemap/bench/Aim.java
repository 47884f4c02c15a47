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

/**
 * What this project wants to reach.
 *
 * @param in where it is to be reached
 * @param measured what is reached, the more the better
 * @param shown what is reached, for people
 */
record Aim<T>(
    String text,
    Predicate<T> in,
    ToDoubleFunction<T> measured,
    double wanted,
    Function<T, String> shown) {
  /** An aim to be so many times as good. */
  static <T> Aim<T> ratio(
      String text, Predicate<T> in, ToDoubleFunction<T> measured, double wanted) {
    return new Aim<>(
        text,
        in,
        measured,
        wanted,
        result -> Numbers.threeDigits(measured.applyAsDouble(result)) + " times");
  }

  /** An aim not to take more than that. */
  static <T> Aim<T> atMost(
      String text, Predicate<T> in, ToDoubleFunction<T> measured, double most, String unit) {
    return new Aim<>(
        text,
        in,
        result -> -measured.applyAsDouble(result),
        -most,
        result ->
            String.format(
                Locale.ROOT, "%s %s", Numbers.threeDigits(measured.applyAsDouble(result)), unit));
  }

  /** Prints each aim of which something was measured, and what of it was not reached. */
  static <T> void print(
      PrintStream out, List<Aim<T>> aims, List<T> results, Function<T, String> name) {
    for (Aim<T> aim : aims) {
      List<T> measured = results.stream().filter(aim.in()).toList();
      List<T> missed =
          measured.stream()
              .filter(result -> aim.measured().applyAsDouble(result) < aim.wanted())
              .toList();
      if (!measured.isEmpty()) {
        out.println(
            String.format(
                Locale.ROOT,
                "Aim, %s: reached in %d of %d",
                aim.text(),
                measured.size() - missed.size(),
                measured.size()));
      }
      for (T result : missed) {
        out.println(
            String.format(
                Locale.ROOT, "  not in %s: %s", name.apply(result), aim.shown().apply(result)));
      }
    }
  }
}
