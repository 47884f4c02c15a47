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

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.MapDifference;
import com.google.common.collect.Maps;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Browser;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.CacheFigures;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.ErrorLog;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritWar;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.H2Files;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.LookupTimes;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.ManyRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RestClient;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Shows the module at work in a real Gerrit: caches that survive a restart and a SIGKILL, and
 * lookups in many refs. Started by {@code bin/demo}.
 */
final class Demo {
  private static final String PROJECT = "demo";
  private static final int CHANGES = 30;

  /** Two repositories with that many refs. */
  private static final int REFS = 500_000;

  private static final String TRUSTING = "many-refs";
  private static final String DISTRUSTING = "many-refs-on-nfs";

  /** New changes by JGit alone, of which each takes seconds, and with the module. */
  private static final int FEW_CHANGES = 3;

  private static final int MANY_CHANGES = 40;

  private static final int WARM_UP = 300;

  /** Samples of the page's charts, one each 30 seconds. */
  private static final int PAGE_SAMPLES = 8;

  /** The caches of the story: what the requests of {@link Workload} ask most. */
  private static final ImmutableList<String> WATCHED =
      ImmutableList.of(
          "change_notes",
          "gerrit_file_diff",
          "modified_files",
          "diff_summary",
          "accounts",
          "persisted_projects");

  private final Story story = new Story();
  private final boolean keep;
  private final boolean page;

  private GerritSite site;
  private GerritDaemon daemon;
  private Gerrit gerrit;
  private Workload team;
  private H2Files h2;
  private ManyRefs trusting;
  private ManyRefs distrusting;

  /** Cookies of a browser that stays signed in, and of one that signed out. */
  private String signedIn;

  private String signedOut;

  private Demo(List<String> options) {
    this.keep = options.contains("--keep");
    this.page = options.contains("--page");
  }

  public static void main(String[] args) {
    System.exit(new Demo(List.of(args)).run() ? 0 : 1);
  }

  private boolean run() {
    try {
      makeSite();
      if (page) {
        showPage();
      } else {
        showAll();
      }
    } catch (Exception e) {
      story.failed(e.toString());
      saveLogs();
    }
    boolean good = story.end();
    if (keep && daemon != null && daemon.isRunning()) {
      leaveRunning();
    } else {
      cleanUp();
    }
    return good;
  }

  private void showAll() throws Exception {
    start();
    work();
    signedIn = gerrit.signIn();
    signedOut = gerrit.signIn();
    gerrit.signOut(signedOut);
    Map<String, String> answers = firstReads();
    switchOver(answers);
    restart(answers);
    answers = moreWork();
    kill(answers);
    look();
    lookUpRefs();
    end();
  }

  /** Works until the charts have lines, and takes pictures of the page. */
  private void showPage() throws Exception {
    site.installModule(BuildFolder.moduleJar());
    site.installRefsModule();
    start();
    work();
    signedIn = gerrit.signIn();
    daemon.stop();
    startDaemon();
    story.chapter("The page at /plugins/cache-chroniclemap/");
    RestClient rest = gerrit.rest();
    String history = "/config/server/cache-chroniclemap~history";
    int round = 0;
    while (rest.object(history).getAsJsonArray("times").size() < PAGE_SAMPLES) {
      team.push(++round % 4);
      var unused = readAll();
    }
    Path folder = BuildFolder.path().resolve("pictures");
    try (Browser browser = new Browser()) {
      browser.open(
          site.url() + "login/plugins%2Fcache-chroniclemap%2F?account_id=" + Gerrit.ADMIN_ID);
      browser.resize(1400, 1250);
      var unused = browser.await("#cache-charts canvas");
      browser.picture(folder.resolve("page.png"));
      browser.dark(true);
      browser.picture(folder.resolve("page-dark.png"));
      browser.dark(false);
      browser.resize(360, 800);
      browser.picture(folder.resolve("page-phone.png"));
      browser.resize(1400, 1250);
      browser.open(site.url() + "plugins/cache-chroniclemap/?cache=change_notes");
      unused = browser.await("#cache-charts canvas");
      browser.wholePicture(folder.resolve("cache.png"));
    }
    story.passed("pictures of it are in " + folder);
  }

  private void makeSite() throws Exception {
    story.chapter("A Gerrit site as it is without the module: its caches are H2 databases");
    Path war = story.slowly("assembling gerrit.war", GerritWar::assemble);
    story.passed(
        String.format(
            Locale.ROOT,
            "Gerrit %s from the jars of Maven Central (%d MB)",
            GerritWar.version(),
            Files.size(war) >> 20));
    Path root = Files.createTempDirectory("cache-chroniclemap-demo-");
    site = story.slowly("making the site", () -> GerritSite.init(root));
    gerrit = new Gerrit(site);
    team = new Workload(gerrit, PROJECT);
    story.passed("site made by Gerrit's init: " + site.path());
  }

