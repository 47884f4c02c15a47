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

/**
 * How much is measured, and for how long. Who is slow makes fewer runs.
 *
 * @param rounds how often all contenders of a case take their turns
 * @param turnMillis after which a turn begins no run any more
 * @param warmUpMillis of each contender before the first round of a case, at least; up to four
 *     times as long until it gets no faster
 */
record UpdatesPlan(int rounds, int turnMillis, int warmUpMillis) {
  private static final int MANY_WRITERS = 8;
  private static final int MANY_REFS = 10_000;
  private static final UpdatesPlan QUICK = new UpdatesPlan(2, 200, 1000);

  static UpdatesPlan full() {
    return new UpdatesPlan(3, 700, 1500);
  }

  /** Enough to see that all works; the figures are rough. */
  static UpdatesPlan quick() {
    return QUICK;
  }

  /**
   * What is to be measured.
   *
   * @param refs of most cases; some have a tenth, a fifth, or four times as many
   */
  static List<UpdatesCase> cases(int refs, boolean quick) {
    List<UpdatesCase> cases = new ArrayList<>();
    List<Integer> sizes = quick ? List.of(refs / 10, refs) : List.of(refs / 10, refs, 4 * refs);
    for (int size : sizes) {
      cases.add(new UpdatesCase(UpdatesOperation.ATOMIC_2, size, false, 1));
    }
    for (int size : quick ? List.of(refs) : sizes) {
      cases.add(new UpdatesCase(UpdatesOperation.ATOMIC_2, size, true, 1));
    }
    cases.add(new UpdatesCase(UpdatesOperation.ATOMIC_2, refs, false, MANY_WRITERS));
    if (!quick) {
      cases.add(new UpdatesCase(UpdatesOperation.ATOMIC_2, refs, true, MANY_WRITERS));
    }
    cases.add(new UpdatesCase(UpdatesOperation.SINGLE, refs, false, 1));
    if (!quick) {
      cases.add(new UpdatesCase(UpdatesOperation.SINGLE, refs, true, 1));
    }
    cases.add(new UpdatesCase(UpdatesOperation.DELETE, refs, false, 1));
    for (boolean durable : new boolean[] {false, true}) {
      cases.add(new UpdatesCase(UpdatesOperation.BATCH_100, refs, durable, 1));
      if (!quick) {
        cases.add(new UpdatesCase(UpdatesOperation.BATCH_1000, refs, durable, 1));
      }
    }
    cases.add(new UpdatesCase(UpdatesOperation.BATCH_10K, refs / 5, false, 1));
    cases.add(new UpdatesCase(UpdatesOperation.AVAILABILITY, refs / 5, false, 1));
    if (!quick) {
      cases.add(new UpdatesCase(UpdatesOperation.AVAILABILITY, 4 * refs, false, 1));
    }
    // With all of them JGit takes more than ten seconds a run: for each loose ref it copies the
    // list.
    cases.add(new UpdatesCase(UpdatesOperation.PACK, refs / 5, false, 1));
    return cases;
  }

  /** Rounds of a case: in a rough run, one of what makes very many files or has many writers. */
  int rounds(UpdatesCase scenario) {
    boolean large = scenario.operation().refs() >= MANY_REFS || scenario.writers() > 1;
    return isQuick() && large ? 1 : rounds;
  }

  /** Whether the lock is watched apart from the measuring. */
  boolean watches(UpdatesCase scenario) {
    return scenario.writers() == 1 && rounds(scenario) > 1;
  }

  private boolean isQuick() {
    return equals(QUICK);
  }

  /** Who takes part. By rewrite or not is a matter of atomic batches that delete nothing. */
  static List<UpdatesPeer> peers(UpdatesCase scenario) {
    List<UpdatesPeer> peers = new ArrayList<>(List.of(UpdatesPeer.values()));
    if (scenario.operation() != UpdatesOperation.ATOMIC_2) {
      peers.remove(UpdatesPeer.OURS_BY_REWRITE);
    }
    return peers;
  }
}
