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

import com.google.common.collect.HashBasedTable;
import com.google.common.collect.Lists;
import com.google.common.collect.Table;
import java.util.List;
import java.util.function.Function;
import org.openjdk.jmh.runner.RunnerException;

/** Lets all who are compared take turns, in each round in the opposite order. */
final class Turns {
  /** Measures one once, and adds what came of it. */
  interface Turn<C, P> {
    void measure(C scenario, P peer, Samples samples) throws RunnerException;
  }

  private Turns() {}

  /**
   * Measures all.
   *
   * @param peers who is to be measured in a case
   */
  static <C extends Case, P extends Peer> Table<C, P, Samples> take(
      int rounds, List<C> scenarios, Function<C, List<P>> peers, Turn<C, P> turn)
      throws RunnerException {
    Table<C, P, Samples> samples = HashBasedTable.create();
    for (C scenario : scenarios) {
      peers.apply(scenario).forEach(peer -> samples.put(scenario, peer, new Samples()));
    }
    boolean terminal = Boolean.getBoolean("bench.terminal");
    try (Progress progress = new Progress(terminal, samples.size() * rounds)) {
      for (int round = 0; round < rounds; round++) {
        for (C scenario : scenarios) {
          List<P> order = peers.apply(scenario);
          for (P peer : round % 2 == 0 ? order : Lists.reverse(order)) {
            progress.begin(scenario + ", " + peer.title());
            turn.measure(scenario, peer, samples.get(scenario, peer));
            progress.end();
          }
        }
      }
    }
    return samples;
  }
}
