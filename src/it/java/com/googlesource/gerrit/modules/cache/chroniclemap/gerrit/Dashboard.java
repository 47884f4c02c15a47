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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import com.google.common.collect.ImmutableList;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The queries of the dashboard for Grafana, and what Grafana makes of them. */
record Dashboard(ImmutableList<Query> queries, ImmutableList<Variable> variables) {
  private static final Path FILE = Path.of("resources/static/grafana/cache-chroniclemap.json");

  private static final Pattern LABEL_VALUES = Pattern.compile("label_values\\((.+), (\\w+)\\)");

  /** One query of a panel. */
  record Query(String panel, String legend, String expression) {
    String name() {
      return panel + (legend.isEmpty() ? "" : ", " + legend);
    }
  }

  /**
   * A variable that users choose values of.
   *
   * @param all what stands for all its values
   * @param selector of the series that have its values
   * @param label that they have them in
   * @param part of a label's value that is the variable's value
   */
  record Variable(String name, String all, String selector, String label, Pattern part) {
    /** The values of the variable that these values of the label are. */
    ImmutableList<String> values(ImmutableList<String> ofLabel) {
      return ofLabel.stream()
          .map(part::matcher)
          .filter(Matcher::matches)
          .map(matcher -> matcher.group(1))
          .collect(ImmutableList.toImmutableList());
    }
  }

  static Dashboard read() throws IOException {
    JsonObject json = JsonParser.parseString(Files.readString(FILE)).getAsJsonObject();
    ImmutableList.Builder<Query> queries = ImmutableList.builder();
    for (JsonElement element : json.getAsJsonArray("panels")) {
      JsonObject panel = element.getAsJsonObject();
      if (panel.has("targets")) {
        for (JsonElement target : panel.getAsJsonArray("targets")) {
          queries.add(
              new Query(
                  string(panel, "title"),
                  string(target.getAsJsonObject(), "legendFormat"),
                  string(target.getAsJsonObject(), "expr")));
        }
      }
    }
    ImmutableList.Builder<Variable> variables = ImmutableList.builder();
    for (JsonElement element : json.getAsJsonObject("templating").getAsJsonArray("list")) {
      JsonObject variable = element.getAsJsonObject();
      if (string(variable, "type").equals("query")) {
        variables.add(variable(variable));
      }
    }
    return new Dashboard(queries.build(), variables.build());
  }

  private static Variable variable(JsonObject json) throws IOException {
    String query = string(json.getAsJsonObject("query"), "query");
    Matcher parts = LABEL_VALUES.matcher(query);
    if (!parts.matches()) {
      throw new IOException("unknown query of a variable: " + query);
    }
    String part = json.has("regex") ? string(json, "regex").replaceAll("^/|/$", "") : "(.*)";
    return new Variable(
        string(json, "name"),
        string(json, "allValue"),
        parts.group(1),
        parts.group(2),
        Pattern.compile(part));
  }

  private static String string(JsonObject json, String name) {
    return json.get(name).getAsString();
  }

  /** A query or selector with the values of variables, each as Grafana writes it. */
  static String with(Map<String, String> values, String query) {
    return Pattern.compile("\\$([a-z]\\w*)")
        .matcher(query)
        .replaceAll((MatchResult name) -> Matcher.quoteReplacement(values.get(name.group(1))));
  }
}
