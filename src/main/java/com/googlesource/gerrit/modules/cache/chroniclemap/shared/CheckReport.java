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

package com.googlesource.gerrit.modules.cache.chroniclemap.shared;

import static com.google.common.base.Strings.lenientFormat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** What works and what does not between this server and the log, for an administrator. */
public final class CheckReport {
  /**
   * One finding. The names are also those in JSON, which are documented.
   *
   * @param good whether nothing has to be done about it
   * @param subject what was looked at, in a word or two
   * @param text what was found; if it is not good, what to do as well
   */
  public record Line(boolean good, String subject, String text) {}

  private final List<Line> lines = new ArrayList<>();

  void good(String subject, String text, Object... args) {
    lines.add(new Line(true, subject, lenientFormat(text, args)));
  }

  void bad(String subject, String text, Object... args) {
    lines.add(new Line(false, subject, lenientFormat(text, args)));
  }

  public List<Line> lines() {
    return Collections.unmodifiableList(lines);
  }

  /** Whether nothing has to be done. */
  public boolean isGood() {
    return lines.stream().allMatch(Line::good);
  }
}
