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
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import java.util.List;
import java.util.Optional;

/** The command {@code ssh HOST cache-chroniclemap show}, which shows the figures of the caches. */
@CommandMetaData(
    name = "show",
    description = "Show the caches kept in Chronicle-Map",
    runsAt = MASTER_OR_SLAVE)
final class ShowCommand extends CachesCommand {
  @Inject private History history;

  @Override
  protected void run() throws UnloggedFailure {
    enableGracefulStop();
    List<CacheReport> reports = select();
    Problems problems = Problems.find(history, inventory, reports);
    print(
        () -> CachesJson.of(Optional.of(inventory), reports, problems),
        out -> CachesTable.print(out, inventory, reports, problems));
  }

  @Override
  String example() {
    return "accounts change_notes";
  }
}
