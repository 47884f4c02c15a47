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

import com.google.gerrit.common.Nullable;
import java.io.PrintWriter;
import java.util.concurrent.TimeUnit;

/**
 * Shows how far long work is: on a terminal by one line that is written again and again, elsewhere
 * by a line every few seconds. For one thread.
 */
final class ProgressDisplay {
  private static final long LINE_NANOS = TimeUnit.SECONDS.toNanos(5);
  private static final int MIN_BAR = 10;
  private static final int MAX_BAR = 40;

  @Nullable private final PrintWriter out;
  private final boolean terminal;
  private final int columns;
  private String cache = "";
  private String place = "";
  private long lastLine;

  /** How many columns of the terminal's line are written. */
  private int written;

  ProgressDisplay(@Nullable PrintWriter out, boolean terminal, int columns, long now) {
    this.out = out;
    this.terminal = terminal;
    this.columns = columns;
    this.lastLine = now;
  }

  /** Shows nothing. */
  static ProgressDisplay none() {
    return new ProgressDisplay(null, false, 0, 0);
  }

  /** From here on the work is about this cache, the index-th of so many. */
  void begin(String name, int index, int of) {
    cache = name;
    place = index + "/" + of;
    if (out != null && terminal) {
      rewrite(line(0, 0));
    }
  }

  /**
   * Shows how many of all steps are done.
   *
   * @param now a time of {@link System#nanoTime}
   */
  void show(int done, int total, long now) {
    if (out == null) {
      return;
    }
    if (terminal) {
      rewrite(line(done, total));
    } else if (now - lastLine >= LINE_NANOS) {
      lastLine = now;
      out.printf("%s %s: %d%%%n", place, cache, percent(done, total));
      out.flush();
    }
  }

  private String line(int done, int total) {
    String percent = String.format(" %3d%%", percent(done, total));
    // The last column stays free: some terminals begin a new line there.
    int room = columns - 1 - place.length() - 1 - percent.length();
    int bar = Math.min(MAX_BAR, room / 2);
    if (bar < MIN_BAR) {
      return cut(place + percent, columns - 1);
    }
    int filled = total == 0 ? 0 : (int) ((long) (bar - 2) * done / total);
    String name = cut(cache, room - bar - 1);
    return String.format(
        "%s %s [%s%s]%s", place, name, "#".repeat(filled), "-".repeat(bar - 2 - filled), percent);
  }

  private static String cut(String text, int width) {
    return text.length() <= width ? text : text.substring(0, Math.max(0, width));
  }

  private static int percent(int done, int total) {
    return total == 0 ? 0 : (int) (100L * done / total);
  }

  private void rewrite(String line) {
    out.print("\r" + line + " ".repeat(Math.max(0, written - line.length())));
    out.flush();
    written = line.length();
  }

  /** Takes the line away from the terminal, so that something else can be written there. */
  void end() {
    if (out != null && written > 0) {
      out.print("\r" + " ".repeat(written) + "\r");
      out.flush();
      written = 0;
    }
  }
}
