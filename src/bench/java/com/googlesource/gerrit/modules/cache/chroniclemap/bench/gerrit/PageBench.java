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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit;

import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.BenchRun.say;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RestClient;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.TinyPlugin;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.DoubleStream;

/**
 * {@code bin/bench page}: what the samples of the page cost a real Gerrit when nobody looks, and
 * what a look costs, with so many projects whose refs were read.
 */
final class PageBench {
  private static final String PAGE = "/plugins/cache-chroniclemap/";
  private static final String OVERVIEW = "/config/server/cache-chroniclemap~overview";
  private static final String HISTORY = "/config/server/cache-chroniclemap~history";
  private static final Pattern CPU =
      Pattern.compile("\"cache-chroniclemap-history\".* cpu=([0-9.]+)ms");
  private static final int SAMPLES = 10;
  private static final int LOOKS = 50;

  private final GerritSite site;
  private final Gerrit gerrit;

  private PageBench(GerritSite site) {
    this.site = site;
    this.gerrit = new Gerrit(site);
  }

  public static void main(String[] args) throws Exception {
    BenchRun run = new BenchRun(args);
    run.printHead("samples and looks of the page");
    for (int projects : run.numbers("--projects", "1000,10000")) {
      try (GerritSite site =
          GerritSite.init(Files.createTempDirectory("cache-chroniclemap-page-"))) {
        site.installModule(BuildFolder.moduleJar());
        site.installRefsModule();
        TinyPlugin.install(site);
        new PageBench(site).measure(projects);
      }
    }
  }

  private void measure(int projects) throws Exception {
    GerritDaemon first = GerritDaemon.start(site);
    gerrit.createProject("p0");
    first.stop();
    for (int i = 1; i < projects; i++) {
      Folders.copy(site.repository("p0"), site.repository("p" + i));
    }
    try (GerritDaemon daemon = GerritDaemon.start(site)) {
      String listed =
          gerrit.ssh().run("gerrit ls-projects --show-branch refs/heads/master --show-branch HEAD");
      // The code of samples is compiled by the time that a server has run for minutes.
      awaitSamples(samples() + 2);
      int before = samples();
      double start = cpuMillis(daemon.pid());
      long begin = System.nanoTime();
      awaitSamples(before + SAMPLES);
      double cpu = cpuMillis(daemon.pid()) - start;
      long wall = System.nanoTime() - begin;
      JsonObject totals =
          gerrit.rest().get("/config/server/cache-chroniclemap~refs").json().getAsJsonObject();
      int caches =
          gerrit
              .rest()
              .get("/config/server/cache-chroniclemap~caches")
              .json()
              .getAsJsonObject()
              .getAsJsonArray("caches")
              .size();
      say(
          "%d projects listed, %s with parsed refs, %d caches: a sample takes %.2f ms of processor,"
              + " %.4f %% of a core",
          listed.lines().count(),
          totals.getAsJsonObject("totals").get("projects"),
          caches,
          cpu / SAMPLES,
          100e6 * cpu / wall);
      RestClient admin = RestClient.withCookie(site.url(), gerrit.signIn());
      look(admin, PAGE);
      look(admin, OVERVIEW);
      look(admin, HISTORY);
    }
  }

  private static void look(RestClient admin, String path) throws IOException {
    double first = time(admin, path);
    double[] times = new double[LOOKS];
    for (int i = 0; i < LOOKS; i++) {
      times[i] = time(admin, path);
    }
    say(
        "  %-50s first %.1f ms, then p50 %.1f ms, most %.1f ms, %d KB",
        path,
        first,
        DoubleStream.of(times).sorted().skip(LOOKS / 2).findFirst().orElseThrow(),
        DoubleStream.of(times).max().orElseThrow(),
        admin.get(path).body().length() >> 10);
  }

  private static double time(RestClient admin, String path) throws IOException {
    long begin = System.nanoTime();
    RestClient.Reply unused = admin.get(path);
    return (System.nanoTime() - begin) / 1e6;
  }

  private int samples() {
    try {
      return gerrit.rest().get(HISTORY).json().getAsJsonObject().getAsJsonArray("times").size();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Asks once a second only, as the server would otherwise be busy with the answers. */
  private void awaitSamples(int samples) throws InterruptedException {
    while (samples() < samples) {
      Thread.sleep(1000);
    }
  }

  /** The processor time of the thread that takes samples, as the Java process knows it. */
  private static double cpuMillis(long pid) throws IOException, InterruptedException {
    Process jcmd =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                Long.toString(pid),
                "Thread.print")
            .redirectErrorStream(true)
            .start();
    String threads = new String(jcmd.getInputStream().readAllBytes(), UTF_8);
    jcmd.waitFor();
    Matcher found = CPU.matcher(threads);
    if (!found.find()) {
      throw new IOException("no thread that takes samples: " + threads);
    }
    return Double.parseDouble(found.group(1));
  }
}