  private void start() throws Exception {
    story.chapter("Start");
    startDaemon();
  }

  private void startDaemon() throws Exception {
    daemon = story.slowly("starting Gerrit", () -> GerritDaemon.start(site));
    story.passed(
        String.format(
            Locale.ROOT,
            "java -jar gerrit.war daemon: ready after %s, pid %d",
            Story.seconds(daemon.readyAfter()),
            daemon.pid()));
  }

  private void stopDaemon() throws Exception {
    story.slowly(
        "stopping Gerrit",
        () -> {
          daemon.stop();
          return null;
        });
  }

  private void work() throws Exception {
    story.chapter("Work: push, comment, review, submit");
    gerrit.createProject(PROJECT);
    long begin = System.nanoTime();
    story.slowly(
        "pushing",
        () -> {
          team.push(CHANGES);
          return null;
        });
    List<Integer> changes = team.changes();
    story.check(changes.size() == CHANGES, changes.size() + " changes pushed in " + since(begin));
    begin = System.nanoTime();
    List<Integer> approved = changes.subList(0, CHANGES / 2);
    List<Integer> submitted = changes.subList(0, CHANGES / 3);
    story.slowly(
        "reviewing",
        () -> {
          team.comment(changes);
          team.approve(approved);
          team.submit(submitted);
          return null;
        });
    story.passed(
        String.format(
            Locale.ROOT,
            "%d comments, %d votes, %d submitted in %s",
            changes.size(),
            approved.size(),
            submitted.size(),
            since(begin)));
  }

  private Map<String, String> firstReads() throws Exception {
    story.chapter("Read it all back over REST");
    long begin = System.nanoTime();
    Map<String, String> answers = readAll();
    story.passed(answers.size() + " answers in " + since(begin));
    return answers;
  }

  private void switchOver(Map<String, String> answers) throws Exception {
    story.chapter("Switch to the module");
    stopDaemon();
    h2 = H2Files.of(site);
    site.installModule(BuildFolder.moduleJar());
    story.line("lib/cache-chroniclemap.jar and these lines in etc/gerrit.config:");
    story.line("  [gerrit]    installModule = " + GerritSite.MODULE);
    for (String flag : GerritSite.MODULE_FLAGS) {
      story.line("  [container] javaOptions = " + flag);
    }
    startDaemon();
    story.check(gerrit.isSignedIn(signedIn), "who was signed in still is, at the first request");
    story.line("logs/error_log:");
    ErrorLog.of(site).lines(line -> line.contains("values from H2")).stream()
        .map(line -> line.substring(line.indexOf("Cache ")))
        .forEach(line -> story.line("  " + line));
    story.line("H2 keeps change_notes in memory only, so these are loaded once more:");
    compare(answers, List.of("change_notes"));
  }

  private void restart(Map<String, String> answers) throws Exception {
    story.chapter("Restart");
    long begin = System.nanoTime();
    stopDaemon();
    story.passed("stopped in " + since(begin));
    startDaemon();
    compare(answers, List.of());
  }

  private Map<String, String> moreWork() throws Exception {
    story.chapter("More work, then SIGKILL");
    List<Integer> old = team.changes();
    team.push(3);
    List<Integer> all = team.changes();
    List<Integer> added = all.subList(old.size(), all.size());
    team.comment(added);
    team.approve(added);
    story.passed(added.size() + " more changes pushed and reviewed");
    return readAll();
  }

  private void kill(Map<String, String> answers) throws Exception {
    gerrit.createProject(TRUSTING);
    gerrit.createProject(DISTRUSTING);
    daemon.kill();
    story.passed("killed with SIGKILL");
    // While no daemon runs: it reads a repository's settings once.
    trusting = ManyRefs.fill(site.repository(TRUSTING), REFS, null);
    distrusting = ManyRefs.fill(site.repository(DISTRUSTING), REFS, "never");
    startDaemon();
    compare(answers, List.of());
  }

