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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.demo;

import static com.google.common.base.Strings.lenientFormat;

import com.google.common.collect.ImmutableList;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.CacheFigures;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.RedisServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** {@code bin/demo --shared}: Gerrits on the same repositories that share what they compute. */
final class SharedDemo {
  private static final int CHANGES = 20;

  /** The caches on the way of the requests, whose values are shared. */
  private static final ImmutableList<String> WATCHED =
      ImmutableList.of("change_notes", "gerrit_file_diff", "modified_files", "change_kind");

  private final Story story;
  private final List<Node> nodes = new ArrayList<>();
  private RedisServer redis;

  /** Has the repositories; is copied and never started. */
  private GerritSite base;

  private Path root;

  /** One of the Gerrits. */
  private record Node(GerritSite site, GerritDaemon daemon, Gerrit gerrit) {
    long figure(String name) {
      try {
        return gerrit.ssh().json("shared").get(name).getAsLong();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  SharedDemo(Story story) {
    this.story = story;
  }

  boolean run() {
    try {
      root = Files.createTempDirectory("cache-chroniclemap-shared-demo-");
      tell();
    } catch (Exception e) {
      story.failed(e.toString());
    } finally {
      cleanUp();
    }
    return story.end();
  }

  private void tell() throws Exception {
    story.chapter("A Redis server, and two Gerrits with the same repositories");
    redis = RedisServer.start(root.resolve("redis"));
    base = GerritSite.init(root.resolve("base"));
    base.installModule(BuildFolder.moduleJar());
    Node a = start("a");
    Node b = start("b");
    a.gerrit.ssh().run("cache-chroniclemap shared --check").lines().forEach(story::line);

    story.chapter("Users of the first one push changes, review them and look at them");
    a.gerrit.createProject("work");
    Workload team = new Workload(a.gerrit, "work");
    team.push(CHANGES);
    team.comment(team.changes());
    Map<String, String> seen = read(a, team, "the first Gerrit");
    awaitAllRead(a, b);
    story.line(
        lenientFormat(
            "%s values are on the server, in %s bytes",
            a.figure("published"), a.figure("log_bytes")));

    story.chapter("Users of the second one look at the same changes");
    story.check(read(b, team, "the second Gerrit").equals(seen), "they see the same");
    story.check(computed(b) == 0, "nothing of " + WATCHED + " was computed again");

    story.chapter("A third Gerrit is started, which has never seen a change");
    Node c = start("c");
    awaitAllRead(a, c);
    story.check(read(c, team, "the third Gerrit").equals(seen), "its users see the same");
    story.check(computed(c) == 0, "nothing of " + WATCHED + " was computed again");

    story.chapter("The Redis server is killed");
    redis.kill();
    team.push(1);
    Map<String, String> more = read(a, team, "the first Gerrit");
    story.check(more.equals(read(b, team, "the second Gerrit")), "all goes on without it");
  }

  private Node start(String name) throws Exception {
    GerritSite site = base.copyTo(root.resolve(name));
    site.shareValues(redis.port());
    Path repositories = base.path().resolve("git");
    site.edit(config -> config.setString("gerrit", null, "basePath", repositories.toString()));
    GerritDaemon daemon = story.slowly("starting Gerrit " + name, () -> GerritDaemon.start(site));
    Node node = new Node(site, daemon, new Gerrit(site));
    nodes.add(node);
    story.passed("Gerrit " + name + " is ready at " + site.url());
    return node;
  }

  private Map<String, String> read(Node node, Workload team, String who) throws IOException {
    long begun = System.nanoTime();
    Map<String, String> answers = team.readAll(node.gerrit.rest());
    story.line(
        lenientFormat(
            "%s: %s answers in %s ms",
            who, answers.size(), (System.nanoTime() - begun) / 1_000_000));
    return answers;
  }

  /** The number of values that a node had neither on the heap nor on disk. */
  private static long computed(Node node) throws IOException {
    Map<String, CacheFigures> all = CacheFigures.of(node.gerrit.ssh());
    return WATCHED.stream().mapToLong(cache -> all.get(cache).diskMisses()).sum();
  }

  private static void awaitAllRead(Node from, Node by) {
    Deadline.in(Duration.ofMinutes(1))
        .await(
            () -> from.figure("queued") == 0 && by.figure("received") >= from.figure("published"),
            "all is read");
  }

  private void cleanUp() {
    try {
      for (Node node : nodes) {
        node.daemon.close();
        node.site.close();
      }
      if (base != null) {
        base.close();
      }
      if (redis != null) {
        redis.close();
      }
      if (root != null) {
        Folders.delete(root);
      }
    } catch (IOException e) {
      story.failed(e.toString());
    }
  }
}
