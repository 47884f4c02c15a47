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

import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.AtOnce;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.ErrorLog;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.NativeGit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RestClient;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SiteTemplate;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.io.TempDir;

/**
 * Two Gerrits on one folder of repositories, each with its own caches and index, as behind a load
 * balancer: what one does to refs is there for the other's next look. The first trusts the times of
 * files, the second does not ({@code core.trustStat = never}), as on NFS.
 *
 * <p>{@code -Dtwo.gerrits.seconds=N} pushes for longer.
 */
@TestInstance(Lifecycle.PER_CLASS)
class TwoGerritsIT {
  private static final int SECONDS = Integer.getInteger("two.gerrits.seconds", 20);

  /** How often something is tried while {@code git pack-refs} holds locks. */
  private static final int TRIES = 200;

  private static final int STABLE_REFS = 100;

  /** What Gerrit logs where it does not get a lock. */
  private static final Pattern NO_LOCK =
      Pattern.compile("LockFail(ure|ed)Exception|NoSuchFileException: .*[.]lock");

  /** How long Gerrit may take to log what it has answered. */
  private static final Duration LOGGED = Duration.ofSeconds(20);

  private final List<GerritDaemon> servers = new ArrayList<>();
  private GerritSite first;
  private GerritSite second;

  @BeforeAll
  void start(@TempDir Path tmp) throws Exception {
    first = site(tmp.resolve("first"));
    second = site(tmp.resolve("second"));
    second.edit(config -> config.setString("gerrit", null, "basePath", repositories().toString()));
    Files.writeString(
        second.path().resolve("etc/jgit.config"),
        "[core]\n\ttrustStat = never\n",
        StandardOpenOption.CREATE,
        StandardOpenOption.APPEND);
    servers.addAll(
        AtOnce.run(List.of(() -> GerritDaemon.start(first), () -> GerritDaemon.start(second))));
  }

  private static GerritSite site(Path folder) throws Exception {
    GerritSite site = SiteTemplate.siteWithModule(folder);
    site.installRefsModule();
    return site;
  }

  private Path repositories() {
    return first.path().resolve("git");
  }

  @AfterAll
  void stop() throws Exception {
    for (GerritDaemon server : servers) {
      server.close();
    }
    GerritDaemon.end(servers, "TwoGerritsIT");
  }

  private Map<String, String> refsOfGit(String project) throws Exception {
    return NativeGit.refsIn(
        first.git(project, "for-each-ref", "--format=%(objectname) %(refname)"));
  }

  /** What {@code git ls-remote} shows. */
  private static Map<String, String> refsOf(GerritDaemon server, String project)
      throws IOException {
    return server.gerrit().git().refs(project);
  }

  private void assertAllAgree(String project) throws Exception {
    Map<String, String> expected = refsOfGit(project);
    for (GerritDaemon server : servers) {
      assertWithMessage("refs of %s", server.name())
          .that(refsOf(server, project))
          .isEqualTo(expected);
    }
  }

  private void createProject(String name) throws IOException {
    Gerrit one = servers.get(0).gerrit();
    one.createProject(name);
    one.grantToAdministratorsOnly(name, "refs/heads/*", "push");
  }

  @Test
  void whatOneDoesTheOtherSees() throws Exception {
    createProject("seen");
    assertAllAgree("seen");
    for (int round = 0; round < 6; round++) {
      GerritDaemon one = servers.get(round % 2);
      GerritDaemon other = servers.get((round + 1) % 2);
      String branch = "refs/heads/b" + round;

      one.gerrit().createBranch("seen", "b" + round);
      assertThat(other.gerrit().branches("seen")).contains(branch);

      NativeGit user = one.gerrit().git();
      String master = user.fetch("seen", "refs/heads/master");
      String commit = user.commit("round " + round, master);
      user.run("push", "-q", user.http("seen"), commit + ":" + branch);
      assertThat(refsOf(other, "seen")).containsEntry(branch, commit);

      String change = user.commit("change " + round, master);
      user.run("push", "-q", user.http("seen"), change + ":refs/for/master");
      assertThat(refsOf(other, "seen").values()).contains(change);
      if (round % 3 == 1) {
        first.git("seen", "pack-refs", "--all");
      } else if (round % 3 == 2) {
        assertThat(other.gerrit().ssh().run("gerrit gc --show-progress seen")).contains("done");
      }
      assertAllAgree("seen");

      other.gerrit().deleteBranch("seen", "b" + round);
      assertThat(one.gerrit().branches("seen")).doesNotContain(branch);
      assertAllAgree("seen");

      first.git("seen", "update-ref", "refs/heads/native" + round, "refs/heads/master");
      assertThat(one.gerrit().branches("seen")).contains("refs/heads/native" + round);
      assertThat(other.gerrit().branches("seen")).contains("refs/heads/native" + round);
    }
    first.git("seen", "fsck", "--no-progress");
    nothingFailed();
  }

