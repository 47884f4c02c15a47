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

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.gerrit.extensions.annotations.CapabilityScope;
import com.google.gerrit.extensions.annotations.RequiresAnyCapability;
import com.google.gerrit.extensions.restapi.AuthException;
import com.google.gerrit.server.permissions.GlobalPermission;
import com.google.gerrit.server.permissions.PermissionBackend;
import com.google.gerrit.server.permissions.PermissionBackendException;
import com.google.gerrit.sshd.CommandMetaData;
import com.google.inject.Inject;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.UpkeepShown.Column;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheUpkeepException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import org.kohsuke.args4j.Option;

/** {@code ssh HOST cache-chroniclemap verify}: reads and checks every entry on disk. */
@RequiresAnyCapability(
    value = {VIEW_CACHES, MAINTAIN_SERVER},
    scope = CapabilityScope.CORE)
@CommandMetaData(
    name = "verify",
    description = "Check all entries of caches on disk",
    runsAt = MASTER_OR_SLAVE)
final class VerifyCommand extends UpkeepCommand {
  static final ImmutableList<Column> COLUMNS =
      ImmutableList.of(
          new Column("Entries", "entries", Units::count),
          new Column("Bytes", "bytes", Units::bytes),
          new Column("Damaged", "damaged", Units::count),
          Column.TIME);

  /** How often a check is repeated that ended because its file was replaced by a growth. */
  private static final int ATTEMPTS = 5;

  enum Verdict {
    /** All entries were checked and none is damaged. */
    SOUND,
    /** The damaged entries were dropped. */
    REPAIRED,
    /** Damaged entries were found and are still there. */
    DAMAGED,
    /** Not all entries were checked. */
    INCOMPLETE
  }

  @Option(name = "--repair", usage = "drop damaged entries")
  private boolean repair;

  private final PermissionBackend permissions;

  @Inject
  VerifyCommand(CacheInventory inventory, PermissionBackend permissions) {
    super(inventory, COLUMNS);
    this.permissions = permissions;
  }

  @Override
  protected void run() throws UnloggedFailure {
    if (repair) {
      checkMayRepair();
    }
    runAll();
  }

  private void checkMayRepair() throws UnloggedFailure {
    try {
      permissions.currentUser().check(GlobalPermission.MAINTAIN_SERVER);
    } catch (AuthException e) {
      throw die("--repair: " + e.getMessage());
    } catch (PermissionBackendException e) {
      throw die("permission check unavailable", e);
    }
  }

  @Override
  UpkeepResult work(String cache, Progress progress)
      throws CacheUpkeepException, InterruptedException {
    VerifyReport report = inventory.verify(cache, repair, progress);
    for (int i = 1; i < ATTEMPTS && isWorthRepeating(cache, report, progress); i++) {
      report = inventory.verify(cache, repair, progress);
    }
    return result(cache, report, whyIncomplete(cache, progress), repair);
  }

  private boolean isWorthRepeating(String cache, VerifyReport report, Progress progress) {
    return !report.complete() && !progress.isCancelled() && hasFile(cache);
  }

  private String whyIncomplete(String cache, Progress progress) {
    if (progress.isCancelled()) {
      return "interrupted";
    }
    return hasFile(cache)
        ? "its file was replaced several times meanwhile, or could not be read (see the log)"
        : "it has no file; see the show command";
  }

  private boolean hasFile(String cache) {
    return inventory.reports().stream()
        .filter(report -> report.name().equals(cache))
        .map(CacheReport::disk)
        .anyMatch(disk -> disk.state() == StoreState.READY);
  }

  @Override
  UpkeepResult refused(String cache, String reason) {
    return result(cache, new VerifyReport(0, 0, 0, false, false, 0), reason, repair);
  }

  static UpkeepResult result(
      String cache, VerifyReport report, String whyIncomplete, boolean repair) {
    Verdict verdict =
        report.repaired()
            ? Verdict.REPAIRED
            : report.damaged() > 0
                ? Verdict.DAMAGED
                : report.complete() ? Verdict.SOUND : Verdict.INCOMPLETE;
    String detail = verdict == Verdict.REPAIRED || report.complete() ? "" : whyIncomplete;
    return new UpkeepResult(
        cache,
        verdict,
        switch (verdict) {
          case SOUND -> "sound";
          case REPAIRED -> "repaired";
          case DAMAGED -> "DAMAGED";
          case INCOMPLETE -> "NOT COMPLETE";
        },
        detail,
        detail,
        switch (verdict) {
          case SOUND, REPAIRED -> "";
          case DAMAGED ->
              repair
                  ? cache + " is damaged and could not be repaired"
                  : cache + " is damaged; --repair drops the damaged entries";
          case INCOMPLETE -> cache + " was not checked completely";
        },
        ImmutableMap.<String, Object>builder()
            .put("entries", report.values())
            .put("bytes", report.bytes())
            .put("damaged", report.damaged())
            .put("complete", report.complete())
            .put("millis", report.millis())
            .build());
  }
}
