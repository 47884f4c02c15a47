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

import com.google.common.base.Splitter;
import com.google.common.collect.Iterables;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RestClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The REST API of a real Gerrit, beside the SSH commands. */
@Timeout(300)
class AdminRestIT extends OneGerrit {
  private static final String BASE = "/config/server/cache-chroniclemap~";
  private static final String TASKS = "/config/server/tasks/";

  private RestClient admin;

  @Override
  void prepare(Path tmp) throws Exception {
    super.prepare(tmp);
    shareValues(tmp);
  }

  @BeforeAll
  void createProjects() throws IOException {
    admin = gerrit.rest();
    for (String project : List.of("shown", "a/b")) {
      gerrit.createProject(project);
    }
  }

  private RestClient user(String name, String... capabilities) throws IOException {
    gerrit.createUserWithPassword(name);
    for (String capability : capabilities) {
      gerrit.grant(name, capability);
    }
    return RestClient.withPassword(site.url(), name, "secret");
  }

  private static JsonObject object(RestClient.Reply reply) {
    return reply.json().getAsJsonObject();
  }

  /** The names of the fields; most figures change from one call to the next. */
  private static List<String> fields(JsonElement object) {
    return List.copyOf(object.getAsJsonObject().keySet());
  }

  @Test
  void cachesAreThoseOfSsh() throws Exception {
    JsonObject rest = admin.object(BASE + "caches");
    JsonObject ssh = gerrit.ssh().json("show");
    assertThat(fields(rest)).isEqualTo(fields(ssh));
    assertThat(rest.get("directory")).isEqualTo(ssh.get("directory"));
    assertThat(fields(rest.get("caches"))).isEqualTo(fields(ssh.get("caches")));
    for (String name : fields(rest.get("caches"))) {
      JsonObject cache = rest.getAsJsonObject("caches").getAsJsonObject(name);
      JsonObject same = ssh.getAsJsonObject("caches").getAsJsonObject(name);
      assertThat(fields(cache)).isEqualTo(fields(same));
      assertThat(cache.get("name").getAsString()).isEqualTo(name);
      assertThat(cache.get("limit_bytes")).isEqualTo(same.get("limit_bytes"));
    }
    JsonObject one = admin.object(BASE + "caches/change_notes");
    assertThat(one.get("name").getAsString()).isEqualTo("change_notes");
    assertThat(fields(one)).isEqualTo(fields(rest.getAsJsonObject("caches").get("change_notes")));
    assertThat(admin.tryGet(BASE + "caches/nonsense").status()).isEqualTo(404);
  }

  @Test
  void refsAreThoseOfSsh() throws Exception {
    JsonObject rest = admin.object(BASE + "refs");
    JsonObject ssh = gerrit.ssh().json("refs");
    assertThat(fields(rest.get("totals"))).isEqualTo(fields(ssh.get("totals")));
    assertThat(rest.getAsJsonObject("projects").size())
        .isEqualTo(ssh.getAsJsonObject("projects").size());
    JsonObject one = admin.object(BASE + "refs/a%2Fb");
    assertThat(one.get("name").getAsString()).isEqualTo("a/b");
    RestClient.Reply none = admin.tryGet(BASE + "refs/nonsense");
    assertThat(none.status()).isEqualTo(404);
    assertThat(none.body()).contains("no parsed refs of \"nonsense\"");
  }

  /** And an event of each task. */
  @Test
  void theOverviewTellsWhatFiguresMean() throws Exception {
    JsonObject overview = admin.object(BASE + "overview");
    String name = fields(overview.get("caches")).get(0);
    JsonObject cache = overview.getAsJsonObject("caches").getAsJsonObject(name);
    JsonObject meanings = overview.getAsJsonObject("meanings");
    for (String field : fields(cache)) {
      JsonElement value = cache.get(field);
      if (value.isJsonPrimitive() && value.getAsJsonPrimitive().isNumber()) {
        assertWithMessage(field).that(meanings.getAsJsonObject("caches").has(field)).isTrue();
      }
    }
    RestClient.Reply started = admin.tryPost(BASE + "caches/" + name + "/verify", "{}");
    String task = object(started).get("id").getAsString();
    ended(started, name);
    assertThat(admin.object(BASE + "overview").getAsJsonArray("events").toString())
        .contains("\"task\":\"" + task + "\"");
  }

