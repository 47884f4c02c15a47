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

package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.Locale;

/** Formats of figures for people, in few characters. */
final class Units {
  private static final String[] BYTES = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  private static final String[] COUNTS = {"", "k", "M", "G", "T", "P", "E"};

  private static final String[] SECONDS = {"ns", "µs", "ms", "s"};
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("HH:mm:ss", Locale.ROOT).withZone(ZoneId.systemDefault());
  private static final DateTimeFormatter DAY =
      DateTimeFormatter.ofPattern("d MMM", Locale.ROOT).withZone(ZoneId.systemDefault());

  private Units() {}

  /** Formats a size, such as {@code 1.5 MiB}, in at most 7 characters. */
  static String bytes(long bytes) {
    return scaled(bytes, 1024, BYTES, " ");
  }

  /** Formats a count: exactly up to 99,999, larger ones as {@code 1.5M}. */
  static String count(long count) {
    return count < 100_000 ? Long.toString(count) : scaled(count, 1000, COUNTS, "");
  }

  /** Formats a count with its noun, such as {@code 1 cache} or {@code 3 entries}. */
  static String counted(long count, String one, String many) {
    return count + " " + (count == 1 ? one : many);
  }

  /** Returns a quotient with one decimal. */
  static double tenths(long part, long whole) {
    return Math.round(10.0 * part / whole) / 10.0;
  }

  /** Formats a duration, such as {@code 1.5 s}. */
  static String millis(long millis) {
    if (millis < 1000) {
      return millis + " ms";
    }
    return millis < 100_000
        ? String.format(Locale.ROOT, "%.1f s", millis / 1000.0)
        : count(millis / 1000) + " s";
  }

  /** Formats a short duration, such as {@code 1.5 µs}. */
  static String nanos(long nanos) {
    return scaled(nanos, 1000, SECONDS, " ");
  }

  /** Formats a recent time as the time of day, any other time as the day. */
  static String time(long millis) {
    Instant then = Instant.ofEpochMilli(millis);
    return (then.isAfter(Instant.now().minus(12, ChronoUnit.HOURS)) ? TIME : DAY).format(then);
  }

  /** Formats a share in percent; empty if the whole is 0. */
  static String percent(long part, long whole) {
    return whole == 0 ? "" : (long) (100.0 * part / whole) + "%";
  }

  private static String scaled(long value, int step, String[] units, String space) {
    double scaled = value;
    int unit = 0;
    // At most three digits are printed, so 1023 KiB are 1.0 MiB.
    while (scaled >= 999.5 && unit < units.length - 1) {
      scaled /= step;
      unit++;
    }
    String format = unit == 0 || scaled >= 9.95 ? "%.0f%s%s" : "%.1f%s%s";
    return String.format(Locale.ROOT, format, scaled, space, units[unit]);
  }
}
