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

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The chart of benchmarks.md, and the figures that it is made of. */
class ChartTest {
  private static final Path DOCS = Path.of("resources/Documentation");

  @Test
  void chartAndFiguresAreThoseOfTheTable() throws Exception {
    List<Figure> figures = Chart.read(DOCS.resolve("benchmarks.json"));
    assertThat(Files.readString(DOCS.resolve("benchmarks.svg"))).isEqualTo(Chart.svg(figures));
    List<List<Double>> rows =
        Pattern.compile(
                "\\| ([\\d.,]+)(?: [a-z%]+)? \\| [^|]* ([\\d.,]+)(?: [a-z%]+)?"
                    + " \\| ([\\d.,]+)× \\|")
            .matcher(Files.readString(DOCS.resolve("benchmarks.md")))
            .results()
            .map(row -> List.of(number(row, 1), number(row, 2), number(row, 3)))
            .toList();
    assertThat(rows)
        .containsExactlyElementsIn(
            figures.stream().map(each -> List.of(each.ours(), each.peer(), each.ratio())).toList())
        .inOrder();
  }

  private static Double number(MatchResult row, int group) {
    return Double.valueOf(row.group(group).replace(",", ""));
  }

  @Test
  void barsPointToTheBetterSide() {
    String svg =
        Chart.svg(
            List.of(new Figure("<better>", "ms", 1, 10, 10), new Figure("worse", "ms", 2, 1, 0.5)));
    assertThat(svg).contains("&lt;better&gt;");
    assertThat(svg).contains("fill=\"#1a66d6\"");
    assertThat(svg).contains("fill=\"#b25a00\"");
    assertThat(svg).contains(">0.50×<");
    assertThat(svg).contains(">10×<");
  }
}
