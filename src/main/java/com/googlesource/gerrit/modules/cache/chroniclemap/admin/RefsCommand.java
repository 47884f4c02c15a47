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

import static com.google.gerrit.common.data.GlobalCapability.MAINTAIN_SERVER;
import static com.google.gerrit.common.data.GlobalCapability.VIEW_CACHES;
import static com.google.gerrit.sshd.CommandMetaData.Mode.MASTER_OR_SLAVE;

import com.google.gerrit.entities.Project;
import com.google.gerrit.extensions.annotations.CapabilityScope;
import com.google.gerrit.extensions.annotations.RequiresAnyCapability;
import com.google.gerrit.server.permissions.GlobalPermission;
import com.google.gerrit.server.permissions.PermissionBackend;
import com.google.gerrit.server.permissions.ProjectPermission;
import com.google.gerrit.sshd.CommandMetaData;
import com.google.gerrit.sshd.SshCommand;
import com.google.inject.Inject;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.ProjectRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.RefsInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.transport.TransportCounts;
import java.util.List;
import java.util.Optional;
import org.kohsuke.args4j.Argument;
import org.kohsuke.args4j.Option;

/** {@code ssh HOST cache-chroniclemap refs}: shows the parsed ref lists. */
@RequiresAnyCapability(
    value = {VIEW_CACHES, MAINTAIN_SERVER},
    scope = CapabilityScope.CORE)
@CommandMetaData(
    name = "refs",
    description = "Show the parsed ref lists of projects",
    runsAt = MASTER_OR_SLAVE)
final class RefsCommand extends SshCommand {
  @Option(name = "--json", usage = "print JSON, all figures in bytes, counts and milliseconds")
  private boolean json;

  @Argument(metaVar = "PROJECT", usage = "name of a project; by default, all projects")
  private String project;

  private final Optional<RefsInventory> installed;
  private final TransportCounts transport;
  private final PermissionBackend permissions;

  @Inject
  RefsCommand(
      Optional<RefsInventory> installed, TransportCounts transport, PermissionBackend permissions) {
    this.installed = installed;
    this.transport = transport;
    this.permissions = permissions;
  }

  @Override
  protected void run() throws UnloggedFailure {
    enableGracefulStop();
    if (installed.isEmpty()) {
      throw die(
          "parsed ref lists are not installed: add installDbModule ="
              + " com.googlesource.gerrit.modules.cache.chroniclemap.PackedRefsModule"
              + " to the section gerrit of gerrit.config, and restart");
    }
    RefsInventory inventory = installed.get();
    if (!inventory.isEnabled()) {
      throw die("parsed ref lists are switched off: packedRefs.enabled is false in gerrit.config");
    }
    List<ProjectRefs> reports = select(visible(inventory.reports()));
    if (json) {
      stdout.println(RefsJson.of(inventory.totals(), transport, reports));
    } else {
      RefsTable.print(stdout, inventory.totals(), transport, reports);
    }
    stdout.flush();
  }

  /** Selects the projects that the caller may see. An administrator sees all. */
  private List<ProjectRefs> visible(List<ProjectRefs> all) {
    PermissionBackend.WithUser caller = permissions.user(user);
    return caller.testOrFalse(GlobalPermission.ADMINISTRATE_SERVER)
        ? all
        : all.stream()
            .filter(
                refs ->
                    caller
                        .project(Project.nameKey(refs.project()))
                        .testOrFalse(ProjectPermission.ACCESS))
            .toList();
  }

  private List<ProjectRefs> select(List<ProjectRefs> all) throws UnloggedFailure {
    if (project == null) {
      return all;
    }
    List<ProjectRefs> one = all.stream().filter(refs -> refs.project().equals(project)).toList();
    if (one.isEmpty()) {
      throw die(
          "no parsed refs of \""
              + project
              + "\": there is no such project, its refs were not read lately, it keeps them in a"
              + " reftable, or it is switched off");
    }
    return one;
  }
}
