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

import static com.google.common.base.Strings.padEnd;

import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.TextTable.Screen;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.CheckReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedReport;
import java.util.ArrayList;
import java.util.List;

/** A formatter of what is shared with other servers, as text and as JSON. */
final class SharedTable {
  private static final int SUBJECT_WIDTH = 12;

  private SharedTable() {}

  static void print(Screen out, SharedReport report) {
    String through = report.failure().isEmpty() ? "Values are" : "Not connected, no values are";
    out.printWrapped(through + " shared through " + report.server());
    out.println("");
    out.printFigures(Figures.of(SharedMetrics.ALL, report));
    List<String> problems = problems(report);
    if (!problems.isEmpty()) {
      out.println("");
      problems.forEach(out::printWrapped);
    }
  }

  /** What an administrator should know, in sentences. */
  static List<String> problems(SharedReport report) {
    List<String> all = new ArrayList<>();
    if (!report.failure().isEmpty()) {
      all.add(
          "no connection (it is tried again within half a minute), so each value is computed on each"
              + " server: "
              + report.failure());
    } else if (report.isFull()) {
      all.add("the server is full, so what is computed here does not reach the others");
    }
    if (report.isRefusing()) {
      all.add(
          "records were refused within the last hour; all servers of the site need"
              + " the same sharedSecret");
    }
    return all;
  }

  static void print(Screen out, CheckReport report) {
    for (CheckReport.Line line : report.lines()) {
      out.printWrapped(
          (line.good() ? "ok    " : "WRONG ")
              + padEnd(line.subject(), SUBJECT_WIDTH, ' ')
              + line.text());
    }
  }

  static JsonObject json(SharedReport report) {
    JsonObject out = new JsonObject();
    out.addProperty("server", report.server());
    out.addProperty("failure", report.failure());
    return Figures.of(SharedMetrics.ALL, report).addTo(out, Metric::shortName);
  }

  static JsonObject json(CheckReport report) {
    JsonObject out = new JsonObject();
    out.addProperty("good", report.isGood());
    out.add("lines", CachesJson.GSON.toJsonTree(report.lines()));
    return out;
  }
}
