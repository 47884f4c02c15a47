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
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.CacheFigures;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.ErrorLog;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SiteTemplate;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How the daemon starts where something is not as it should be. */
class StartIT {
  @TempDir Path tmp;

  @Test
  void missingFlagsStopTheDaemonAndItSaysWhichLinesToAdd() throws Exception {
    try (GerritSite site = SiteTemplate.siteWithModule(tmp.resolve("gerrit"))) {
      site.editJavaOptions(options -> options.removeAll(GerritSite.MODULE_FLAGS));
      assertDoesNotStart(site);
      // Where an admin looks after "gerrit.sh start": FAILED.
      List<String> log = ErrorLog.of(site).lines(line -> true);
      for (String flag : GerritSite.MODULE_FLAGS) {
        assertThat(log).contains("\tjavaOptions = " + flag);
      }
    }
  }

  @Test
  void unwritableFolderMeansMemoryOnly() throws Exception {
    try (GerritSite site = SiteTemplate.siteWithModule(tmp.resolve("gerrit"))) {
      String folder = unwritableFolder().toString();
      site.edit(config -> config.setString("cache", null, "directory", folder));
      site.edit(config -> config.setString("cache-chroniclemap", null, "sharedByte", "1m"));
      try (GerritDaemon daemon = GerritDaemon.start(site)) {
        workIn(daemon);
        assertMemoryOnly(site, folder);
        assertThat(linesOf(site, "WARN .*cache-chroniclemap.sharedByte in .*sharedBytes"))
            .hasSize(1);
      }
    }
  }

  @Test
  void cachesAreOnDiskOnceTheirFolderCanBeOpened() throws Exception {
    try (GerritSite site = SiteTemplate.siteWithModule(tmp.resolve("gerrit"))) {
      try (GerritDaemon daemon = GerritDaemon.start(site)) {
        workIn(daemon);
      }
      Path stores = site.cacheFolder().resolve("cache-chroniclemap");
      Path aside = Files.move(stores, tmp.resolve("aside"));
      Files.createFile(stores);
      try (GerritDaemon daemon = GerritDaemon.start(site)) {
        Gerrit gerrit = daemon.gerrit();
        assertMemoryOnly(site, "tried again each minute");
        gerrit.ssh().run("gerrit flush-caches --cache change_notes");
        Files.delete(stores);
        Files.move(aside, stores);
        Deadline.in(Duration.ofMinutes(5))
            .await(
                () -> !linesOf(site, "INFO .*Caches are on disk again: " + stores).isEmpty(),
                "the folder is tried again");
        Deadline.awaitInAMinute(
            () -> !linesOf(site, "INFO .*Cache change_notes has a file again").isEmpty(),
            "the stores are open");
        assertThat(gerrit.ssh().run("cache-chroniclemap show")).contains("Stores in " + stores);
        assertThat(CacheFigures.of(gerrit.ssh()).get("change_notes").entries()).isEqualTo(0);
        gerrit.rest().get("/changes/work~1/detail");
        daemon.stop();
      }
      try (GerritDaemon daemon = GerritDaemon.start(site)) {
        assertThat(daemon.isRunning()).isTrue();
        Gerrit gerrit = daemon.gerrit();
        gerrit.rest().get("/changes/work~1/detail");
        assertThat(CacheFigures.of(gerrit.ssh()).get("change_notes").diskHits()).isGreaterThan(0);
        assertThat(ErrorLog.of(site).errors()).isEmpty();
      }
    }
  }

  /** As in a restart in which the old daemon takes its time to stop, or does not stop at all. */
  @Test
  void aDaemonDoesNotStartWhileAnotherOneHasTheFolder() throws Exception {
    try (GerritSite first = SiteTemplate.siteWithModule(tmp.resolve("first"));
        GerritSite second = SiteTemplate.siteWithModule(tmp.resolve("second"))) {
      String folder = first.cacheFolder().toString();
      second.edit(config -> config.setString("cache", null, "directory", folder));
      // For a second rather than for two minutes.
      String patience = "-Dcache-chroniclemap.patience.seconds=1";
      second.editJavaOptions(options -> options.add(patience));
      try (GerritDaemon one = GerritDaemon.start(first)) {
        assertDoesNotStart(second);
        assertThat(linesOf(second, "WARN .*in use by another process")).hasSize(1);
        assertThat(
                linesOf(
                    second,
                    "process \\d+ on \\S+ since \\S+\\): another Gerrit daemon.*reindex; only one process may use it."
                        + " End that process"))
            .isNotEmpty();
        workIn(one);
        assertThat(ErrorLog.of(first).errors()).isEmpty();

        Files.writeString(second.path().resolve("logs/error_log"), "");
        second.editJavaOptions(options -> options.remove(patience));
        FutureTask<GerritDaemon> starting = new FutureTask<>(() -> GerritDaemon.start(second));
        Thread unused = Thread.ofPlatform().start(starting);
        Deadline.awaitInAMinute(
            () -> !linesOf(second, "in use by another process").isEmpty(),
            "the second one says that it waits");
        one.stop();
        try (GerritDaemon two = starting.get()) {
          assertThat(
                  linesOf(
                      second,
                      "WARN .*in use by another process \\(process \\d+ on \\S+ since \\S+\\)"))
              .hasSize(1);
          workIn(two);
          assertThat(linesOf(second, "in memory only")).isEmpty();
          assertThat(CacheFigures.of(two.gerrit().ssh()).get("change_notes").entries())
              .isGreaterThan(0);
          assertThat(ErrorLog.of(second).errors()).isEmpty();
        }
      }
    }
  }

  private static void assertDoesNotStart(GerritSite site) {
    assertThrows(GerritDaemon.StartFailure.class, () -> GerritDaemon.start(site).close());
  }

  private static List<String> linesOf(GerritSite site, String pattern) throws IOException {
    return ErrorLog.of(site).find(pattern);
  }

  private static void workIn(GerritDaemon daemon) throws IOException {
    Gerrit gerrit = daemon.gerrit();
    Workload team = Workload.inNewProject(gerrit, "work", 1);
    team.approve(team.changes());
    team.submit(team.changes());
    assertThat(team.readAll(gerrit.rest())).isNotEmpty();
  }

  private static void assertMemoryOnly(GerritSite site, String reason) throws IOException {
    assertThat(
            ErrorLog.of(site)
                .lines(line -> line.contains("in memory only") && line.contains(reason)))
        .hasSize(1);
    assertThat(ErrorLog.of(site).errors()).isEmpty();
    Gerrit gerrit = new Gerrit(site);
    assertThat(gerrit.ssh().run("cache-chroniclemap show")).contains(reason);
    assertThat(CacheFigures.of(gerrit.ssh())).isEmpty();
    JsonObject flag =
        gerrit
            .rest()
            .object("/config/server/metrics/?prefix=caches/chroniclemap/memory_only")
            .getAsJsonObject("caches/chroniclemap/memory_only");
    assertThat(flag.get("value").getAsLong()).isEqualTo(1);
  }

  /** A folder in which nobody can make a file; root can in each but those of the kernel. */
  private Path unwritableFolder() throws IOException {
    Path folder =
        Files.createDirectory(
            tmp.resolve("readonly"),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("r-xr-xr-x")));
    try {
      Files.delete(Files.createFile(folder.resolve("probe")));
    } catch (IOException e) {
      return folder;
    }
    return Path.of("/proc");
  }
}
