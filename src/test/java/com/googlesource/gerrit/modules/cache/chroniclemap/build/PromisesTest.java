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
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * {@code PROMISES.md} names a test for each promise of four pages of the documentation, and of a
 * section of a fifth.
 */
class PromisesTest {
  private static final Path PAGES = Path.of("resources/Documentation");
  private static final ImmutableList<String> FOLDERS =
      ImmutableList.of("src/test/java", "src/it/java");

  /** The other sections of this page tell how to set up other software. */
  private static final String SHARED_VALUES = "several.md, Share computed values";

  private static final Pattern BOLD = Pattern.compile("\\*\\*(.+?)\\*\\*");
  private static final Pattern TEST = Pattern.compile("`([A-Z]\\w+)(?:#(\\w+))?`");
  private static final Pattern METHOD =
      Pattern.compile("@(?:Parameterized|Repeated)?Test\\b[^;]*?\\bvoid (\\w+)\\(");

  /** A row of the table: what of a page is quoted, and the tests of it. */
  private record Row(String quote, String tests) {}

  @Test
  void testsExist() throws IOException {
    ImmutableListMultimap<String, String> methods = testMethods();
    for (Row row : rows().values()) {
      List<MatchResult> tests = TEST.matcher(row.tests()).results().toList();
      if (tests.isEmpty()) {
        assertWithMessage("tests of: %s", row.quote()).that(row.tests()).startsWith("No test");
      }
      for (MatchResult test : tests) {
        assertWithMessage("%s is a class with tests, for: %s", test.group(1), row.quote())
            .that(methods.containsKey(test.group(1)))
            .isTrue();
        if (test.group(2) != null) {
          assertWithMessage("tests of %s, for: %s", test.group(1), row.quote())
              .that(methods.get(test.group(1)))
              .contains(test.group(2));
        }
      }
    }
  }

  @Test
  void quotesStandInTheirSections() throws IOException {
    Map<String, String> sections = sections();
    rows()
        .forEach(
            (section, row) ->
                assertWithMessage("section \"%s\"", section)
                    .that(plain(sections.getOrDefault(section, "")))
                    .contains(plain(row.quote())));
  }

  @Test
  void eachSectionAndEachBoldPhraseHasARow() throws IOException {
    ImmutableListMultimap<String, Row> rows = rows();
    sections()
        .forEach(
            (section, text) -> {
              if (text.isBlank()) {
                return;
              }
              assertWithMessage("rows of \"%s\"", section).that(rows.get(section)).isNotEmpty();
              String quotes =
                  rows.get(section).stream().map(Row::quote).reduce("", (a, b) -> a + "\n" + b);
              for (MatchResult bold : BOLD.matcher(text).results().toList()) {
                assertWithMessage("quotes of \"%s\"", section)
                    .that(plain(quotes))
                    .contains(plain(bold.group(1)));
              }
            });
  }

  private static String plain(String text) {
    return text.replace("**", "");
  }

  /** The sections of the pages, as {@code about.md, What it promises}. */
  private static Map<String, String> sections() throws IOException {
    Map<String, String> sections = new LinkedHashMap<>();
    for (String page :
        List.of("about.md", "reftables.md", "nfs.md", "refs-safety.md", "several.md")) {
      String section = page;
      boolean isCode = false;
      for (String line : Files.readAllLines(PAGES.resolve(page))) {
        isCode ^= line.startsWith("```");
        if (line.startsWith("#") && !isCode) {
          section = page + ", " + line.replaceFirst("^#+ ", "");
        } else {
          sections.merge(section, line + "\n", String::concat);
        }
      }
    }
    // It only says what the other sections do.
    sections.remove("about.md, About cache-chroniclemap");
    sections
        .keySet()
        .removeIf(each -> each.startsWith("several.md") && !each.equals(SHARED_VALUES));
    return sections;
  }

  private static ImmutableListMultimap<String, Row> rows() throws IOException {
    ImmutableListMultimap.Builder<String, Row> rows = ImmutableListMultimap.builder();
    String page = "";
    String section = "";
    for (String line : Files.readAllLines(Path.of("PROMISES.md"))) {
      if (line.startsWith("## ")) {
        page = line.substring(3);
      } else if (line.startsWith("### ")) {
        section = page + ", " + line.substring(4);
      } else if (line.startsWith("| ") && !line.equals("| promise | tests |")) {
        List<String> cells = Splitter.on(" | ").splitToList(line.substring(2));
        assertWithMessage(line).that(cells).hasSize(2);
        rows.put(section, new Row(cells.get(0), cells.get(1)));
      }
    }
    return rows.build();
  }

  /** All classes with tests, and the names of their tests. */
  private static ImmutableListMultimap<String, String> testMethods() throws IOException {
    ImmutableListMultimap.Builder<String, String> methods = ImmutableListMultimap.builder();
    for (Path file : sources()) {
      String name = file.getFileName().toString().replace(".java", "");
      METHOD
          .matcher(Files.readString(file))
          .results()
          .forEach(found -> methods.put(name, found.group(1)));
    }
    return methods.build();
  }

  private static List<Path> sources() throws IOException {
    List<Path> all = new ArrayList<>();
    for (String folder : FOLDERS) {
      try (Stream<Path> files = Files.walk(Path.of(folder))) {
        files.filter(file -> file.toString().endsWith(".java")).forEach(all::add);
      }
    }
    return all;
  }
}
