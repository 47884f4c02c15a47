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

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static java.util.stream.Collectors.joining;

import com.google.common.collect.Streams;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RestClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collector;
import java.util.stream.Stream;

/**
 * The samples on the page of the REST API: blocks of a request, the status and the answer. Of lists
 * they have the first entry. What an earlier sample shows under the same name is {@code {...}} or
 * {@code [...]}.
 */
final class RestSamples {
  private static final Path PAGE = Path.of("resources/Documentation/rest-api-config.md");

  /** Whether samples that no longer hold are written anew. */
  private static final boolean IS_WRITTEN = Boolean.getBoolean("samples.write");

  private static final String GUARD = RestClient.GUARD + "\n";
  private static final int WIDTH = 108;

  /** What is shorter is shown each time. */
  private static final int SHORT = 40;

  private final String site;
  private final Set<String> shown = new HashSet<>();
  private String page = Files.readString(PAGE);
  private int checked;

  /** Takes the folder of the site, which has another name on the page. */
  RestSamples(Path site) throws IOException {
    this.site = site.toString();
  }

  /**
   * Compares an answer with its sample: the status, the line before JSON, the names and their
   * order, the types, and texts but for their numbers.
   *
   * @param request the method and the path
   * @param name the name under which later samples have the answer
   * @param json the answer, of which maps may be shortened
   */
  void check(String request, String name, RestClient.Reply answer, JsonElement json) {
    check(request, answer, onPage(format(new Part("", leaveOut(name, usual(json))), "")));
  }

  /** Compares the answer to a GET. */
  void check(String path, String name, RestClient client, UnaryOperator<JsonObject> shortened)
      throws IOException {
    RestClient.Reply answer = client.get(path);
    check("GET " + path, name, answer, shortened.apply(answer.json().getAsJsonObject()));
  }

  /** Compares an answer that is a text, such as a refusal. */
  void check(String request, RestClient.Reply answer) {
    check(request, answer, answer.body().strip());
  }

  private void check(String request, RestClient.Reply answer, String body) {
    String now = answer.status() + "\n" + (answer.guarded() ? GUARD : "") + body + "\n";
    Matcher sample =
        Pattern.compile(Pattern.quote("```\n" + request + "\n") + "([^`]*)").matcher(page);
    assertWithMessage("a sample of %s", request).that(sample.find()).isTrue();
    checked++;
    String shows = comparable(sample.group(1));
    if (IS_WRITTEN && !shows.equals(comparable(now))) {
      page = page.substring(0, sample.start(1)) + now + page.substring(sample.end(1));
    } else {
      assertWithMessage("%s; -Dsamples.write=true writes it", request)
          .that(shows)
          .isEqualTo(comparable(now));
    }
  }

  /** Asserts that the page has no other samples, and writes it if that is wanted. */
  void end() throws IOException {
    assertThat(Pattern.compile("```\n[A-Z]+ /").matcher(page).results().count()).isEqualTo(checked);
    if (IS_WRITTEN) {
      Files.writeString(PAGE, page);
    }
  }

  /** Replaces what is another in each run. */
  private JsonElement usual(JsonElement json) {
    return JsonParser.parseString(
        json.toString()
            .replace(site, "/srv/gerrit")
            .replaceAll("127\\.0\\.0\\.1:\\d+", "redis.example.com:6379")
            .replaceAll("(?<=\"version\":\")[^\"]+", "1.1.0")
            .replaceAll("\"[0-9a-f]{8}\"", "\"1a2b3c4d\"")
            .replaceAll(
                "\"\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d\\.\\d{9}\"",
                "\"2026-11-30 18:22:03.000000000\""));
  }

  private JsonElement leaveOut(String name, JsonElement json) {
    if (oneLine(new Part("", json)).length() >= SHORT && !shown.add(name + " " + shape(json))) {
      return inJson(json.isJsonArray() ? "[...]" : "{...}");
    }
    if (!json.isJsonObject()) {
      return json;
    }
    JsonObject out = new JsonObject();
    parts(json).forEach(part -> out.add(part.name, leaveOut(part.name, part.value)));
    return out;
  }

  /** Reads JSON of the page, where what is left out is as JSON can have it. */
  private static JsonElement inJson(String text) {
    return JsonParser.parseString(
        text.replace("{...}", "{\"...\":0}").replace("[...]", "[\"...\"]"));
  }

  private static String onPage(String json) {
    return json.replace("{\"...\":0}", "{...}").replace("[\"...\"]", "[...]");
  }

  /** A sample without what may differ. */
  private static String comparable(String sample) {
    int json = sample.indexOf(GUARD) + GUARD.length();
    return json < GUARD.length()
        ? sample
        : sample.substring(0, json) + shape(inJson(sample.substring(json)));
  }

  private static String shape(JsonElement json) {
    if (isLeaf(json)) {
      return json.toString().replaceAll("-?\\d+", "0").replaceAll("true|false", "flag");
    }
    return parts(json).map(part -> part.label() + shape(part.value)).collect(joined("\n", json));
  }

  /** A member of an object, or the first entry of a list, which has no name. */
  private record Part(String name, JsonElement value) {
    String label() {
      return name.isEmpty() ? "" : new JsonPrimitive(name) + ":";
    }
  }

  private static Stream<Part> parts(JsonElement json) {
    return json.isJsonArray()
        ? Streams.stream(json.getAsJsonArray()).limit(1).map(entry -> new Part("", entry))
        : json.getAsJsonObject().entrySet().stream()
            .map(member -> new Part(member.getKey(), member.getValue()));
  }

  private static boolean isLeaf(JsonElement json) {
    return json.isJsonPrimitive() || json.isJsonNull();
  }

  private static Collector<CharSequence, ?, String> joined(String by, JsonElement of) {
    return of.isJsonArray() ? joining(by, "[", "]") : joining(by, "{", "}");
  }

  private static String oneLine(Part part) {
    JsonElement json = part.value;
    return part.label()
        + (isLeaf(json)
            ? json.toString()
            : parts(json).map(RestSamples::oneLine).collect(joined(",", json)));
  }

  /** Formats a part in one line if it fits, and otherwise with as many members a line as fit. */
  private static String format(Part part, String indent) {
    String line = oneLine(part);
    if (indent.length() + line.length() < WIDTH || isLeaf(part.value)) {
      return line;
    }
    if (part.value.isJsonArray()) {
      Part first = parts(part.value).findFirst().orElseThrow();
      return part.label() + "[" + format(first, indent) + "]";
    }
    String inner = indent + "  ";
    StringBuilder members = new StringBuilder();
    int column = WIDTH;
    for (Part each : parts(part.value).toList()) {
      String text = format(each, inner);
      boolean fits = column + text.length() + 1 < WIDTH;
      members.append(members.isEmpty() ? "" : ",").append(fits ? "" : "\n" + inner).append(text);
      column = text.contains("\n") ? WIDTH : text.length() + (fits ? column + 1 : inner.length());
    }
    return part.label() + "{" + members + "\n" + indent + "}";
  }
}
