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

import static com.google.common.base.Strings.padEnd;

import com.google.common.base.CharMatcher;
import com.google.common.collect.Lists;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/** A table of text, of at most {@value #WIDTH} columns of the screen, and notes below it. */
final class TextTable {
  /** The width of every table, in columns of the screen: that of Gerrit's own commands. */
  static final int WIDTH = 80;

  private final PrintWriter out;
  private final String format;
  private final int columns;

  /**
   * Starts a table.
   *
   * @param format of a row
   */
  TextTable(PrintWriter out, String format) {
    this.out = out;
    this.format = format;
    this.columns = CharMatcher.is('%').countIn(format);
  }

  static String shorten(String name, int width) {
    return name.length() <= width ? name : name.substring(0, width - 1) + "~";
  }

  /**
   * Prints a row.
   *
   * @param others the cells after the first, with a line between them; those at the end may be left
   *     out
   */
  void row(String first, String others) {
    // Those that were left out are empty, and the format ignores what is too much.
    String[] cells = (others + "|".repeat(columns)).split("\\|", -1);
    Object[] all = Lists.asList(first, cells).toArray();
    out.println(String.format(Locale.ROOT, format, all).stripTrailing());
  }

  void rule() {
    out.println("-".repeat(WIDTH));
  }

  /** Prints notes below a table. */
  void notes(List<String> notes) {
    if (!notes.isEmpty()) {
      out.println();
      notes.forEach(note -> printWrapped(out, note));
    }
  }

  /** Prints a line for each figure, with what it means. */
  static void printFigures(PrintWriter out, Figures figures) {
    figures.forEach(
        (metric, value) ->
            out.println(
                padEnd(metric.shortName(), 22, ' ')
                    + padEnd(metric.format(value), 9, ' ')
                    + metric.shortMeaning()));
  }

  /** Prints a text on as many lines as necessary. All lines but the first are indented. */
  static void printWrapped(PrintWriter out, String text) {
    String rest = text;
    String indent = "";
    while (indent.length() + rest.length() > WIDTH) {
      int room = WIDTH - indent.length();
      int space = rest.lastIndexOf(' ', room);
      int end = space > 0 ? space : room;
      out.println(indent + rest.substring(0, end));
      rest = rest.substring(end).stripLeading();
      indent = "  ";
    }
    out.println(indent + rest);
  }
}
