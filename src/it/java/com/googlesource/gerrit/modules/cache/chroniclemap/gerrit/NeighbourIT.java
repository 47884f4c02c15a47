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

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.neighbour.GuardModule;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.neighbour.Neighbour;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.neighbour.StrangerModule;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Parsed ref lists beside another module that has a manager of repositories: one that must see each
 * update first, and what does not go together.
 */
class NeighbourIT extends RefsFixture {
  private static final String GUARD = GuardModule.class.getName();

  @Override
  void install(GerritSite plain) throws IOException {
    plain.installModule(BuildFolder.moduleJar());
    TestJar.write(plain.path().resolve("lib/neighbour.jar"), Map.of(), Neighbour.CLASSES);
    setDbModules(plain, GUARD, GerritSite.REFS_MODULE);
  }

  private static void setDbModules(GerritSite site, String... modules) throws IOException {
    site.edit(config -> config.setStringList("gerrit", null, "installDbModule", List.of(modules)));
  }

  /** Neither of the two is dropped, whichever line comes first. */
  @Test
  void bothSeeEachUpdate() throws Exception {
    assertBothAreThere("first");
    setDbModules(site, GerritSite.REFS_MODULE, GUARD);
    restart();
    assertBothAreThere("second");
    setDbModules(site, GUARD, GerritSite.REFS_MODULE);
    restart();
  }

  private void assertBothAreThere(String project) throws Exception {
    gerrit.createProject(project);
    new Workload(gerrit, project).push(2);
    createBranch(project, "welcome/1");
    git(project, "pack-refs", "--all");
    assertSameRefs(project);
    assertThat(projectsShown()).contains(project);
    IOException refused = assertThrows(IOException.class, () -> createBranch(project, "vetoed/1"));
    assertThat(refused).hasMessageThat().contains("500");
    try (GitUser user = gerrit.git(project)) {
      assertThat(user.tryPush(user.fetch("refs/heads/master"), "refs/heads/vetoed/2").toString())
          .contains(Neighbour.MESSAGE);
    }
    assertThat(gerrit.branches(project)).contains("refs/heads/welcome/1");
    assertThat(String.join(" ", refsOfGit(project))).doesNotContain("vetoed");
    deleteBranch(project, "welcome/1");
    assertThat(gerrit.ssh().run("gerrit gc --show-progress " + project)).contains("done");
    assertSameRefs(project);
  }

  @Test
  void whoOpensRepositoriesItselfIsNamed() throws Exception {
    setDbModules(site, StrangerModule.class.getName(), GerritSite.REFS_MODULE);
    assertDoesNotStart("StrangeManager, which does not ask Gerrit's LocalDiskRepositoryManager");
    setDbModules(site, GUARD, GerritSite.REFS_MODULE);
    daemon = GerritDaemon.start(site);
  }

  @Test
  void modulesInTheWrongLineAreNamed() throws Exception {
    site.edit(
        config ->
            config.setStringList(
                "gerrit",
                null,
                "installModule",
                List.of(GerritSite.MODULE, GerritSite.REFS_MODULE)));
    assertDoesNotStart("PackedRefsModule has no effect in gerrit.installModule");
    site.edit(config -> config.setString("gerrit", null, "installModule", GerritSite.MODULE));
    setDbModules(site, GerritSite.MODULE);
    assertDoesNotStart("ChronicleMapCacheModule has no effect in gerrit.installDbModule");
    setDbModules(site, GUARD, GerritSite.REFS_MODULE);
    daemon = GerritDaemon.start(site);
  }

  private void assertDoesNotStart(String message) throws IOException {
    daemon.stop();
    GerritDaemon.StartFailure failure =
        assertThrows(GerritDaemon.StartFailure.class, () -> GerritDaemon.start(site));
    assertThat(failure).hasMessageThat().contains(message);
    // Where an administrator finds it: the start script drops what is printed.
    assertThat(Files.readString(site.path().resolve("logs/error_log"))).contains(message);
    Files.writeString(site.path().resolve("logs/error_log"), "");
  }
}
