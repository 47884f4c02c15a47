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

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.TextTable.Screen;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.VerifyResult.Verdict;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What verify says, to people and to scripts. */
@Tag("locale")
class VerifyResultTest {
  private static VerifyResult result(
      String name, long figure, long damaged, boolean repaired, boolean complete) {
    return new VerifyResult(
        name,
        repaired,
        new VerifyReport(figure, figure, damaged, repaired, complete, figure),
        complete ? "" : "a word ".repeat(40));
  }

  private static List<String> table(List<VerifyResult> results) {
    StringWriter out = new StringWriter();
    VerifyResult.print(new Screen(new PrintWriter(out, true), Screen.USUAL_WIDTH), results);
    return out.toString().lines().toList();
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
    VerifyResult result = result("a", 1, damaged, repaired, complete);
    assertThat(result.verdict()).isEqualTo(verdict);
    assertThat(result.failure().isEmpty())
        .isEqualTo(verdict == Verdict.SOUND || verdict == Verdict.REPAIRED);
  }

  @Test
  void theSampleOfThePageHasThisHead() throws Exception {
    List<String> lines = table(List.of());
    assertThat(Files.readString(Path.of("resources/Documentation/cmd-verify.md")))
        .contains(lines.get(0) + "\n" + lines.get(1) + "\n");
  }

  @Test
  void theTableTellsAll() {
    List<String> lines =
        table(List.of(result("ours", 4096, 0, false, true), result("bad", 4096, 3, false, false)));
    assertThat(lines.get(2)).matches("ours +4096 +4.0 KiB +0 +4.1 s +sound");
    assertThat(lines.get(3)).matches("bad +4096 +4.0 KiB +3 +4.1 s +DAMAGED");
    assertThat(lines.get(5)).matches("2 caches +8192 +8.0 KiB +3 +8.2 s");
    assertThat(lines.get(7)).startsWith("bad: a word");
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 99_999, 999_950, 1L << 40, Long.MAX_VALUE / 100})
  void theTableFits(long figure) {
    List<VerifyResult> all = new ArrayList<>();
    for (String name : List.of("a", "plugin-with-a-name.and_a_cache", "n".repeat(300))) {
      for (boolean complete : new boolean[] {true, false}) {
        all.add(result(name, figure, figure, false, complete));
        all.add(result(name, figure, figure, true, complete));
      }
    }
    for (String line : table(all)) {
      assertWithMessage(line).that(line.length()).isAtMost(Screen.USUAL_WIDTH);
    }
  }

  /** As it is after a script has read it. */
  @Test
  void jsonHasAllFigures() {
    String printed =
        CachesJson.GSON.toJson(VerifyResult.json(List.of(result("x\"y", 20, 2, false, true))));
    JsonObject all = JsonParser.parseString(printed).getAsJsonObject();
    JsonObject cache = all.getAsJsonObject("caches").getAsJsonObject("x\"y");
    assertThat(cache.get("name").getAsString()).isEqualTo("x\"y");
    assertThat(cache.get("result").getAsString()).isEqualTo("damaged");
    assertThat(cache.get("detail").getAsString()).isEmpty();
    assertThat(cache.get("complete").getAsBoolean()).isTrue();
    assertThat(cache.get("damaged").getAsLong()).isEqualTo(2);
    for (String name : List.of("entries", "bytes", "millis")) {
      assertWithMessage(name).that(cache.get(name).getAsLong()).isEqualTo(20);
    }
  }
}
