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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import java.util.ArrayList;
import java.util.List;

/** What is measured of refs: what a reader needs of all the combinations there are. */
final class RefsPlan {
  static final List<RefsPeer> PEERS_WITH_MEMORY =
      List.of(RefsPeer.OURS, RefsPeer.REF_DIRECTORY, RefsPeer.REFTABLE);

  /**
   * How often something is measured that happens once.
   *
   * @param warmups until it is compiled
   */
  record Once(int warmups, int iterations) {}

  private static final List<RefsOperation> OF_REFTABLES =
      List.of(
          RefsOperation.EXISTING,
          RefsOperation.MISSING,
          RefsOperation.PREFIX,
          RefsOperation.CONFLICTS,
          RefsOperation.TIPS,
          RefsOperation.NO_TIPS,
          RefsOperation.ALL,
          RefsOperation.FIRST);

  private RefsPlan() {}

  static Once once(boolean quick) {
    return quick ? new Once(12, 7) : new Once(20, 15);
  }

  static List<RefsCase> cases(int refs, boolean quick) {
    List<RefsCase> cases = new ArrayList<>();
    for (RefsOperation operation : RefsOperation.values()) {
      if (!operation.once()) {
        cases.add(new RefsCase(operation, refs, RefsCase.ALWAYS, 1));
      }
    }
    for (String trust : List.of(RefsCase.AFTER_OPEN, RefsCase.NEVER)) {
      cases.add(new RefsCase(RefsOperation.EXISTING, refs, trust, 1));
      if (!quick) {
        cases.add(new RefsCase(RefsOperation.MISSING, refs, trust, 1));
      }
    }
    for (int threads : quick ? List.of(2) : List.of(2, 8)) {
      cases.add(new RefsCase(RefsOperation.EXISTING, refs, RefsCase.ALWAYS, threads));
      if (!quick) {
        cases.add(new RefsCase(RefsOperation.EXISTING, refs, RefsCase.NEVER, threads));
      }
    }
    for (int threads : List.of(2, 8)) {
      cases.add(new RefsCase(RefsOperation.TIPS, refs, RefsCase.ALWAYS, threads));
      if (!quick) {
        cases.add(new RefsCase(RefsOperation.NO_TIPS, refs, RefsCase.ALWAYS, threads));
      }
    }
    for (int threads : quick ? List.<Integer>of() : List.of(2, 8)) {
      for (RefsOperation operation :
          List.of(RefsOperation.MAP, RefsOperation.FILTERED, RefsOperation.COPIED)) {
        cases.add(new RefsCase(operation, refs, RefsCase.ALWAYS, threads));
      }
    }
    for (RefsOperation operation : RefsOperation.values()) {
      if (operation.once()) {
        cases.add(new RefsCase(operation, refs, RefsCase.ALWAYS, 1));
      }
    }
    for (RefsOperation operation : OF_REFTABLES) {
      cases.add(new RefsCase(operation, refs, RefsCase.REFTABLE, 1));
    }
    for (int threads : List.of(2, 8)) {
      cases.add(new RefsCase(RefsOperation.EXISTING, refs, RefsCase.REFTABLE, threads));
    }
    return cases;
  }

  /** Who can do that. Native git of Debian 12 reads no reftables. */
  static List<RefsPeer> peers(RefsCase scenario) {
    if (scenario.isReftable()) {
      return List.of(RefsPeer.OURS, RefsPeer.REFTABLE);
    }
    List<RefsPeer> peers = new ArrayList<>(List.of(RefsPeer.OURS, RefsPeer.REF_DIRECTORY));
    boolean always = scenario.trust().equals(RefsCase.ALWAYS);
    boolean hasGit =
        switch (scenario.operation()) {
          case EXISTING, MISSING, ALL -> always && scenario.threads() == 1;
          case FIRST, REWRITE -> true;
          default -> false;
        };
    if (hasGit) {
      peers.add(RefsPeer.GIT);
    }
    return peers;
  }
}
