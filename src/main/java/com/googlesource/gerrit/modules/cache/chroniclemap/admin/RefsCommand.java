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

import static com.google.gerrit.sshd.CommandMetaData.Mode.MASTER_OR_SLAVE;

import com.google.gerrit.sshd.CommandMetaData;
import com.google.inject.Inject;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.ProjectRefs;
import java.util.List;
import java.util.Optional;
import org.kohsuke.args4j.Argument;

/** The command {@code ssh HOST cache-chroniclemap refs}, which shows the parsed ref lists. */
@CommandMetaData(
    name = "refs",
    description = "Show the parsed ref lists of projects",
    runsAt = MASTER_OR_SLAVE)
final class RefsCommand extends DocumentedCommand {
  @Argument(metaVar = "PROJECT", usage = "name of a project; by default, all projects")
  private String project;

  @Inject private VisibleRefs refs;
  @Inject private History history;

  @Override
  protected void run() throws UnloggedFailure {
    enableGracefulStop();
    Optional<String> whyNone = refs.whyNone();
    if (whyNone.isPresent()) {
      throw die(whyNone.get());
    }
    List<ProjectRefs> reports =
        project == null
            ? refs.of(user)
            : List.of(refs.of(user, project).orElseThrow(() -> die(VisibleRefs.whyNot(project))));
    RefsTotals totals = refs.totals();
    Figures figures = refs.figures(totals);
    print(
        () -> RefsJson.of(figures, totals, reports),
        out ->
            RefsTable.print(
                out,
                figures,
                totals,
                reports,
                Problems.find(history, Optional.empty(), List.of(), totals, figures)));
  }

  @Override
  String example() {
    return "--format json_compact";
  }
}