  @Test
  void rightsAreThoseOfSsh() throws Exception {
    RestClient nobody = user("nobody");
    RestClient viewer = user("viewer", "viewCaches");
    for (String path :
        List.of(
            "caches",
            "caches/change_notes",
            "caches/change_notes/history",
            "history",
            "overview",
            "refs",
            "refs/shown")) {
      for (RestClient user : List.of(nobody, RestClient.anonymous(site.url()))) {
        RestClient.Reply refusal = user.tryGet(BASE + path);
        assertWithMessage(path).that(refusal.status()).isEqualTo(403);
        assertWithMessage(path).that(refusal.body().strip()).isEqualTo("view caches not permitted");
      }
      assertWithMessage(path).that(viewer.tryGet(BASE + path).status()).isEqualTo(200);
    }
    String cache = BASE + "caches/change_notes/";
    assertThat(nobody.tryPost(cache + "verify", "{}").status()).isEqualTo(403);
    assertThat(viewer.tryPost(cache + "verify", "{}").status()).isEqualTo(202);
    assertThat(viewer.tryPost(cache + "verify", "{\"repair\": true}").status()).isEqualTo(403);
  }

  /** Waits for the end of a task, whose first answer this is, and returns its event. */
  private JsonObject ended(RestClient.Reply started, String cache) throws Exception {
    assertThat(started.status()).isEqualTo(202);
    String path = TASKS + object(started).get("id").getAsString();
    Deadline.awaitInAMinute(() -> isGone(path), path + " ends");
    return admin
        .object(BASE + "caches/" + cache + "/history")
        .getAsJsonArray("events")
        .get(0)
        .getAsJsonObject();
  }

  private boolean isGone(String task) throws IOException {
    return admin.tryGet(task).status() == 404;
  }

  @Test
  void workIsDoneAsATask() throws Exception {
    String cache = BASE + "caches/change_notes/";
    int before = ofVerify(cache);
    RestClient.Reply started = admin.tryPost(cache + "verify", "{}");
    assertThat(object(started).get("command").getAsString())
        .startsWith("cache-chroniclemap verify change_notes (admin)");
    JsonObject verified = ended(started, "change_notes");
    assertThat(verified.get("kind").getAsString()).isEqualTo("verify");
    assertThat(verified.get("text").getAsString()).isEqualTo("verify by admin: sound");
    JsonObject result = verified.getAsJsonObject("result");
    JsonObject ssh =
        gerrit
            .ssh()
            .json("verify change_notes")
            .getAsJsonObject("caches")
            .getAsJsonObject("change_notes");
    assertThat(fields(result)).isEqualTo(fields(ssh));
    assertThat(result.get("result").getAsString()).isEqualTo("sound");
    // Of the task and of the command.
    assertThat(ofVerify(cache)).isEqualTo(before + 2);
  }

  private int ofVerify(String cache) throws Exception {
    return Splitter.on("verify by admin: sound")
            .splitToList(admin.get(cache + "history").body())
            .size()
        - 1;
  }

  /** Begins to verify all caches, and returns the ids of the tasks. */
  private List<String> verifyAll() throws IOException {
    List<String> ids = new ArrayList<>();
    for (String cache : fields(admin.object(BASE + "caches").get("caches"))) {
      RestClient.Reply started = admin.tryPost(BASE + "caches/" + cache + "/verify", "{}");
      assertThat(started.status()).isAnyOf(202, 409);
      if (started.status() == 202) {
        ids.add(object(started).get("id").getAsString());
      }
    }
    return ids;
  }

  /** A task may have ended before it is cancelled. */
  @Test
  void gerritCancelsATask() throws Exception {
    String path = TASKS + Iterables.getLast(verifyAll());
    RestClient.Reply deleted = admin.tryDelete(path);
    // Gerrit's answer to a task that ends between its look for it and the cancellation.
    boolean hasJustEnded =
        deleted.status() == 500 && deleted.body().contains("Unable to kill task");
    if (!hasJustEnded) {
      assertThat(deleted.status()).isAnyOf(204, 404);
    }
    Deadline.awaitInAMinute(() -> isGone(path), path + " ends");
    assertThat(admin.get(BASE + "history").body()).contains("verify by admin: ");
  }

  @Test
  void theExamplesOfThePageWork() throws Exception {
    Pattern example =
        Pattern.compile(
            "^curl -u admin:secret(?: -X POST -H Content-Type:application/json -d '(.*)')?"
                + " https://HOST/a(\\S+)$",
            Pattern.MULTILINE);
    String page = Files.readString(Path.of("resources/Documentation/rest-api-config.md"));
    List<MatchResult> examples = example.matcher(page).results().toList();
    assertThat(examples).hasSize((int) page.lines().filter(l -> l.startsWith("curl")).count());
    for (MatchResult each : examples) {
      String body = each.group(1);
      RestClient.Reply reply =
          body == null ? admin.tryGet(each.group(2)) : admin.tryPost(each.group(2), body);
      assertWithMessage("%s: %s", each.group(), reply.body()).that(reply.isOk()).isTrue();
    }
  }

