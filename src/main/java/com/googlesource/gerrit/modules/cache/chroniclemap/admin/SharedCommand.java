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

import com.google.gerrit.extensions.annotations.CapabilityScope;
import com.google.gerrit.extensions.annotations.RequiresAnyCapability;
import com.google.gerrit.sshd.CommandMetaData;
import com.google.gerrit.sshd.SshCommand;
import com.google.inject.Inject;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.SharedCheck;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.SharedTier;
import java.util.List;
import org.kohsuke.args4j.Option;

/** {@code ssh HOST cache-chroniclemap shared}: shows or tries the server that Gerrits share. */
@RequiresAnyCapability(
    value = {VIEW_CACHES, MAINTAIN_SERVER},
    scope = CapabilityScope.CORE)
@CommandMetaData(
    name = "shared",
    description = "Show the server that several Gerrits share, or check it",
    runsAt = MASTER_OR_SLAVE)
final class SharedCommand extends SshCommand {
  @Option(name = "--check", usage = "try all that this Gerrit needs from the server")
  private boolean check;

  @Option(name = "--json", usage = "print JSON, all figures in bytes, counts and microseconds")
  private boolean json;

  private final CacheInventory inventory;

  @Inject
  SharedCommand(CacheInventory inventory) {
    this.inventory = inventory;
  }

  @Override
  protected void run() throws UnloggedFailure {
    enableGracefulStop();
    SharedTier server = inventory.shared().orElseThrow(() -> die(inventory.whyNotShared()));
    if (check) {
      print(server.check());
    } else if (json) {
      stdout.println(SharedShown.json(server.report(), inventory.reports()));
    } else {
      SharedShown.print(stdout, server.report(), inventory.reports());
    }
    stdout.flush();
  }

  private void print(List<SharedCheck.Line> lines) throws UnloggedFailure {
    if (json) {
      stdout.println(CachesJson.GSON.toJson(lines));
    } else {
      SharedShown.print(stdout, lines);
    }
    if (lines.stream().anyMatch(line -> line.verdict() == SharedCheck.Verdict.FAILED)) {
      stdout.flush();
      throw die("values are not shared as they should be");
    }
  }
}
