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
import org.kohsuke.args4j.Option;

/**
 * The command {@code ssh HOST cache-chroniclemap verify}, which reads and checks every entry on
 * disk.
 */
@CommandMetaData(
    name = "verify",
    description = "Check all entries of caches on disk",
    runsAt = MASTER_OR_SLAVE)
final class VerifyCommand extends UpkeepCommand {
  @Option(name = "--repair", usage = "drop damaged entries")
  private boolean repair;

  @Inject private Rights rights;

  @Override
  UpkeepWork work() throws UnloggedFailure {
    if (repair && !rights.has(Rights.MAINTAIN)) {
      throw die("--repair: maintain server not permitted");
    }
    return VerifyWork.of(inventory, repair);
  }
}
