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
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.CheckReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedReport;
import org.kohsuke.args4j.Option;

/**
 * The command {@code ssh HOST cache-chroniclemap shared}, which shows what is shared with other
 * servers, and checks the way to them.
 */
@CommandMetaData(
    name = "shared",
    description = "Show and check what is shared with other servers",
    runsAt = MASTER_OR_SLAVE)
final class SharedCommand extends DocumentedCommand {
  @Option(name = "--check", usage = "check the connection, the rights, the secret and the memory")
  private boolean isCheck;

  @Inject private CacheInventory inventory;

  @Override
  protected void run() throws UnloggedFailure {
    enableGracefulStop();
    SharedReport report =
        inventory
            .shared()
            .orElseThrow(
                () ->
                    die(
                        "nothing is shared: cache-chroniclemap.sharedUrl is not set in"
                            + " etc/gerrit.config, or all caches are in memory only"));
    if (!isCheck) {
      print(() -> SharedTable.json(report), out -> SharedTable.print(out, report));
      return;
    }
    CheckReport check = inventory.checkShared().orElseThrow();
    print(() -> SharedTable.json(check), out -> SharedTable.print(out, check));
    if (!check.isGood()) {
      throw new UnloggedFailure(1, "");
    }
  }

  @Override
  String example() {
    return "--check";
  }
}
