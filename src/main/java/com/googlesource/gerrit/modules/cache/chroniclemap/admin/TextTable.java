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

/** A table of text, as wide as the user asked for, and notes below it. */
final class TextTable {
  /** Where a command prints, and the width of its lines in columns of the screen. */
  record Screen(PrintWriter out, int width) {
    /** The width of Gerrit's own commands. */
    static final int USUAL_WIDTH = 80;

    /** Users choose it, so it is bounded. */
    Screen {
      width = Math.clamp(width, 40, 1000);
    }

    void println(String line) {
      out.println(line);
    }

    /** Prints a text on as many lines as necessary. All lines but the first are indented. */
    void printWrapped(String text) {
      String rest = text;
      String indent = "";
      while (indent.length() + rest.length() > width) {
        int room = width - indent.length();
        int space = rest.lastIndexOf(' ', room);
        int end = space > 0 ? space : room;
        out.println(indent + rest.substring(0, end));
        rest = rest.substring(end).stripLeading();
        indent = "  ";
      }
      out.println(indent + rest);
    }

    /** Prints a line for each figure, with what it means. */
    void printFigures(Figures figures) {
      figures.forEach(
          (metric, value) ->
              out.println(
                  padEnd(metric.shortName(), 22, ' ')
                      + padEnd(metric.format(value), 9, ' ')
                      + metric.shortMeaning()));
    }
  }

  /** What is left of names in a column that is as narrow as it gets. */
  private static final int MIN_NAME_WIDTH = 8;

  private final Screen screen;
  private final int nameWidth;
  private final String format;
  private final int columns;

  /**
   * Starts a table. Its first column has names, and what a screen is wider than usual.
   *
   * @param nameWidth of the first column on a screen of the usual width
   * @param format of the others
   */
  TextTable(Screen screen, int nameWidth, String format) {
    this.screen = screen;
    this.nameWidth = Math.max(MIN_NAME_WIDTH, nameWidth + screen.width - Screen.USUAL_WIDTH);
    this.format = "%-" + this.nameWidth + "s" + format;
    this.columns = CharMatcher.is('%').countIn(format);
  }

  private String shorten(String name) {
    return name.length() <= nameWidth ? name : name.substring(0, nameWidth - 1) + "~";
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
    Object[] all = Lists.asList(shorten(first), cells).toArray();
    screen.println(String.format(Locale.ROOT, format, all).stripTrailing());
  }

  void rule() {
    screen.println("-".repeat(screen.width));
  }

  /** Prints notes below a table. */
  void notes(List<String> notes) {
    if (!notes.isEmpty()) {
      screen.println("");
      notes.forEach(screen::printWrapped);
    }
  }
}
