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

package com.googlesource.gerrit.modules.cache.chroniclemap.repositories;

import com.google.gerrit.server.config.GerritServerConfig;
import com.google.gerrit.server.config.RepositoryConfig;
import com.google.gerrit.server.config.SitePaths;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.eclipse.jgit.lib.Config;
import org.eclipse.jgit.lib.Constants;

/** The parsed ref lists of all projects, for monitoring. Safe for any thread. */
@Singleton
public final class RefsInventory {
  private final PackedRefsCache cache;
  private final PackedRefsConfig settings;
  private final List<Path> basePaths = new ArrayList<>();

  @Inject
  RefsInventory(
      PackedRefsCache cache,
      PackedRefsConfig settings,
      SitePaths site,
      @GerritServerConfig Config config,
      RepositoryConfig repositories) {
    this.cache = cache;
    this.settings = settings;
    basePaths.addAll(repositories.getAllBasePaths());
    Path base = site.resolve(config.getString("gerrit", null, "basePath"));
    if (base != null) {
      basePaths.add(base);
    }
    basePaths.replaceAll(RefsInventory::real);
  }

  private static Path real(Path path) {
    try {
      return path.toRealPath();
    } catch (IOException e) {
      return path.toAbsolutePath();
    }
  }

  /** Whether parsed ref lists are enabled. */
  public boolean isEnabled() {
    return settings.isEnabled();
  }

  /** Returns the figures of all projects whose refs were read recently, sorted by name. */
  public List<ProjectRefs> reports() {
    return cache.reports().stream()
        .map(report -> new ProjectRefs(name(report.folder().toPath()), report))
        .sorted(Comparator.comparing(ProjectRefs::project))
        .toList();
  }

  private String name(Path folder) {
    for (Path base : basePaths) {
      if (folder.startsWith(base)) {
        String name = base.relativize(folder).toString();
        return name.endsWith(Constants.DOT_GIT_EXT)
            ? name.substring(0, name.length() - Constants.DOT_GIT_EXT.length())
            : name;
      }
    }
    return folder.toString();
  }

  /** Returns the totals of all projects. */
  public RefsTotals totals() {
    return cache.totals();
  }
}
