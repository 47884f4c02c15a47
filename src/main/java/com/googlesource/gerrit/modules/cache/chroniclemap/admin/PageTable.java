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

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableMap;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A table of the page, as the template takes it: lists and maps of strings and numbers. */
final class PageTable {
  /** A cell: its text and other values for the template. */
  record Cell(Map<String, ?> data) {}

  /** The head of a column: its title and other values for the template. */
  record Head(ImmutableMap<String, ?> data) {
    private static Head of(String title, boolean number, String unit, String meaning) {
      return new Head(
          ImmutableMap.of("text", title, "number", number, "unit", unit, "meaning", meaning));
    }

    /** A column of texts. */
    static Head text(String title, String unit, String meaning) {
      return of(title, false, unit, meaning);
    }

    /**
     * A column of figures.
     *
     * @param unit and the time over which the figures were counted
     * @param meaning what they are, in a sentence
     */
    static Head figure(String title, String unit, String meaning) {
      return of(title, true, unit, meaning);
    }

    /** The same, with a value more. */
    Head with(String name, Object value) {
      return new Head(
          ImmutableMap.<String, Object>builder().putAll(data).put(name, value).buildOrThrow());
    }
  }

  private final List<Map<String, ?>> head = new ArrayList<>();
  private final List<List<Map<String, ?>>> rows = new ArrayList<>();

  /**
   * Makes a table without rows.
   *
   * @param titles of the columns, with a line between them; columns of figures start with #
   */
  PageTable(String titles) {
    this(
        Splitter.on('|')
            .splitToStream(titles)
            .map(
                title ->
                    title.startsWith("#")
                        ? Head.figure(title.substring(1), "", "")
                        : Head.text(title, "", ""))
            .toList());
  }

  /** Makes a table without rows. */
  PageTable(List<Head> heads) {
    heads.forEach(each -> head.add(each.data));
  }

  /** Adds a row, whose first cell names it. */
  void row(Cell... cells) {
    rows.add(Stream.of(cells).<Map<String, ?>>map(Cell::data).toList());
  }

  Map<String, ?> data() {
    return Map.of("head", head, "rows", rows);
  }

  static Cell cell(String text) {
    return new Cell(Map.of("text", text));
  }

  /** A figure, with the exact value for scripts and screen readers. */
  static Cell cell(long value, String text) {
    return new Cell(Map.of("text", text, "value", value));
  }

  static Cell figure(Figures figures, String name) {
    return cell(figures.get(name), figures.text(name));
  }

  static Cell count(long value) {
    return cell(value, Units.count(value));
  }

  static Cell nanos(long value) {
    return cell(value, value == 0 ? "" : Units.nanos(value));
  }

  static Cell link(String text, String href) {
    return new Cell(Map.of("text", text, "href", href));
  }

  static Cell time(long millis) {
    return millis == 0
        ? cell("")
        : new Cell(
            Map.of(
                "text", Units.exactTime(millis), "time", Instant.ofEpochMilli(millis).toString()));
  }
}
