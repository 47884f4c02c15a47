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
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** How far long work is, on a terminal and in a log. */
class ProgressDisplayTest {
  private final StringWriter out = new StringWriter();

  private ProgressDisplay display(boolean terminal, int columns) {
    return new ProgressDisplay(new PrintWriter(out), terminal, columns, 0);
  }

  private static long seconds(long seconds) {
    return TimeUnit.SECONDS.toNanos(seconds);
  }

  @Test
  void aTerminalHasOneLineThatIsRewritten() {
    ProgressDisplay display = display(true, 80);
    display.begin("change_notes", 2, 17);
    display.show(1, 2, 0);
    display.show(2, 2, 0);
    display.end();
    List<String> lines = Splitter.on('\r').splitToList(out.toString());
    assertThat(lines.get(1)).isEqualTo("2/17 change_notes: 0%");
    assertThat(lines.get(2)).isEqualTo("2/17 change_notes: 50%");
    assertThat(lines.get(3)).isEqualTo("2/17 change_notes: 100%");
    // Nothing of it is left in the way of what is printed next.
    assertThat(lines.get(4)).isEqualTo(" ".repeat(lines.get(3).length()));
    assertThat(lines.get(5)).isEmpty();
    assertThat(out.toString()).doesNotContain("\n");
  }

  @Test
  void aShorterLineLeavesNothingOfALongerOne() {
    ProgressDisplay display = display(true, 80);
    display.begin("a_cache_with_a_long_name", 1, 2);
    display.show(1, 2, 0);
    display.begin("a", 2, 2);
    display.show(1, 2, 0);
    List<String> lines = Splitter.on('\r').splitToList(out.toString());
    // Each cache begins with a line of its own.
    assertThat(lines).hasSize(5);
    assertThat(lines.get(3)).hasLength(lines.get(2).length());
  }

  @Test
  void theLineFitsAnyTerminal() {
    for (int columns = 1; columns < 200; columns++) {
      ProgressDisplay display = display(true, columns);
      display.begin("n".repeat(300), 11, 17);
      display.show(7, 64, 0);
    }
    List<String> lines = Splitter.on('\r').splitToList(out.toString());
    assertThat(lines).hasSize(1 + 2 * 199);
    for (int i = 1; i < lines.size(); i++) {
      int columns = (i + 1) / 2;
      assertWithMessage(lines.get(i)).that(lines.get(i).length()).isAtMost(columns - 1);
    }
  }

  @Test
  void aLogHasALineEveryFewSeconds() {
    ProgressDisplay display = display(false, 80);
    display.begin("diff", 1, 1);
    for (int i = 0; i <= 12; i++) {
      display.show(i, 64, seconds(i));
    }
    display.end();
    assertThat(out.toString()).isEqualTo("1/1 diff: 7%\n1/1 diff: 15%\n");
  }

  @Test
  void quickWorkLeavesNoLineInALog() {
    ProgressDisplay display = display(false, 80);
    display.begin("diff", 1, 1);
    display.show(1, 2, seconds(1));
    display.end();
    assertThat(out.toString()).isEmpty();
  }
}
