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
import com.google.gerrit.extensions.annotations.RequiresAnyCapability;
import com.google.gerrit.sshd.CommandMetaData;
import org.kohsuke.args4j.Option;

/**
 * The command {@code ssh HOST cache-chroniclemap import}, which imports the values of Gerrit's H2
 * caches.
 */
@RequiresAnyCapability(value = MAINTAIN_SERVER, scope = CapabilityScope.CORE)
@CommandMetaData(
    name = "import",
    description = "Import the values of Gerrit's H2 caches",
    runsAt = MASTER_OR_SLAVE)
final class ImportCommand extends UpkeepCommand {
  @Option(name = "--dry-run", usage = "count the values in H2 and change nothing")
  private boolean dryRun;

  @Override
  UpkeepWork work() {
    return ImportWork.of(inventory, dryRun);
  }
}