  /**
   * Reads all again in a daemon whose heap was empty a moment ago.
   *
   * @param notOnDisk caches that begin empty
   */
  private void compare(Map<String, String> expected, List<String> notOnDisk) throws Exception {
    story.check(gerrit.isSignedIn(signedIn), "who was signed in still is");
    story.check(!gerrit.isSignedIn(signedOut), "who had signed out still is out");
    long begin = System.nanoTime();
    Map<String, String> answers = readAll();
    story.passed(answers.size() + " answers read again in " + since(begin));
    MapDifference<String, String> difference = Maps.difference(expected, answers);
    story.check(
        difference.areEqual(),
        difference.areEqual() ? "each is what it was before" : "not as before: " + difference);
    ImmutableMap<String, CacheFigures> figures = tell("answered since the start", Map.of());
    long fromDisk = figures.values().stream().mapToLong(CacheFigures::diskHits).sum();
    List<String> loaded =
        figures.values().stream()
            .filter(c -> c.diskMisses() > 0 && !notOnDisk.contains(c.name()))
            .map(CacheFigures::name)
            .toList();
    story.check(fromDisk > 0, fromDisk + " values came from disk");
    story.check(
        loaded.isEmpty(),
        loaded.isEmpty()
            ? "nothing that was on disk had to be loaded again"
            : "loaded again: " + loaded);
  }

  /** Prints from where the watched caches were answered. */
  private ImmutableMap<String, CacheFigures> tell(String title, Map<String, CacheFigures> before)
      throws IOException {
    ImmutableSortedMap<String, CacheFigures> now = CacheFigures.of(gerrit.ssh());
    ImmutableMap.Builder<String, CacheFigures> watched = ImmutableMap.builder();
    story.line(String.format(Locale.ROOT, "%-24s %8s %8s %8s", title, "heap", "disk", "loaded"));
    for (String name : WATCHED) {
      CacheFigures figures = now.get(name).since(before);
      watched.put(name, figures);
      story.line(
          String.format(
              Locale.ROOT,
              "  %-22s %8d %8d %8d",
              name,
              figures.heapHits(),
              figures.diskHits(),
              figures.diskMisses()));
    }
    return watched.buildOrThrow();
  }

  private void look() throws IOException {
    story.chapter("ssh -p PORT admin@HOST cache-chroniclemap show");
    gerrit.ssh().run("cache-chroniclemap show").lines().forEach(story::line);
  }

  /** Figures of both repositories. */
  private record BothTimes(LookupTimes trusting, LookupTimes distrusting) {}

  /** JGit alone, then parsed ref lists, then the same lists after a restart. */
  private void lookUpRefs() throws Exception {
    story.chapter(String.format(Locale.ROOT, "%,d refs: GET /projects/NAME/branches/BRANCH", REFS));
    story.line(
        String.format(
            Locale.ROOT,
            "Two repositories with %,d packed refs (packed-refs: %d MB), one with core.trustStat = never,",
            REFS,
            trusting.bytes() >> 20));
    story.line("as is usual on NFS: then the times of a file do not tell whether it was changed.");
    BothTimes jgit = lookUp("JGit alone");
    // The refs that were made have numbers of changes too.
    var unused = gerrit.ssh().run("gerrit sequence set changes " + ManyRefs.FIRST_CHANGE);
    double slow = makeChanges("JGit alone", FEW_CHANGES);

    daemon.stop();
    site.installRefsModule();
    story.line("one more line in etc/gerrit.config, and a restart:");
    story.line("  [gerrit]    installDbModule = " + GerritSite.REFS_MODULE);
    startDaemon();
    BothTimes parsed = lookUp("with the module");
    long parses = parses();
    // Not 1, as JGit alone has rewritten one of them, with another header and so other blocks.
    story.check(parses <= 2, parses + " parses for the two repositories");

    daemon.stop();
    startDaemon();
    BothTimes again = lookUp("with the module, restarted");
    parses = parses();
    story.check(parses == 0, parses + " parses since this start, says cache-chroniclemap refs");
    double quick = makeChanges("with the module", MANY_CHANGES);

    story.line(
        String.format(
            Locale.ROOT, "%-28s %17s   %22s", "", "times trusted", "core.trustStat = never"));
    story.line(
        String.format(
            Locale.ROOT,
            "%-28s %8s %8s   %11s %10s",
            "ms a request",
            "first",
            "median",
            "first",
            "median"));
    tell("JGit alone", jgit);
    tell("with the module", parsed);
    tell("with the module, restarted", again);
    story.line("A request is more than its look at refs, and most of it where times are trusted.");
    double faster = jgit.distrusting.median() / again.distrusting.median();
    story.check(
        faster > 2,
        String.format(
            Locale.ROOT, "where times are not trusted, a request is %.0f times faster", faster));
    story.check(
        slow > 5 * quick,
        String.format(
            Locale.ROOT,
            "a new change (POST /changes/) among them takes %.0f ms, with JGit alone %.0f ms",
            quick,
            slow));
    gerrit.ssh().run("cache-chroniclemap refs").lines().forEach(story::line);
  }

