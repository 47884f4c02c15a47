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

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;

import com.google.common.base.Splitter;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.VerifyWork.Verdict;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What verify and import say, to people and to scripts. */
@Tag("locale")
class UpkeepFormatTest {
  private static List<String> lines(Consumer<PrintWriter> printing) {
    StringWriter out = new StringWriter();
    try (PrintWriter writer = new PrintWriter(out)) {
      printing.accept(writer);
    }
    return Splitter.on('\n').splitToList(out.toString());
  }

  private static UpkeepResult verified(
      String name, long damaged, boolean repaired, boolean complete) {
    return VerifyWork.result(
        name,
        new VerifyReport(20, 4096, damaged, repaired, complete, 1500),
        "its file changed",
        repaired);
  }

  private static List<String> table(List<UpkeepResult> results) {
    return lines(out -> UpkeepFormat.print(out, results));
  }

  @ParameterizedTest
  @CsvSource({
    "0, false, true, SOUND",
    "1, false, true, DAMAGED",
    "1, true, true, REPAIRED",
    "0, false, false, INCOMPLETE",
    "1, false, false, DAMAGED"
  })
  void theVerdictFollowsFromTheReport(
      long damaged, boolean repaired, boolean complete, Verdict verdict) {
    UpkeepResult result = verified("a", damaged, repaired, complete);
    assertThat(result.outcome()).isEqualTo(verdict);
    assertThat(result.failure().isEmpty())
        .isEqualTo(verdict == Verdict.SOUND || verdict == Verdict.REPAIRED);
    assertThat(result.detail()).isEqualTo(complete ? "" : "its file changed");
  }

  @Test
  void aCacheThatWasRefusedIsAFailure() {
    UpkeepResult refused = VerifyWork.of(null, false).refused().apply("a", "busy");
    assertThat(refused.failure()).startsWith("not ");
    assertThat(refused.detail()).isEqualTo("busy");
  }

  @Test
  void theSampleOfThePageHasThisHead() throws Exception {
    List<String> lines = table(List.of(verified("a", 0, false, true)));
    assertThat(Files.readString(Path.of("resources/Documentation/cmd-verify.md")))
        .contains(lines.get(0) + "\n" + lines.get(1) + "\n");
  }

  @Test
  void theTableOfAVerifyTellsAll() {
    List<String> lines =
        table(List.of(verified("ours", 0, false, true), verified("bad", 3, false, false)));
    assertThat(lines.get(2)).matches("ours +20 +4.0 KiB +0 +1.5 s +sound");
    assertThat(lines.get(3)).matches("bad +20 +4.0 KiB +3 +1.5 s +DAMAGED");
    assertThat(lines.get(5)).matches("2 caches +40 +8.0 KiB +3 +3.0 s");
    assertThat(lines.get(7)).isEqualTo("bad: its file changed");
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 99_999, 999_950, 1L << 40, Long.MAX_VALUE / 100})
  void theTablesFit(long figure) {
    List<UpkeepResult> verified = new ArrayList<>();
    for (String name : List.of("a", "plugin-with-a-name.and_a_cache", "n".repeat(300))) {
      for (boolean complete : new boolean[] {true, false}) {
        for (boolean repaired : new boolean[] {true, false}) {
          verified.add(
              VerifyWork.result(
                  name,
                  new VerifyReport(figure, figure, figure, repaired, complete, figure),
                  "a word ".repeat(40),
                  repaired));
        }
      }
    }
    List<String> all = new ArrayList<>(table(verified));
    for (String line : all) {
      assertWithMessage(line).that(line.length()).isAtMost(TextTable.WIDTH);
    }
  }

  /** As it is after a script has read it. */
  private static JsonObject onlyCache(JsonObject json) {
    List<String> printed = lines(out -> out.println(CachesJson.GSON.toJson(json)));
    return JsonParser.parseString(String.join("\n", printed))
        .getAsJsonObject()
        .getAsJsonArray("caches")
        .get(0)
        .getAsJsonObject();
  }

  @Test
  void jsonOfAVerify() {
    JsonObject cache = onlyCache(UpkeepFormat.json(List.of(verified("x\"y", 2, false, true))));
    assertThat(cache.get("name").getAsString()).isEqualTo("x\"y");
    assertThat(cache.get("result").getAsString()).isEqualTo("damaged");
    assertThat(cache.get("detail").getAsString()).isEmpty();
    assertThat(cache.get("entries").getAsLong()).isEqualTo(20);
    assertThat(cache.get("bytes").getAsLong()).isEqualTo(4096);
    assertThat(cache.get("damaged").getAsLong()).isEqualTo(2);
    assertThat(cache.get("complete").getAsBoolean()).isTrue();
    assertThat(cache.get("millis").getAsLong()).isEqualTo(1500);
  }
}
