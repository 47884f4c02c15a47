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
import com.google.common.collect.ImmutableMap;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A real Prometheus that reads the metrics of one Gerrit, and evaluates rules, once a second. It
 * keeps all in a folder of its own. Closing it stops it.
 */
final class Prometheus implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(30);

  private final Process process;
  private final RestClient api;

  private Prometheus(Process process, int port) {
    this.process = process;
    this.api = RestClient.anonymous("http://127.0.0.1:" + port);
  }

  /** One series at one time. */
  record Sample(ImmutableMap<String, String> labels, double value) {}

  /** A rule as it was evaluated last. The state of a rule that is no alert is empty. */
  record Rule(String name, String health, String state) {}

  /**
   * Starts it, and waits until it is ready.
   *
   * @param folder for its configuration, data and log; need not exist
   * @param scrapeConfigs the section of the configuration that says what to read
   * @param rules the file with rules
   */
  static Prometheus start(Path folder, String scrapeConfigs, Path rules) throws IOException {
    Path config = Files.createDirectories(folder).resolve("prometheus.yml");
    Files.writeString(
        config,
        String.format(
            Locale.ROOT,
            """
        global:
          scrape_interval: 1s
          evaluation_interval: 1s
        rule_files:
          - %s
        %s
        """,
            rules.toAbsolutePath(),
            scrapeConfigs));
    int port = Ports.free();
    Process process =
        run(
            logOf(folder),
            "prometheus",
            "--config.file=" + config,
            "--storage.tsdb.path=" + folder.resolve("data"),
            "--web.listen-address=127.0.0.1:" + port);
    Prometheus prometheus = new Prometheus(process, port);
    AtExit.add(prometheus);
    Deadline.in(LIMIT)
        .await(
            () -> prometheus.isReady() || !process.isAlive(), "Prometheus is ready, see " + folder);
    if (!process.isAlive()) {
      throw new IOException("Prometheus did not start:\n" + Files.readString(logOf(folder)));
    }
    return prometheus;
  }

  /** What it has logged. */
  static Path logOf(Path folder) {
    return folder.resolve("prometheus.log");
  }

  /** Runs the tool that comes with it, and fails if it fails. Returns its output. */
  static String tool(Path folder, String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of("promtool"));
    command.addAll(List.of(arguments));
    Path output = Files.createDirectories(folder).resolve("promtool.log");
    Process process = run(output, command.toArray(String[]::new));
    boolean ended = process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS);
    process.destroyForcibly();
    if (!ended || process.exitValue() != 0) {
      throw new IOException(command + " failed:\n" + Files.readString(output));
    }
    return Files.readString(output);
  }

  private static Process run(Path output, String... command) throws IOException {
    try {
      return new ProcessBuilder(command)
          .redirectErrorStream(true)
          .redirectOutput(output.toFile())
          .start();
    } catch (IOException e) {
      throw new IOException("needs Prometheus: apt-get install prometheus", e);
    }
  }

  private boolean isReady() {
    try {
      return api.tryGet("/-/ready").isOk();
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * Evaluates a query at some time. One in the near future is as if no newer values came until
   * then.
   */
  ImmutableList<Sample> query(String query, Instant time) throws IOException {
    ImmutableList.Builder<Sample> samples = ImmutableList.builder();
    JsonElement data = data("query?query=" + encode(query) + "&time=" + time.getEpochSecond());
    for (JsonElement element : data.getAsJsonObject().getAsJsonArray("result")) {
      JsonObject series = element.getAsJsonObject();
      ImmutableMap.Builder<String, String> labels = ImmutableMap.builder();
      for (Map.Entry<String, JsonElement> label : series.getAsJsonObject("metric").entrySet()) {
        labels.put(label.getKey(), label.getValue().getAsString());
      }
      // A string in JSON, which may be "NaN".
      JsonPrimitive value = series.getAsJsonArray("value").get(1).getAsJsonPrimitive();
      samples.add(new Sample(labels.buildOrThrow(), Double.parseDouble(value.getAsString())));
    }
    return samples.build();
  }

  /** The values that a label has in the series that a selector selects. */
  ImmutableList<String> labelValues(String label, String selector) throws IOException {
    return data("label/" + label + "/values?match%5B%5D=" + encode(selector))
        .getAsJsonArray()
        .asList()
        .stream()
        .map(JsonElement::getAsString)
        .collect(ImmutableList.toImmutableList());
  }

  /** All rules. */
  ImmutableList<Rule> rules() throws IOException {
    ImmutableList.Builder<Rule> rules = ImmutableList.builder();
    for (JsonElement group : data("rules").getAsJsonObject().getAsJsonArray("groups")) {
      for (JsonElement element : group.getAsJsonObject().getAsJsonArray("rules")) {
        JsonObject rule = element.getAsJsonObject();
        rules.add(
            new Rule(
                rule.get("name").getAsString(),
                rule.get("health").getAsString(),
                rule.has("state") ? rule.get("state").getAsString() : ""));
      }
    }
    return rules.build();
  }

  /** The annotations of all alerts that fire, or may soon. */
  ImmutableList<String> annotations() throws IOException {
    ImmutableList.Builder<String> texts = ImmutableList.builder();
    for (JsonElement alert : data("alerts").getAsJsonObject().getAsJsonArray("alerts")) {
      alert
          .getAsJsonObject()
          .getAsJsonObject("annotations")
          .asMap()
          .values()
          .forEach(text -> texts.add(text.getAsString()));
    }
    return texts.build();
  }

  private JsonElement data(String path) throws IOException {
    return api.get("/api/v1/" + path).json().getAsJsonObject().get("data");
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    process.destroy();
    try {
      Deadline.in(LIMIT).await(() -> !process.isAlive(), "Prometheus has ended");
    } finally {
      process.destroyForcibly();
      AtExit.remove(this);
    }
  }
}
