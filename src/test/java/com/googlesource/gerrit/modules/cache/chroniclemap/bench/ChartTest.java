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

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The chart of benchmarks.md, and the figures in its table and in the tables that it links to. */
class ChartTest {
  private static final Path DOCS = Path.of("resources/Documentation");

  /** What is measured with a link to its section, this module's figure, the peer's, the ratio. */
  private static final Pattern ROW =
      Pattern.compile(
          "^\\| \\[[^|]*\\]\\(benchmarks-tables\\.md#(\\S+)\\)[^|]*"
              + " \\| ([^|]*) \\| ([^|]*) \\| ([0-9.,]+)× \\|$",
          Pattern.MULTILINE);

  private static final Pattern NUMBER = Pattern.compile("\\d+(?:,\\d{3})*(?:\\.\\d+)?");

  @Test
  void chartIsThatOfTheTable() throws Exception {
    List<Figure> figures = figures();
    assertThat(Files.readString(DOCS.resolve("benchmarks.svg"))).isEqualTo(Chart.svg(figures));
    List<Double> ratios =
        Pattern.compile(" \\| ([0-9.,]+)× \\|")
            .matcher(Files.readString(DOCS.resolve("benchmarks.md")))
            .results()
            .map(row -> Double.valueOf(row.group(1).replace(",", "")))
            .toList();
    assertThat(figures.stream().map(Figure::ratio)).containsExactlyElementsIn(ratios).inOrder();
  }

  @Test
  void bothPagesHaveItsFigures() throws Exception {
    List<Figure> figures = figures();
    List<MatchResult> rows =
        ROW.matcher(Files.readString(DOCS.resolve("benchmarks.md"))).results().toList();
    assertThat(rows).hasSize(figures.size());
    for (int i = 0; i < rows.size(); i++) {
      Figure figure = figures.get(i);
      MatchResult row = rows.get(i);
      assertWithMessage(figure.name()).that(numbers(row.group(2))).contains(figure.ours());
      assertWithMessage(figure.name()).that(numbers(row.group(3))).contains(figure.peer());
      assertWithMessage(figure.name())
          .that(numbers(section(row.group(1))))
          .containsAtLeast(figure.ours(), figure.peer());
    }
  }

  private static List<Figure> figures() throws IOException {
    return Chart.read(DOCS.resolve("benchmarks.json"));
  }

  private static List<Double> numbers(String text) {
    return NUMBER
        .matcher(text)
        .results()
        .map(number -> Double.valueOf(number.group().replace(",", "")))
        .toList();
  }

  /** The text below a heading, up to the next one. */
  private static String section(String anchor) throws IOException {
    StringBuilder text = new StringBuilder();
    boolean isIn = false;
    for (String line : Files.readAllLines(DOCS.resolve("benchmarks-tables.md"))) {
      if (line.startsWith("#")) {
        isIn =
            line.replaceFirst("^#+ ", "").toLowerCase(Locale.ROOT).replace(' ', '-').equals(anchor);
      } else if (isIn) {
        text.append(line).append('\n');
      }
    }
    return text.toString();
  }
}