  @Test
  void bothArePushedToWhileGitPacks() throws Exception {
    createProject("busy");
    Map<String, String> stable = new HashMap<>();
    String master = first.git("busy", "rev-parse", "refs/heads/master").trim();
    for (int i = 0; i < STABLE_REFS; i++) {
      String name = "refs/heads/stable/" + i;
      first.git("busy", "update-ref", name, master);
      stable.put(name, master);
    }

    AtomicInteger packs = new AtomicInteger();
    List<Pusher> pushers = new ArrayList<>();
    for (int i = 0; i < servers.size(); i++) {
      pushers.add(new Pusher(servers.get(i), servers.get(1 - i), stable, i));
    }
    Deadline end = Deadline.in(Duration.ofSeconds(SECONDS));
    Threads.meanwhile(
        1,
        thread -> {
          first.git("busy", "pack-refs", "--all");
          packs.incrementAndGet();
        },
        () -> Threads.together(pushers.size(), number -> pushers.get(number).pushUntil(end)));
    Map<String, Integer> refusals = new TreeMap<>();
    for (Pusher pusher : pushers) {
      assertThat(pusher.steps).isGreaterThan(0);
      pusher.refusals.forEach((reason, count) -> refusals.merge(reason, count, Integer::sum));
    }
    System.out.printf(
        Locale.ROOT,
        "two Gerrits: %d and %d steps, %d runs of git pack-refs, refused for locks: %s%n",
        pushers.get(0).steps,
        pushers.get(1).steps,
        packs.get(),
        refusals);
    assertAllAgree("busy");
    first.git("busy", "pack-refs", "--all");
    assertAllAgree("busy");
    for (Pusher pusher : pushers) {
      pusher.assertSeen(refsOfGit("busy"));
    }
    first.git("busy", "fsck", "--no-progress");
    nothingFailed();
  }

  private void nothingFailed() throws IOException {
    for (GerritDaemon server : servers) {
      JsonObject figures = server.refs();
      assertWithMessage(server.name()).that(figures.get("failures").getAsLong()).isEqualTo(0);
      assertWithMessage(server.name()).that(figures.get("left_to_jgit").getAsLong()).isEqualTo(0);
      assertWithMessage(server.name()).that(figures.get("lookups").getAsLong()).isGreaterThan(0);
    }
  }

  /** Pushes to one server, and looks at each push through the other. */
  private static final class Pusher {
    private final GerritDaemon one;
    private final NativeGit user;
    private final GerritDaemon other;
    private final Map<String, String> stable;
    private final Random random;

    /** Branches of this one, as they must be. */
    private final Map<String, String> expected = new TreeMap<>();

    /** Branches of this one that there must not be. */
    private final Set<String> deleted = new TreeSet<>();

    /** Commits under review. */
    private final Set<String> changes = new TreeSet<>();

    final Map<String, Integer> refusals = new ConcurrentHashMap<>();
    int steps;

    Pusher(GerritDaemon one, GerritDaemon other, Map<String, String> stable, int seed)
        throws IOException {
      this.one = one;
      this.user = one.gerrit().git();
      this.other = other;
      this.stable = stable;
      this.random = new Random(seed);
    }

