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

import java.io.PrintWriter;
import java.util.concurrent.TimeUnit;

/**
 * A display of the progress of long work: on a terminal, one line that is rewritten; elsewhere, a
 * line every few seconds. For one thread.
 */
final class ProgressDisplay {
  private static final long LINE_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final PrintWriter out;
  private final boolean terminal;
  private final int columns;
  private String label = "";
  private long lastLine;

  /** The width of the line on the terminal. */
  private int lineWidth;

  ProgressDisplay(PrintWriter out, boolean terminal, int columns, long now) {
    this.out = out;
    this.terminal = terminal;
    this.columns = columns;
    this.lastLine = now;
  }

  /** Starts the progress of a cache, which is the index-th of so many. */
  void begin(String name, int index, int of) {
    label = index + "/" + of + " " + name + ": ";
    if (terminal) {
      rewrite(0);
    }
  }

  /**
   * Shows how many of all steps are done.
   *
   * @param now a time of {@link System#nanoTime}
   */
  void show(int done, int total, long now) {
    int percent = total == 0 ? 0 : (int) (100L * done / total);
    if (terminal) {
      rewrite(percent);
    } else if (now - lastLine >= LINE_INTERVAL_NANOS) {
      lastLine = now;
      out.println(label + percent + "%");
      out.flush();
    }
  }

  private void rewrite(int percent) {
    String line = label + percent + "%";
    // The last column stays free, as some terminals start a new line when it is written.
    line = line.substring(0, Math.min(line.length(), columns - 1));
    out.print("\r" + line + " ".repeat(Math.max(0, lineWidth - line.length())));
    out.flush();
    lineWidth = line.length();
  }

  /** Removes the line from the terminal, so that other output can take its place. */
  void end() {
    if (lineWidth > 0) {
      out.print("\r" + " ".repeat(lineWidth) + "\r");
      out.flush();
      lineWidth = 0;
    }
  }
}
