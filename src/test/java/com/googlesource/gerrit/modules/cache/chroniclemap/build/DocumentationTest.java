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

package com.googlesource.gerrit.modules.cache.chroniclemap.build;

import static com.google.common.truth.Truth.assertWithMessage;

import com.google.common.base.CharMatcher;
import com.google.common.base.Splitter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The pages of the documentation: links, figures, commands, and how long they are. */
class DocumentationTest {
  private static final Path FOLDER = Path.of("resources/Documentation");

  private static final Pattern LINK = Pattern.compile("\\]\\(([^)# ]*)(?:#([^) ]*))?\\)");

  private static final Pattern NUMBER = Pattern.compile("\\d(?:[\\d.,]*\\d)?");

  /** What README says of speed: {@code 97 ms}, or {@code 1.8 to 2.3 times}. */
  private static final Pattern FIGURE =
      Pattern.compile("(" + NUMBER + ")(?= (?:to [\\d.,]+ )?(?:us|ms|MB|times)\\b)");

  private static List<Path> pages() throws IOException {
    try (Stream<Path> files = Files.list(FOLDER)) {
      return Stream.concat(
              files.filter(file -> file.toString().endsWith(".md")),
              Stream.of("README.md", "CONTRIBUTING.md", "PROMISES.md", "CHANGELOG.md")
                  .map(Path::of))
          .toList();
    }
  }

  /** As {@code cat README.md resources/Documentation/*.md | wc -w} counts, samples included. */
  @Test
  void allPagesTogetherStayShort() throws IOException {
    int words = 0;
    for (Path page : pages()) {
      if (page.startsWith(FOLDER) || page.endsWith("README.md")) {
        words +=
            Splitter.on(CharMatcher.whitespace())
                .omitEmptyStrings()
                .splitToList(Files.readString(page))
                .size();
      }
    }
    assertWithMessage("words").that(words).isAtMost(15_000);
    assertWithMessage("words").that(words).isAtLeast(10_000);
  }

  @Test
  void linksLeadSomewhere() throws IOException {
    for (Path page : pages()) {
      for (var link : LINK.matcher(Files.readString(page)).results().toList()) {
        String target = link.group(1);
        if (!target.contains("://") && !target.startsWith("mailto:")) {
          Path file = target.isEmpty() ? page : page.resolveSibling(target).normalize();
          assertWithMessage("%s in %s", link.group(), page).that(Files.exists(file)).isTrue();
          if (link.group(2) != null) {
            assertWithMessage("%s in %s", link.group(), page)
                .that(anchors(file))
                .contains(link.group(2));
          }
        }
      }
    }
  }

  /** The figures of a sentence, or of a row, of README are those of one row of a benchmark. */
  @Test
  void theFiguresOfTheReadmeAreMeasured() throws IOException {
    List<List<Double>> measured = new ArrayList<>();
    for (Path page : pages()) {
      if (page.getFileName().toString().startsWith("benchmarks")) {
        for (String line : Files.readAllLines(page)) {
          if (line.startsWith("| ")) {
            measured.add(numbers(NUMBER, line));
          }
        }
      }
    }
    int checked = 0;
    String readme = Files.readString(Path.of("README.md"));
    for (String part : Splitter.onPattern("\\. |; |\n").split(readme)) {
      List<Double> figures = numbers(FIGURE, part);
      checked += figures.size();
      assertWithMessage("a row of a benchmark with the figures of: %s", part)
          .that(measured.stream().anyMatch(row -> haveAll(row, figures)))
          .isTrue();
    }
    assertWithMessage("figures of README").that(checked).isAtLeast(8);
  }

  private static List<Double> numbers(Pattern pattern, String text) {
    return pattern
        .matcher(text)
        .results()
        .map(number -> Double.valueOf(number.group().replace(",", "")))
        .toList();
  }

  /** README rounds: by less than a twentieth. */
  private static boolean haveAll(List<Double> measured, List<Double> rounded) {
    return rounded.stream()
        .allMatch(
            figure -> measured.stream().anyMatch(exact -> Math.abs(figure - exact) < exact / 20));
  }

  /** But for those of a commit that the page names, and those of which the past tells. */
  @Test
  void theBenchmarksThatPagesQuoteAreThere() throws IOException {
    String usage = Files.readString(Path.of("bin/bench"));
    Pattern quoted = Pattern.compile("`bin/bench ([a-z][a-z-]*)[^`]*`(?! of commit )");
    List<Path> pages = pages().stream().filter(page -> !page.endsWith("CHANGELOG.md")).toList();
    for (Path page : pages) {
      for (var command : quoted.matcher(Files.readString(page)).results().toList()) {
        assertWithMessage("%s of %s", command.group(), page)
            .that(usage)
            .contains("\n" + command.group(1) + ": ");
      }
    }
  }

  @Test
  void theIndexLeadsToAllPages() throws IOException {
    Set<String> linked =
        LINK.matcher(Files.readString(FOLDER.resolve("index.md")))
            .results()
            .map(link -> link.group(1))
            .collect(Collectors.toSet());
    for (Path page : pages()) {
      if (page.startsWith(FOLDER) && !page.endsWith("index.md")) {
        assertWithMessage("%s in index.md", page)
            .that(linked)
            .contains(page.getFileName().toString());
      }
    }
  }

  private static Set<String> anchors(Path page) throws IOException {
    return Files.readAllLines(page).stream()
        .filter(line -> line.startsWith("#"))
        .map(line -> anchor(line.replaceFirst("^#+ ", "")))
        .collect(Collectors.toSet());
  }

  /** The anchor that GitHub and Gerrit make of a heading. */
  private static String anchor(String title) {
    return title.toLowerCase(Locale.ROOT).replaceAll("[^\\p{L}\\p{N} _-]", "").replace(' ', '-');
  }
}