  /** With {@code -Dsamples.write=true}, those that no longer hold are written anew. */
  @Test
  void theSamplesOfThePageAreAnswers() throws Exception {
    JsonArray tasks = takeTasks();
    parse("shown");
    damage("spoiled");
    var unused =
        ended(
            admin.tryPost(BASE + "caches/persisted_projects/verify", "{\"repair\": true}"),
            "persisted_projects");
    RestClient.Reply verify = admin.tryPost(BASE + "caches/accounts/verify", "{}");
    unused = ended(verify, "accounts");
    Deadline.awaitInAMinute(
        () ->
            admin.object(BASE + "overview").getAsJsonObject("since").size() > 0
                && gerrit.ssh().json("shared").get("unreachable").getAsLong() == 0,
        "a first sample, and the connection");

    RestSamples samples = new RestSamples(site.path());
    samples.check(BASE + "caches/accounts", "accounts", admin, answer -> answer);
    samples.check(BASE + "caches", "all", admin, answer -> keep(answer, "caches", "accounts"));
    samples.check(BASE + "refs/shown", "shown", admin, answer -> answer);
    samples.check(BASE + "refs", "refs", admin, answer -> keep(answer, "projects", "shown"));
    samples.check(BASE + "overview", "all", admin, answer -> shorten(answer, tasks));
    samples.check(BASE + "caches/accounts/history", "history", admin, answer -> answer);
    samples.check(BASE + "history", "history", admin, answer -> answer);
    JsonObject task = object(verify);
    task.addProperty("state", "RUNNING");
    // Its text has the progress, if it has begun by now.
    String command = task.get("command").getAsString();
    task.addProperty("command", command.replaceAll(" \\d+%$", ""));
    samples.check("POST " + BASE + "caches/accounts/verify", "task", verify, task);
    samples.check("GET " + BASE + "caches/nonsense", admin.tryGet(BASE + "caches/nonsense"));
    samples.end();
  }

  /** An overview with one entry of each map, and with tasks. */
  private static JsonObject shorten(JsonObject overview, JsonArray tasks) {
    keep(overview, "caches", "accounts");
    keep(overview.getAsJsonObject("since"), "caches", "accounts");
    keep(overview.getAsJsonObject("refs"), "projects", "shown");
    JsonObject meanings = overview.getAsJsonObject("meanings");
    for (String kind : fields(meanings)) {
      keep(meanings, kind, fields(meanings.get(kind)).get(0));
    }
    overview.add("tasks", tasks);
    return overview;
  }

  /**
   * Returns a task, in words that do not vary. The queue may be empty again before a look at it.
   */
  private JsonArray takeTasks() throws IOException {
    JsonArray found = new JsonArray();
    Deadline.awaitInAMinute(
        () -> {
          var unused = verifyAll();
          found.addAll(admin.object(BASE + "overview").getAsJsonArray("tasks"));
          return !found.isEmpty();
        },
        "a task that is queued or running");
    JsonObject task = found.get(0).getAsJsonObject();
    for (Map.Entry<String, String> each :
        Map.of("cache", "accounts", "state", "running", "progress", "40%").entrySet()) {
      assertThat(task.has(each.getKey())).isTrue();
      task.addProperty(each.getKey(), each.getValue());
    }
    Deadline.awaitInAMinute(
        () -> admin.object(BASE + "overview").getAsJsonArray("tasks").isEmpty(), "all tasks end");
    return found;
  }

  /** Has the refs of a project parsed, one of them a bad one. */
  private void parse(String project) throws IOException {
    site.git(project, "pack-refs", "--all");
    Files.writeString(site.repository(project).resolve("refs/heads/desktop.ini"), "[Shell]");
    Deadline.awaitInAMinute(
        () -> {
          var unused = gerrit.branches(project);
          JsonObject refs = admin.object(BASE + "refs/" + project);
          return refs.has("last_parse") && !refs.getAsJsonArray("bad_refs").isEmpty();
        },
        "parsed refs and a bad one");
  }

  /** Leaves one member of a map in an answer. */
  private static JsonObject keep(JsonObject answer, String map, String name) {
    JsonObject one = new JsonObject();
    one.add(name, answer.getAsJsonObject(map).get(name));
    answer.add(map, one);
    return answer;
  }
}
