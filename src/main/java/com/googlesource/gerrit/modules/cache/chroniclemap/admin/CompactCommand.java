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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import java.util.List;

/**
 * {@code ssh HOST cache-chroniclemap compact}: gives disk back that caches do not need any more.
 */
@RequiresCapability(value = MAINTAIN_SERVER, scope = CapabilityScope.CORE)
@CommandMetaData(
    name = "compact",
    description = "Make the files of caches as small as their entries allow",
    runsAt = MASTER_OR_SLAVE)
final class CompactCommand extends UpkeepCommand<CompactResult> {
  @Inject
  CompactCommand(CacheInventory inventory) {
    super(inventory);
  }

  @Override
  protected void run() throws UnloggedFailure {
    runAll();
  }

  @Override
  CompactResult work(String cache, Progress progress)
      throws CacheUpkeepException, InterruptedException {
    return CompactResult.of(cache, inventory.compact(cache, progress));
  }

  @Override
  CompactResult refused(String cache, String reason) {
    return CompactResult.refused(cache, reason);
  }

  @Override
  void print(List<CompactResult> results) {
    if (isJson()) {
      stdout.println(UpkeepJson.ofCompact(results));
    } else {
      UpkeepTable.printCompact(stdout, results);
    }
  }

  @Override
  String failureOf(CompactResult result) {
    return result.isGood() ? "" : result.cache() + " was not compacted";
  }
}
