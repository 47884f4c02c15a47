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
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GitWire;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.NativeGit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.TestJar;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.neighbour.GuardModule;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.neighbour.StrangerModule;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.neighbour.VeilModule;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.eclipse.jgit.annotations.Nullable;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * Parsed ref lists beside another module that has a manager of repositories: one that must see each
 * update first, and what does not go together.
 */
@TestMethodOrder(OrderAnnotation.class)
class NeighbourIT extends RefsFixture {
  private static final String GUARD = GuardModule.class.getName();

  @TempDir private Path folders;

  @Override
  void prepare(Path tmp) throws IOException {
    TestJar.write(
        site.path().resolve("lib/neighbour.jar"),
        Map.of(),
        GuardModule.class,
        StrangerModule.class,
        VeilModule.class);
    setModules(site, List.of(GerritSite.MODULE), List.of(GUARD, GerritSite.REFS_MODULE));
  }

  private static void setModules(GerritSite site, List<String> modules, List<String> dbModules)
      throws IOException {
    site.edit(
        config -> {
          config.setStringList("gerrit", null, "installModule", modules);
          config.setStringList("gerrit", null, "installDbModule", dbModules);
        });
  }

  private void restartWith(List<String> modules, List<String> dbModules) throws IOException {
    daemon.close();
    setModules(site, modules, dbModules);
    daemon = GerritDaemon.start(site);
  }

  /** Neither of the two is dropped, whichever line comes first. */
  @Test
  @Order(1)
  void bothSeeEachUpdate() throws Exception {
    assertBothAreThere("first");
    restartWith(List.of(GerritSite.MODULE), List.of(GerritSite.REFS_MODULE, GUARD));
    assertBothAreThere("second");
  }

  private void assertBothAreThere(String project) throws Exception {
    var unused = Workload.inNewProject(gerrit, project, 2);
    gerrit.createBranch(project, "welcome/1");
    git(project, "pack-refs", "--all");
    assertSameRefs(project);
    assertThat(projectsShown()).contains(project);
    IOException refused =
        assertThrows(IOException.class, () -> gerrit.createBranch(project, "vetoed/1"));
    assertThat(refused).hasMessageThat().contains("500");
    NativeGit git = gerrit.git();
    String pushed = git.fetch(project, "refs/heads/master") + ":refs/heads/vetoed/2";
    assertThat(git.tryRun("push", git.http(project), pushed).out()).contains(GuardModule.MESSAGE);
    assertThat(gerrit.branches(project)).contains("refs/heads/welcome/1");
    assertThat(refsOfGit(project).toString()).doesNotContain("vetoed");
    gerrit.deleteBranch(project, "welcome/1");
    assertThat(gerrit.ssh().run("gerrit gc --show-progress " + project)).contains("done");
    assertSameRefs(project);
  }

  /** One that hides branches by a hook of its own, set before this module's or after it. */
  @Test
  void whoHidesBranchesHasThemHidden() throws Exception {
    List<String> dbModules = List.of(GUARD, GerritSite.REFS_MODULE);
    String sets = VeilModule.Sets.class.getName();
    try {
      restartWith(List.of(GerritSite.MODULE, VeilModule.class.getName(), sets), dbModules);
      assertVeiled("veil-as-module");
      TestJar.writePlugin(site, "veil", Map.of("Gerrit-Module", VeilModule.class.getName()));
      restartWith(List.of(GerritSite.MODULE, sets), dbModules);
      assertVeiled("veil-as-plugin");
    } finally {
      Files.deleteIfExists(site.path().resolve("plugins/veil.jar"));
    }
  }

  private void assertVeiled(String project) throws Exception {
    gerrit.createProject(project);
    for (String permission : List.of("push", "delete")) {
      gerrit.grantToAdministratorsOnly(project, "refs/heads/new", permission);
    }
    NativeGit git = new NativeGit(site, "admin", site.adminKey(), folders.resolve(project));
    git(project, "branch", "seen/1", "master");
    String base = git.fetch(project, "refs/heads/master");
    String hidden = git.commit("hidden", base);
    git.run("push", folder(project).toString(), hidden + ":" + VeilModule.VEILED + "one");
    for (String url : List.of(git.http(project), git.ssh(project))) {
      assertThat(git.run("ls-remote", url)).doesNotContain("veiled");
      for (String protocol : List.of("0", "2")) {
        String version = "protocol.version=" + protocol;
        NativeGit other =
            new NativeGit(
                site, "admin", site.adminKey(), Files.createTempDirectory(folders, "fetch"));
        assertThat(other.tryRun("-c", version, "fetch", url, hidden).isOk()).isFalse();
        assertThat(other.tryRun("-c", version, "fetch", url, VeilModule.VEILED + "one").isOk())
            .isFalse();
        other.run("-c", version, "fetch", "-q", url, "refs/heads/seen/1");
      }
      git.run("push", "-q", url, base + ":refs/heads/new");
      git.run("push", "-q", url, hidden + ":refs/heads/new");
      git.run("push", "-q", url, ":refs/heads/new");
    }
    String advertised = answer(project, GitWire.RECEIVE, null);
    assertThat(advertised).contains("refs/heads/seen/1");
    assertThat(advertised).doesNotContain("veiled");
    assertThat(advertised).doesNotContain(hidden);
    // Native git asks for nothing that it was not told of.
    assertThat(
            GitWire.report(
                site,
                project,
                "admin",
                hidden,
                base,
                VeilModule.VEILED + "one",
                git.pack(git.commit("sent", base), base)))
        .contains("ng " + VeilModule.VEILED + "one no such ref");
    assertThat(fetched(project, base)).contains("PACK");
    assertThat(fetched(project, hidden)).contains("ERR want " + hidden + " not valid");
  }

  /** By protocol 0, in which native git asks for no id that it was not told of. */
  private String fetched(String project, String id) throws IOException {
    String request = GitWire.packet("want " + id + " ofs-delta\n") + "0000";
    return answer(project, "git-upload-pack", GitWire.bytes(request + GitWire.packet("done\n")));
  }

  private String answer(String project, String what, @Nullable byte[] body) throws IOException {
    return new String(GitWire.exchange(site, project, "admin", what, "", body).body(), ISO_8859_1);
  }

  @Test
  void whoOpensRepositoriesItselfIsNamed() throws Exception {
    List<String> dbModules = List.of(StrangerModule.class.getName(), GerritSite.REFS_MODULE);
    String message = "StrangeManager, which does not ask Gerrit's LocalDiskRepositoryManager";
    assertThat(
            assertThrows(
                GerritDaemon.StartFailure.class,
                () -> restartWith(List.of(GerritSite.MODULE), dbModules)))
        .hasMessageThat()
        .contains(message);
    // Where an administrator finds it: the start script drops what is printed.
    assertThat(Files.readString(site.path().resolve("logs/error_log"))).contains(message);
  }
}
