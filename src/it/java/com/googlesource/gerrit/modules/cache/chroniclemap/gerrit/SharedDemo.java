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

import static com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.RedisProcess.await;

import com.google.common.base.Splitter;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.RedisProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;

/** Shows two Gerrits and one server that they share. Started by {@code bin/demo --shared}. */
final class SharedDemo {
  private static final String PROJECT = "demo";
  private static final int CHANGES = 30;

  private final Story story;
  private final Path root;
  private final RedisProcess redis;

  private SharedDemo(Story story, Path root, RedisProcess redis) {
    this.story = story;
    this.root = root;
    this.redis = redis;
  }

  public static void main(String[] args) throws Exception {
    Story story = new Story(Boolean.getBoolean("demo.terminal"));
    Path root = Files.createTempDirectory("cache-chroniclemap-demo-");
    try (RedisProcess redis = RedisProcess.start(root, "--maxmemory", "64mb")) {
      AtExit.add(redis);
      new SharedDemo(story, root, redis).run();
    } catch (Exception e) {
      story.failed(e.toString());
    } finally {
      Folders.delete(root);
    }
    System.exit(story.end() ? 0 : 1);
  }

  private void run() throws Exception {
    story.chapter("A server, and a Gerrit that fills it");
    story.line(redis.url() + " is Redis, with maxmemory 64 MB");
    GerritSite first = GerritSite.init(root.resolve("first"));
    first.installModule(BuildFolder.moduleJar());
    first.share(redis.url());
    GerritSite second = first.copyTo(root.resolve("second"));
    second.edit(
        config ->
            config.setString("gerrit", null, "basePath", first.path().resolve("git").toString()));
    try (GerritDaemon one = start(first)) {
      Gerrit a = new Gerrit(first);
      a.createProject(PROJECT);
      Workload team = new Workload(a, PROJECT);
      team.push(CHANGES);
      team.comment(team.changes());
      Map<String, String> answers = team.readAll(a.rest());
      await(() -> a.shared("sent") > 0 && a.shared("queued_bytes") == 0);
      story.check(a.shared("sent") > 0, a.shared("sent") + " values were computed and sent");

      story.chapter("What the administrator sees: cache-chroniclemap shared --check");
      Splitter.on('\n')
          .split(a.ssh().run("cache-chroniclemap shared --check").trim())
          .forEach(story::line);

      story.chapter("A second Gerrit with empty caches");
      try (GerritDaemon two = start(second)) {
        Gerrit b = new Gerrit(second);
        await(() -> b.shared("answering") == 1);
        story.check(
            team.readAll(b.rest()).equals(answers),
            "it answers %d requests as the first one does".formatted(answers.size()));
        for (JsonElement element : b.shared().getAsJsonArray("caches")) {
          JsonObject cache = element.getAsJsonObject();
          long hits = cache.get("shared_hits").getAsLong();
          if (hits > 0) {
            story.line(
                "%s: %d values taken, %d not there"
                    .formatted(
                        cache.get("name").getAsString(),
                        hits,
                        cache.get("shared_misses").getAsLong()));
          }
        }

        story.chapter("The server does not answer");
        redis.freeze();
        long begun = System.nanoTime();
        int change = team.changes().get(0);
        a.review(change, 1, "while the server is frozen");
        String detail = team.path(change) + "/detail";
        boolean isSame = a.rest().get(detail).body().equals(b.rest().get(detail).body());
        story.check(
            isSame,
            String.format(
                Locale.ROOT,
                "a vote and two looks at it took %.1f s; time-outs of both Gerrits: %d",
                (System.nanoTime() - begun) / 1e9,
                a.shared("timeouts") + b.shared("timeouts")));
        redis.thaw();
        await(() -> a.shared("answering") == 1 && b.shared("answering") == 1);
        story.passed("once it answers again, both ask it again");
        two.stop();
      }
      one.stop();
    }
  }

  private GerritDaemon start(GerritSite site) throws Exception {
    return story.slowly("starting Gerrit", () -> GerritDaemon.start(site));
  }
}
