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

import com.google.common.base.Splitter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The pages of the documentation: links, contents, figures, and how long it takes to read them. */
class DocumentationTest {
  private static final Path FOLDER = Path.of("resources/Documentation");

  /** Nobody reads faster, tables included. */
  private static final int WORDS_A_MINUTE = 300;

  private static final Pattern READING_TIME =
      Pattern.compile("^Reading time: (\\d+) minutes?\\.$", Pattern.MULTILINE);

  private static final Pattern LINK = Pattern.compile("\\]\\(([^)# ]*)(?:#([^) ]*))?\\)");

  private static final String WAY_BACK = "[All pages](index.md).";

  private static final Pattern NUMBER = Pattern.compile("\\d(?:[\\d.,]*\\d)?");

  /** What README says of speed: {@code 97 ms}, or {@code 1.8 to 2.3 times}. */
  private static final Pattern FIGURE =
      Pattern.compile("(" + NUMBER + ")(?= (?:to [\\d.,]+ )?(?:us|ms|times)\\b)");

  private static List<Path> pages() throws IOException {
    try (Stream<Path> files = Files.list(FOLDER)) {
      return Stream.concat(
              files.filter(file -> file.toString().endsWith(".md")),
              Stream.of("README.md", "CONTRIBUTING.md", "PROMISES.md", "CHANGELOG.md")
                  .map(Path::of))
          .toList();
    }
  }

  @Test
  void pagesAreReadInTheMinutesThatTheyPromise() throws IOException {
    for (Path page : pages()) {
      if (page.startsWith(FOLDER)) {
        String text = Files.readString(page);
        Matcher promise = READING_TIME.matcher(text);
        assertWithMessage("a reading time in %s", page).that(promise.find()).isTrue();
        int words = Splitter.on(Pattern.compile("\\s+")).splitToList(text).size();
        assertWithMessage("words of %s", page)
            .that(words)
            .isAtMost(WORDS_A_MINUTE * Integer.parseInt(promise.group(1)));
      }
    }
  }

  /** Of README and all pages: an administrator reads them in an hour. */
  @Test
  void allPagesTogetherStayShort() throws IOException {
    long words = 0;
    for (Path page : pages()) {
      if (page.startsWith(FOLDER) || page.endsWith("README.md")) {
        // Samples and contents are not read but looked into.
        String text = Files.readString(page).replaceAll("(?s:```.*?```)|(?m)^\\[All pages].*$", "");
        words += Pattern.compile("\\S*\\w\\S*").matcher(text).results().count();
      }
    }
    assertWithMessage("words").that(words).isAtMost(16_000);
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
    List<Set<String>> measured = new ArrayList<>();
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
      Set<String> figures = numbers(FIGURE, part);
      checked += figures.size();
      assertWithMessage("a row of a benchmark with the figures of: %s", part)
          .that(measured.stream().anyMatch(row -> row.containsAll(figures)))
          .isTrue();
    }
    assertWithMessage("figures of README").that(checked).isAtLeast(8);
  }

  private static Set<String> numbers(Pattern pattern, String text) {
    return pattern
        .matcher(text)
        .results()
        .map(number -> number.group().replace(",", ""))
        .collect(Collectors.toSet());
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

  /** Gerrit serves the pages without a way back and without a table of contents. */
  @Test
  void pagesLeadBackAndToTheirSections() throws IOException {
    for (Path page : pages()) {
      if (page.startsWith(FOLDER) && !page.endsWith("index.md")) {
        String text = Files.readString(page);
        assertWithMessage("%s", page).that(text).contains(".\n\n" + contents(text) + "\n\n");
      }
    }
  }

  private static String contents(String page) {
    List<String> links =
        Pattern.compile("^## (.*)$", Pattern.MULTILINE)
            .matcher(page)
            .results()
            .map(title -> "[" + title.group(1) + "](#" + anchor(title.group(1)) + ")")
            .toList();
    return links.size() < 2
        ? WAY_BACK
        : WAY_BACK + " On this page: " + String.join(", ", links) + ".";
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