  /** Makes changes; returns the median in milliseconds. */
  private double makeChanges(String what, int count) throws Exception {
    RestClient writer = RestClient.withSession(site.url(), signedIn, gerrit.token(signedIn));
    JsonObject input = new JsonObject();
    input.addProperty("project", TRUSTING);
    input.addProperty("branch", trusting.branches().get(0).name());
    input.addProperty("subject", what);
    return story.slowly(
        "making changes",
        () -> {
          List<Double> times = new ArrayList<>();
          for (int i = 0; i < count; i++) {
            long begin = System.nanoTime();
            var unused = writer.post("/changes/", input.toString());
            times.add((System.nanoTime() - begin) / 1e6);
          }
          Collections.sort(times);
          return times.get(times.size() / 2);
        });
  }

  private BothTimes lookUp(String what) throws Exception {
    RestClient reader = RestClient.withCookie(site.url(), signedIn);
    return story.slowly(
        "looking up branches",
        () -> {
          // A Java that has just started is slow at all it does.
          for (int i = 0; i < WARM_UP; i++) {
            reader.get("/projects/" + PROJECT + "/branches/master");
          }
          BothTimes times =
              new BothTimes(
                  LookupTimes.measure(reader, TRUSTING, trusting),
                  LookupTimes.measure(reader, DISTRUSTING, distrusting));
          int wrong = times.trusting.wrong() + times.distrusting.wrong();
          int asked = times.trusting.asked() + times.distrusting.asked();
          story.check(
              wrong == 0,
              String.format(
                  Locale.ROOT, "%s: %d branches looked up, %d wrong answers", what, asked, wrong));
          return times;
        });
  }

  private void tell(String what, BothTimes times) {
    story.line(
        String.format(
            Locale.ROOT,
            "  %-26s %8.1f %8.1f   %11.1f %10.1f",
            what,
            times.trusting.first(),
            times.trusting.median(),
            times.distrusting.first(),
            times.distrusting.median()));
  }

  /** Of the two repositories, since the start. */
  private long parses() throws IOException {
    JsonObject answer = gerrit.ssh().json("refs");
    long failures = answer.getAsJsonObject("totals").get("failures").getAsLong();
    story.check(failures == 0, failures + " questions that only JGit could answer");
    long parses = 0;
    for (JsonElement element : answer.getAsJsonObject("projects").asMap().values()) {
      JsonObject project = element.getAsJsonObject();
      String name = project.get("name").getAsString();
      if (name.equals(TRUSTING) || name.equals(DISTRUSTING)) {
        parses += project.get("parses").getAsLong();
      }
    }
    return parses;
  }

  private void end() throws Exception {
    story.chapter("The traces");
    List<String> written = h2.writtenSince();
    story.check(
        written.isEmpty(),
        written.isEmpty()
            ? "the daemon wrote no H2 file (*.mv.db)"
            : "H2 files were written: " + written);
    List<String> errors = ErrorLog.of(site).errors();
    story.check(
        errors.isEmpty(),
        errors.isEmpty() ? "no error in logs/error_log" : "errors in logs/error_log: " + errors);
    if (keep) {
      return;
    }
    stopDaemon();
    story.passed("stopped");
  }

  private Map<String, String> readAll() throws Exception {
    return story.slowly("reading", () -> team.readAll(RestClient.withCookie(site.url(), signedIn)));
  }

  private void leaveRunning() {
    daemon.keep();
    site.keep();
    Path key = site.home().resolve(".ssh/id_rsa");
    System.out.printf(
        Locale.ROOT,
        """

        Gerrit is still running (pid %d):
          URL    %s  REST, Git; user admin, password secret. Gerrit's own pages are missing.
          page   %2$splugins/cache-chroniclemap/ after %2$slogin/?account_id=1000000
          SSH    ssh -p %d -i %s -o IdentitiesOnly=yes -o UserKnownHostsFile=/dev/null \\
                   -o StrictHostKeyChecking=no admin@127.0.0.1 cache-chroniclemap show
          site   %s
          stop   kill %d && rm -rf %s
        """,
        daemon.pid(),
        site.url(),
        site.sshPort(),
        key,
        site.path(),
        daemon.pid(),
        site.path().getParent());
  }

  /** Keeps what helps to see what went wrong. */
  private void saveLogs() {
    if (site == null) {
      return;
    }
    try {
      story.line("the logs of the daemon: " + site.saveLogs("demo"));
    } catch (IOException e) {
      story.line("the logs are lost: " + e);
    }
  }

  private void cleanUp() {
    try {
      if (daemon != null) {
        daemon.close();
      }
      if (site != null) {
        site.close();
      }
    } catch (IOException e) {
      story.failed("clean up: " + e);
    }
  }

  private static String since(long begin) {
    return Story.seconds(Duration.ofNanos(System.nanoTime() - begin));
  }
}
