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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.openjdk.jmh.runner.RunnerException;

/**
 * A family of cases, which are measured in one way and shown in one table. All who are compared
 * take turns, in each round in the opposite order, each in a process of its own: so neither the
 * garbage of one nor what else the machine does falls on another.
 *
 * @param <C> what is measured
 * @param <P> who is measured
 */
public abstract class Bench<C extends Case, P extends Bench.Peer> {
  /** Who is measured: this module or another. */
  public interface Peer {
    String title();
  }

  private static final Peer SMALL = () -> "small repository";

  protected final Session session;
  private final Table<C, P, Samples> samples = HashBasedTable.create();

  protected Bench(Session session) {
    this.session = session;
  }

  /** The versions of what is measured. */
  protected abstract String versions() throws IOException;

  protected abstract List<C> cases();

  /** Who can do that, this module first. */
  protected abstract List<P> peers(C scenario);

  /** How often each peer has its turn. */
  protected abstract int rounds(C scenario);

  /** The same in a small repository, beside which a case is shown. */
  protected Optional<C> small(C scenario) {
    return Optional.empty();
  }

  /** Cases with equal ones are measured round by round, the others one after the other. */
  protected Object group(C scenario) {
    return scenario;
  }

  /** Makes what all cases need. */
  protected void prepare() throws RunnerException, IOException, InterruptedException {}

  /** Begins a round of a group. */
  protected void begin(C first, int round) throws IOException, InterruptedException {}

  /**
   * Measures one once, and adds what came of it.
   *
   * @param round from 0
   */
  protected abstract void measure(C scenario, P peer, Samples samples, int round)
      throws RunnerException, IOException, InterruptedException;

  /** Ends what was begun for a group. */
  protected void end(C first) throws IOException, InterruptedException {}

  /** Figures that are of no case, which it prints. */
  protected List<Figure> further() {
    return List.of();
  }

  /** Ends what was prepared. */
  protected void close() throws IOException {}

  /** Measures what was chosen, prints it, and writes it if that is asked for. */
  public final void run() throws RunnerException, IOException, InterruptedException {
    List<C> cases = session.chosen(cases(), Case::name);
    session.printHead(versions());
    session.measure(
        () -> {
          try {
            prepare();
            takeTurns(cases);
          } finally {
            close();
          }
        });
    List<ResultTable.Row> rows = new ArrayList<>();
    List<Object> figures = new ArrayList<>();
    for (C scenario : cases) {
      List<P> peers = peers(scenario);
      Optional<C> small = small(scenario).filter(cases::contains);
      Samples ours = samples.get(scenario, peers.get(0));
      for (P peer : peers) {
        Samples one = samples.get(scenario, peer);
        Comparison<C> beside = new Comparison<>(scenario, ours, peer, one);
        boolean isOurs = peer == peers.get(0);
        if (!isOurs) {
          figures.addAll(beside.figures());
        }
        rows.add(
            new ResultTable.Row(
                scenario.name(),
                peer.title(),
                one,
                isOurs ? Optional.empty() : Optional.of(beside),
                small.map(other -> scenario.times(samples.get(other, peer), one))));
      }
      small.ifPresent(
          other ->
              figures.addAll(
                  new Comparison<>(scenario, ours, SMALL, samples.get(other, peers.get(0)))
                      .figures()));
    }
    ResultTable.print(System.out, rows);
    figures.addAll(further());
    session.printOtherWork();
    session.finish(figures);
  }

  private void takeTurns(List<C> cases) throws RunnerException, IOException, InterruptedException {
    int turns = cases.stream().mapToInt(each -> peers(each).size() * rounds(each)).sum();
    Map<Object, List<C>> groups =
        cases.stream()
            .collect(Collectors.groupingBy(this::group, LinkedHashMap::new, Collectors.toList()));
    Progress progress = new Progress(turns);
    for (List<C> group : groups.values()) {
      try {
        for (int round = 0; round < rounds(group.get(0)); round++) {
          begin(group.get(0), round);
          for (C scenario : group) {
            takeTurns(scenario, round, progress);
          }
        }
      } finally {
        end(group.get(0));
      }
    }
  }

  private void takeTurns(C scenario, int round, Progress progress)
      throws RunnerException, IOException, InterruptedException {
    List<P> peers = peers(scenario);
    for (P peer : round % 2 == 0 ? peers : Lists.reverse(peers)) {
      progress.begin(scenario.name() + ", " + peer.title());
      if (!samples.contains(scenario, peer)) {
        samples.put(scenario, peer, new Samples());
      }
      try {
        measure(scenario, peer, samples.get(scenario, peer), round);
      } catch (IOException e) {
        throw new IOException(scenario.name() + ": " + e.getMessage(), e);
      }
    }
  }

  /** Such as {@code 500k refs}. */
  public static String refs(int refs) {
    if (refs % 1_000_000 == 0) {
      return refs / 1_000_000 + "M refs";
    }
    return refs % 1000 == 0 ? refs / 1000 + "k refs" : refs + " refs";
  }

  /** Such as {@code 8 threads}. */
  public static String counted(int count, String what) {
    return String.format(Locale.ROOT, count == 1 ? "%d %s" : "%d %ss", count, what);
  }
}
