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
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.openjdk.jmh.runner.RunnerException;

/**
 * A family of cases, which are measured in one way and shown in one table. All who are compared
 * take turns, in each round in the opposite order, each in a process of its own: so neither the
 * garbage of one nor what else the machine does falls on another.
 *
 * @param <C> what is measured
 * @param <P> who is measured
 */
abstract class Bench<C extends Case, P extends Peer> {
  final Session session;

  Bench(Session session) {
    this.session = session;
  }

  /** The versions of what is measured. */
  abstract String versions() throws IOException;

  abstract List<C> cases();

  /** Who can do that, this module first. */
  abstract List<P> peers(C scenario);

  /** How often each peer has its turn. */
  abstract int rounds(C scenario);

  /** Makes what all cases need. */
  void prepare(Fork fork) throws RunnerException, IOException {}

  /**
   * Measures one once, and adds what came of it.
   *
   * @param round from 0
   */
  abstract void measure(C scenario, P peer, Samples samples, int round)
      throws RunnerException, IOException, InterruptedException;

  /** Ends what was begun for a case. */
  void end() throws IOException {}

  /** Figures that are of no case, which it prints. */
  List<Figure> further() {
    return List.of();
  }

  /** Measures what was chosen, prints it, and writes it if that is asked for. */
  final void run() throws RunnerException, IOException, InterruptedException {
    List<C> cases = session.chosen(cases());
    session.printHead(versions());
    Table<C, P, Samples> samples = HashBasedTable.create();
    session.measure(
        fork -> {
          prepare(fork);
          takeTurns(cases, samples);
        });
    List<Comparison<C>> results = new ArrayList<>();
    for (C scenario : cases) {
      List<P> peers = peers(scenario);
      for (P peer : peers.subList(1, peers.size())) {
        results.add(
            new Comparison<>(
                scenario, samples.get(scenario, peers.get(0)), peer, samples.get(scenario, peer)));
      }
    }
    ResultTable.print(System.out, cases, this::peers, samples);
    List<Object> figures = new ArrayList<>();
    results.forEach(result -> figures.addAll(result.figures()));
    figures.addAll(further());
    session.printOtherWork();
    session.finish(figures);
  }

  private void takeTurns(List<C> cases, Table<C, P, Samples> samples)
      throws RunnerException, IOException, InterruptedException {
    int turns = cases.stream().mapToInt(each -> peers(each).size() * rounds(each)).sum();
    try (Progress progress = new Progress(Boolean.getBoolean("bench.terminal"), turns)) {
      for (C scenario : cases) {
        List<P> peers = peers(scenario);
        peers.forEach(peer -> samples.put(scenario, peer, new Samples()));
        try {
          for (int round = 0; round < rounds(scenario); round++) {
            for (P peer : round % 2 == 0 ? peers : Lists.reverse(peers)) {
              progress.begin(scenario + ", " + peer.title());
              measure(scenario, peer, samples.get(scenario, peer), round);
              progress.end();
            }
          }
        } catch (IOException e) {
          throw new IOException(scenario + ": " + e.getMessage(), e);
        } finally {
          end();
        }
      }
    }
  }

  /** Such as {@code 500k refs}. */
  static String refs(int refs) {
    if (refs % 1_000_000 == 0) {
      return refs / 1_000_000 + "M refs";
    }
    return refs % 1000 == 0 ? refs / 1000 + "k refs" : refs + " refs";
  }

  /** Such as {@code 8 threads}. */
  static String counted(int count, String what) {
    return String.format(Locale.ROOT, count == 1 ? "%d %s" : "%d %ss", count, what);
  }
}