    private String anyBranch() {
      return "refs/heads/" + one.name() + "/" + random.nextInt(8);
    }

    void pushUntil(Deadline end) throws Exception {
      Duration limit = Duration.ofSeconds(SECONDS);
      String master = user.fetch("busy", "refs/heads/master");
      while (end.elapsed().compareTo(limit) < 0) {
        steps++;
        String branch = anyBranch();
        switch (random.nextInt(4)) {
          case 0, 1 -> {
            // A new branch, or one commit more on it.
            expected.put(branch, push(expected.getOrDefault(branch, master), branch));
            deleted.remove(branch);
          }
          case 2 -> {
            if (expected.remove(branch) != null) {
              delete(branch);
              deleted.add(branch);
            }
          }
          default -> changes.add(push(master, "refs/for/master"));
        }
        assertSeen(refsOf(other, "busy"));
        if (steps % 4 == 0) {
          assertSeen(refsOf(one, "busy"));
        }
      }
    }

    /** Pushes a new commit on top of another, and returns it. */
    private String push(String parent, String ref) throws Exception {
      String commit = user.commit(one.name() + " " + steps, parent);
      retry(
          () -> {
            NativeGit.Result pushed = user.tryRun("push", user.http("busy"), commit + ":" + ref);
            return pushed.isOk() ? null : pushed.out();
          });
      return commit;
    }

    private void delete(String branch) throws Exception {
      String path = "/projects/busy/branches/" + branch.replace("/", "%2F");
      AtomicBoolean again = new AtomicBoolean();
      retry(
          () -> {
            RestClient.Reply reply = one.gerrit().rest().tryDelete(path);
            boolean gone = reply.isOk() || (again.getAndSet(true) && reply.status() == 404);
            return gone ? null : "DELETE " + reply.status() + " " + reply.body();
          });
    }

    /**
     * Waits until Gerrit has logged that it got no lock, after so many exceptions before. It
     * answers no more than that it failed where others hold a lock for too long, and where JGit
     * can't make one: git deletes a folder that it has emptied by packing while JGit makes a lock
     * in it, and JGit tries only twice.
     */
    private void awaitLogOfLock(int before, String refusal) throws IOException {
      try {
        Deadline.in(LOGGED)
            .await(
                () -> exceptions().stream().skip(before).anyMatch(NO_LOCK.asPredicate()), refusal);
      } catch (IllegalStateException e) {
        throw new AssertionError(
            "refused, not for a lock: " + refusal + exceptions().stream().skip(before).toList(), e);
      }
    }

    private List<String> exceptions() throws IOException {
      return ErrorLog.of(one.site()).lines(line -> line.contains("Exception: "));
    }

    /** Until it is not refused; git and Gerrit refuse only what is locked by others. */
    private void retry(Callable<String> action) throws Exception {
      for (int i = 0; i < TRIES; i++) {
        int logged = exceptions().size();
        String refusal = action.call();
        // The second for a change that was made by a try that was said to have failed.
        if (refusal == null || (i > 0 && refusal.contains("no new changes"))) {
          return;
        }
        if (!refusal.toLowerCase(Locale.ROOT).contains("lock")) {
          awaitLogOfLock(logged, refusal);
        }
        refusals.merge(refusal.replaceAll("[0-9a-f]{7,}|[0-9]+", "N"), 1, Integer::sum);
      }
      throw new AssertionError("refused " + TRIES + " times: " + refusals);
    }

    /** Whether a list of refs is as it must be after what this one did. */
    void assertSeen(Map<String, String> refs) {
      Map<String, String> own = new TreeMap<>(refs);
      own.keySet().removeIf(name -> !name.startsWith("refs/heads/" + one.name() + "/"));
      assertWithMessage("branches of %s at step %s", one.name(), steps)
          .that(own)
          .isEqualTo(expected);
      assertThat(refs).containsAtLeastEntriesIn(stable);
      assertThat(refs.values()).containsAtLeastElementsIn(changes);
      assertThat(refs.keySet()).containsNoneIn(deleted);
    }
  }
}
