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

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.CacheFigures;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SiteTemplate;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A real Gerrit that keeps the changes of projects on disk only: {@code memoryLimit = 0}, which
 * Gerrit's issue 380898784 names as a way out where they take too much of the heap.
 */
class ProjectValuesIT {
  private static final String PROJECT = "work";
  private static final String READER = "reader";

  private static Map<String, String> list(Gerrit gerrit) throws IOException {
    return gerrit.git(READER).refs(PROJECT);
  }

  private static CacheFigures figures(Gerrit gerrit) throws IOException {
    return CacheFigures.of(gerrit.ssh()).get("changes_by_project");
  }

  @Test
  void theChangesOfAProjectNeedNoHeap(@TempDir Path tmp) throws Exception {
    try (GerritSite site = SiteTemplate.siteWithModule(tmp.resolve("gerrit"))) {
      site.edit(config -> config.setInt("cache", "changes_by_project", "memoryLimit", 0));
      Gerrit gerrit = new Gerrit(site);
      Workload team;
      GerritDaemon first = GerritDaemon.start(site);
      try (first) {
        gerrit.createProject(PROJECT);
        gerrit.createUserWithPassword(READER);
        team = new Workload(gerrit, PROJECT);
        team.push(6);
        assertThat(changesIn(list(gerrit))).isEqualTo(6);
        assertThat(list(gerrit)).isEqualTo(list(gerrit));
        team.push(3);
        assertThat(changesIn(list(gerrit))).isEqualTo(9);
      }
      GerritDaemon second = GerritDaemon.start(site);
      try (second) {
        assertThat(figures(gerrit).entries()).isEqualTo(1);
        assertThat(changesIn(list(gerrit))).isEqualTo(9);
        team.push(3);
        assertThat(changesIn(list(gerrit))).isEqualTo(12);
        CacheFigures after = figures(gerrit);
        assertThat(after.heapHits()).isEqualTo(0);
        assertThat(after.diskHits()).isAtLeast(1);
        assertThat(after.diskMisses()).isEqualTo(0);
      } finally {
        site.saveLogs("ProjectValuesIT");
      }
    }
  }

  private static long changesIn(Map<String, String> refs) {
    return refs.keySet().stream().filter(name -> name.endsWith("/meta")).count();
  }
}
