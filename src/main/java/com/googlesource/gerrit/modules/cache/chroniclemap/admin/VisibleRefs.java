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

package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import com.google.gerrit.entities.Project;
import com.google.gerrit.server.CurrentUser;
import com.google.gerrit.server.permissions.GlobalPermission;
import com.google.gerrit.server.permissions.PermissionBackend;
import com.google.gerrit.server.permissions.ProjectPermission;
import com.google.gerrit.server.project.ProjectCache;
import com.google.gerrit.server.project.ProjectState;
import com.google.inject.Inject;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.ProjectRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.RefsInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.transport.TransportCounts;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The parsed ref lists of the projects that a user may see. */
final class VisibleRefs {
  @Inject private Optional<RefsInventory> installed;
  @Inject private TransportCounts transport;
  @Inject private PermissionBackend permissions;
  @Inject private ProjectCache projects;

  /** Why there are no lists at all; empty if they are enabled. */
  Optional<String> whyNone() {
    if (installed.isEmpty()) {
      return Optional.of(
          "parsed ref lists are optional and not installed; to install them, add installDbModule ="
              + " com.googlesource.gerrit.modules.cache.chroniclemap.PackedRefsModule"
              + " to the section gerrit of gerrit.config, and restart");
    }
    return installed.get().isEnabled()
        ? Optional.empty()
        : Optional.of(
            "parsed ref lists are switched off: cache-chroniclemap.packedRefs is false in gerrit.config");
  }

  /** Returns those of all projects that the user may see. An administrator sees all. */
  List<ProjectRefs> of(CurrentUser user) {
    return visible(user, all());
  }

  /** Returns that of a project; empty if there is none that the user may see. */
  Optional<ProjectRefs> of(CurrentUser user, String project) {
    return visible(user, all().filter(refs -> refs.project().equals(project))).stream().findAny();
  }

  /**
   * Returns those of the projects with most lookups that the user may see.
   *
   * @param most how many projects are looked at
   */
  List<ProjectRefs> busiest(CurrentUser user, int most) {
    Comparator<ProjectRefs> byLookups =
        Comparator.comparingLong(refs -> -refs.report().counts().lookups.sum());
    return visible(user, all().sorted(byLookups).limit(most));
  }

  private Stream<ProjectRefs> all() {
    return installed.orElseThrow().reports().stream();
  }

  private List<ProjectRefs> visible(CurrentUser user, Stream<ProjectRefs> some) {
    PermissionBackend.WithUser caller = permissions.user(user);
    boolean seesAll = caller.testOrFalse(GlobalPermission.ADMINISTRATE_SERVER);
    return some.filter(refs -> seesAll || mayRead(caller, Project.nameKey(refs.project())))
        .toList();
  }

  /** A project may have been deleted since its refs were read, or hidden. */
  private boolean mayRead(PermissionBackend.WithUser caller, Project.NameKey project) {
    return projects.get(project).map(ProjectState::statePermitsRead).orElse(false)
        && caller.project(project).testOrFalse(ProjectPermission.ACCESS);
  }

  /** Why a project has no list. */
  static String whyNot(String project) {
    return "no parsed refs of \""
        + project
        + "\": there is no such project, its refs were not read lately, it keeps them in a"
        + " reftable, or it is switched off";
  }

  RefsTotals totals() {
    return installed.orElseThrow().totals();
  }

  /** Returns the figures of these totals, and of pushes and fetches. */
  Figures figures(RefsTotals totals) {
    return RefsMetrics.read(totals, transport);
  }
}
