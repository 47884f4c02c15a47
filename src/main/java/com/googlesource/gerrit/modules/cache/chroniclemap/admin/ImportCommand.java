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
import static com.google.gerrit.sshd.CommandMetaData.Mode.MASTER_OR_SLAVE;

import com.google.gerrit.extensions.annotations.CapabilityScope;
import com.google.gerrit.extensions.annotations.RequiresCapability;
import com.google.gerrit.sshd.CommandMetaData;
import com.google.inject.Inject;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheUpkeepException;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportReport.State;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import java.util.List;
import org.kohsuke.args4j.Option;

/** {@code ssh HOST cache-chroniclemap import}: takes over what Gerrit's H2 caches hold. */
@RequiresCapability(value = MAINTAIN_SERVER, scope = CapabilityScope.CORE)
@CommandMetaData(
    name = "import",
    description = "Take over what Gerrit's H2 caches hold",
    runsAt = MASTER_OR_SLAVE)
final class ImportCommand extends UpkeepCommand<ImportReport> {
  @Option(name = "--dry-run", usage = "count what there is and change nothing")
  private boolean dryRun;

  @Inject
  ImportCommand(CacheInventory inventory) {
    super(inventory);
  }

  @Override
  protected void run() throws UnloggedFailure {
    runAll();
  }

  @Override
  ImportReport work(String cache, Progress progress)
      throws CacheUpkeepException, InterruptedException {
    return inventory.importFromH2(cache, dryRun, progress);
  }

  @Override
  ImportReport refused(String cache, String reason) {
    return ImportReport.of(cache, State.FAILED, reason);
  }

  @Override
  void print(List<ImportReport> results) {
    if (isJson()) {
      stdout.println(UpkeepJson.ofImport(results));
    } else {
      UpkeepTable.printImport(stdout, results, dryRun);
    }
  }

  @Override
  String failureOf(ImportReport result) {
    return switch (result.state()) {
      case FAILED, INTERRUPTED -> result.cache() + " was not taken over";
      case NOTHING, WAITING, RUNNING, DONE, FULL, IN_USE -> "";
    };
  }
}
