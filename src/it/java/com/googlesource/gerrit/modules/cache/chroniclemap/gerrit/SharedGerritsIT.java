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
import static com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.RedisProcess.await;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.RedisProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.RedisClient;

/**
 * Two Gerrits on the same repositories with a real Redis between them: what one has computed, the
 * other takes; and whatever happens to the server, all requests are answered, and rightly.
 */
@TestInstance(Lifecycle.PER_CLASS)
class SharedGerritsIT {
  private static final String PROJECT = "shared";
  private static final int CHANGES = 9;

  private final List<GerritDaemon> daemons = new ArrayList<>();
  private final List<GerritSite> sites = new ArrayList<>();
  private RedisProcess redis;
  private Gerrit first;
  private Gerrit second;
  private Workload workload;
  private Map<String, String> answers;
  private GerritSite secondSite;

  @BeforeAll
  void startFirst(@TempDir Path tmp) throws Exception {
    redis = RedisProcess.start(tmp);
    GerritSite site = site(tmp.resolve("first"));
    first = new Gerrit(site);
    daemons.add(GerritDaemon.start(site));
    first.createProject(PROJECT);
    workload = new Workload(first, PROJECT);
    workload.push(CHANGES);
    workload.comment(workload.changes());
    answers = workload.readAll(first.rest());

    secondSite = site(tmp.resolve("second"));
    secondSite.edit(
        config ->
            config.setString("gerrit", null, "basePath", site.path().resolve("git").toString()));
    second = new Gerrit(secondSite);
  }

  /** A Gerrit with this module, which as yet shares nothing. */
  private GerritSite site(Path folder) throws Exception {
    GerritSite site = SiteTemplate.siteWithModule(folder);
    sites.add(site);
    site.share(redis.url());
    return site;
  }

  @AfterAll
  void stop() throws Exception {
    for (GerritDaemon daemon : daemons) {
      daemon.close();
    }
    for (GerritSite site : sites) {
      site.saveLogs("SharedGerritsIT-" + site.path().getParent().getFileName());
      site.close();
    }
    redis.close();
  }

  private static Map<String, JsonObject> caches(Gerrit gerrit) {
    Map<String, JsonObject> caches = new HashMap<>();
    for (JsonElement cache : gerrit.shared().getAsJsonArray("caches")) {
      caches.put(cache.getAsJsonObject().get("name").getAsString(), cache.getAsJsonObject());
    }
    return caches;
  }

  private GerritDaemon startSecond() throws IOException {
    GerritDaemon daemon = GerritDaemon.start(secondSite);
    daemons.add(daemon);
    return daemon;
  }

  /** One story, as each step needs the ones before. */
  @Test
  void whatOneHasComputedTheOtherTakesAndNoFaultIsSeen() throws Exception {
    aFreshNodeComputesNoChangeAndNoDiff();
    theMetricsArePublished();
    theCheckSaysThatAllIsWell();
    noFaultOfTheServerIsSeen();
  }

  private void aFreshNodeComputesNoChangeAndNoDiff() throws Exception {
    await(() -> first.shared("sent") > 0 && first.shared("queued_bytes") == 0);
    var unused = startSecond();
    await(() -> second.shared("answering") == 1);
    assertThat(workload.readAll(second.rest())).isEqualTo(answers);
    Map<String, JsonObject> caches = caches(second);
    for (String name : List.of("change_notes", "gerrit_file_diff")) {
      JsonObject cache = caches.get(name);
      assertWithMessage("%s", cache).that(cache.get("shared_hits").getAsLong()).isGreaterThan(0);
      assertWithMessage("%s", cache).that(cache.get("shared_misses").getAsLong()).isEqualTo(0);
      assertWithMessage("%s", cache).that(cache.get("shared_not_asked").getAsLong()).isEqualTo(0);
    }
    assertThat(caches).doesNotContainKey("web_sessions");
    assertThat(second.ssh().run("cache-chroniclemap shared")).contains("change_notes");
  }

  private void theMetricsArePublished() throws IOException {
    for (String prefix : List.of("caches/chroniclemap/shared_", "shared/chroniclemap/")) {
      List<String> documented =
          Pattern.compile("`(" + prefix + "\\w+)` \\|")
              .matcher(Files.readString(Path.of("resources/Documentation/metrics.md")))
              .results()
              .map(row -> row.group(1))
              .toList();
      assertThat(documented).isNotEmpty();
      // Gerrit takes prefixes that are folders only.
      String folder = prefix.substring(0, prefix.lastIndexOf('/') + 1);
      JsonObject published =
          second.rest().get("/config/server/metrics/?prefix=" + folder).json().getAsJsonObject();
      assertThat(published.keySet().stream().filter(name -> name.startsWith(prefix)).toList())
          .containsExactlyElementsIn(documented);
    }
  }

  private void theCheckSaysThatAllIsWell() throws IOException {
    for (Gerrit gerrit : List.of(first, second)) {
      String check = gerrit.ssh().run("cache-chroniclemap shared --check");
      assertThat(check).contains("median");
      assertThat(check).contains("allkeys-lfu");
      assertThat(check).doesNotContain("FAILED");
    }
  }

  private void noFaultOfTheServerIsSeen() throws Exception {
    AtomicBoolean done = new AtomicBoolean();
    ExecutorService executor = Executors.newCachedThreadPool();
    try {
      List<Future<Integer>> readers = new ArrayList<>();
      for (Gerrit gerrit : List.of(first, second)) {
        readers.add(executor.submit(() -> readUntil(gerrit, done)));
      }
      redis.freeze();
      int round = 0;
      // A node asks for what others are likely to have, so not each step asks.
      for (int i = 0; i < 20 && second.shared("timeouts") == 0; i++) {
        step(round);
      }
      assertThat(second.shared("timeouts")).isGreaterThan(0);
      redis.thaw();
      step(round++);
      redis.kill();
      step(round++);
      redis.start();
      step(round++);
      poison();
      step(round++);
      try (RedisClient client = redis.client()) {
        client.configSet("maxmemory", "1");
        step(round++);
        client.configSet("maxmemory", "0");
        client.flushAll();
      }
      step(round++);
      done.set(true);
      for (Future<Integer> reader : readers) {
        assertThat(reader.get()).isGreaterThan(0);
      }
    } finally {
      done.set(true);
      executor.shutdownNow();
    }
    for (Gerrit gerrit : List.of(first, second)) {
      await(() -> gerrit.shared("answering") == 1);
      assertThat(workload.readAll(gerrit.rest())).isEqualTo(answers);
    }
  }

  /** Changes something that both have to compute anew, and waits until both have. */
  private void step(int round) throws IOException {
    int change = workload.changes().get(round);
    first.review(change, 1, "round " + round);
    answers = workload.readAll(first.rest());
    assertThat(workload.readAll(second.rest())).isEqualTo(answers);
  }

  /** Reads all, again and again; fails if a request does. */
  private int readUntil(Gerrit gerrit, AtomicBoolean done) throws IOException {
    int rounds = 0;
    while (!done.get()) {
      assertThat(workload.readAll(gerrit.rest())).isNotEmpty();
      rounds++;
    }
    return rounds;
  }

  /** Has all values swapped and some be random. */
  private void poison() {
    try (RedisClient client = redis.client()) {
      byte[] before = "random".getBytes(java.nio.charset.StandardCharsets.UTF_8);
      for (byte[] key : client.keys(new byte[] {'*'})) {
        byte[] value = client.get(key);
        client.set(key, before);
        before = value;
      }
    }
  }
}
