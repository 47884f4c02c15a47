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
import java.io.Closeable;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Measures updates of refs among many packed ones. Contenders take turns, each with a repository
 * and a process of its own; before each turn the repository is as it was at first. At the end of a
 * case native git is asked whether each has exactly the refs that it should have.
 */
public final class UpdatesBench {
  private static final String REFS = "--refs";
  private static final int DEFAULT_REFS = 500_000;

  /** Who takes longer for a turn than this takes part in each second round only. */
  private static final long SLOW_TURN_NANOS = TimeUnit.SECONDS.toNanos(3);

  private static final int MAX_WATCHED = 3;

  /** A turn that is not this much faster than the best before is as fast as they get. */
  private static final double STEADY = 0.95;

  private static final int MAX_WARM_UPS = 4;

  private final Session session;
  private final UpdatesPlan plan;
  private final UpdatesHome home;
  private final Map<Integer, UpdatesRepository.Base> bases = new HashMap<>();
  private final Table<Integer, UpdatesPeer, UpdatesRepository> repositories =
      HashBasedTable.create();
  private final Table<UpdatesCase, UpdatesPeer, Samples> samples = HashBasedTable.create();

  private UpdatesBench(Session session) throws IOException {
    this.session = session;
    this.plan = session.quick() ? UpdatesPlan.quick() : UpdatesPlan.full();
    this.home = UpdatesHome.make(session.folder().resolve("home"));
  }

  /**
   * Exits with 0, with 1 if something could not be measured or written, with 2 for a wrong name.
   */
  public static void main(String[] args) {
    Session.run(args, UpdatesBench::run);
  }

  private static void run(Session session) throws IOException {
    int refs = session.value(REFS).map(Integer::parseInt).orElse(DEFAULT_REFS);
    List<UpdatesCase> cases = session.chosen(UpdatesPlan.cases(refs, session.quick()));
    session.printHead(
        String.format(
            Locale.ROOT,
            "JGit of Gerrit %s behind ours, JGit 7.4.0.202509020913-r, JGit 7.7.1.202607240634-r, %s",
            Machine.version("gerrit-acceptance-framework"),
            RefsBench.gitVersion()));
    UpdatesBench bench = new UpdatesBench(session);
    try {
      bench.measure(cases);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw (IOException) new InterruptedIOException().initCause(e);
    }
    List<Comparison<UpdatesCase, UpdatesPeer>> results = bench.results(cases);
    UpdatesTable.print(System.out, cases, bench.samples);
    System.out.println("The refs of all contenders are what they must be, says git for-each-ref.");
    session.printOtherWork();
    UpdatesAims.print(System.out, results);
    List<Figure> figures = new ArrayList<>();
    results.forEach(result -> figures.addAll(result.figures()));
    session.finish(figures);
  }

  private void measure(List<UpdatesCase> cases) throws IOException, InterruptedException {
    boolean terminal = Boolean.getBoolean("bench.terminal");
    int steps = 0;
    for (UpdatesCase scenario : cases) {
      steps += UpdatesPlan.peers(scenario).size() * (plan.rounds(scenario) + 1);
    }
    try (Progress progress = new Progress(terminal, steps)) {
      for (UpdatesCase scenario : cases) {
        measure(scenario, progress);
      }
    }
  }

  private void measure(UpdatesCase scenario, Progress progress)
      throws IOException, InterruptedException {
    Map<UpdatesPeer, Runner> runners = new EnumMap<>(UpdatesPeer.class);
    List<UpdatesPeer> peers = UpdatesPlan.peers(scenario);
    try {
      for (UpdatesPeer peer : peers) {
        progress.begin(scenario + ", " + peer.title() + ", warming up");
        Runner runner = new Runner(scenario, peer);
        runners.put(peer, runner);
        runner.warmUp();
        progress.end();
      }
      int rounds = plan.rounds(scenario);
      for (int round = 0; round < rounds; round++) {
        boolean last = round == rounds - 1;
        for (UpdatesPeer peer : round % 2 == 0 ? peers : Lists.reverse(peers)) {
          Runner runner = runners.get(peer);
          progress.begin(scenario + ", " + peer.title());
          if (last || round % 2 == 0 || !runner.isSlow()) {
            runner.turn(last);
          }
          if (last && plan.watches(scenario)) {
            runner.watch();
          }
          progress.end();
        }
      }
    } catch (IOException e) {
      throw new IOException(scenario + ": " + e.getMessage(), e);
    } finally {
      for (Runner runner : runners.values()) {
        runner.close();
      }
    }
  }

  private List<Comparison<UpdatesCase, UpdatesPeer>> results(List<UpdatesCase> cases) {
    List<Comparison<UpdatesCase, UpdatesPeer>> results = new ArrayList<>();
    for (UpdatesCase scenario : cases) {
      for (UpdatesPeer us : UpdatesPlan.peers(scenario)) {
        for (UpdatesPeer peer : UpdatesPlan.peers(scenario)) {
          if (us.ours() && !peer.ours()) {
            results.add(
                new Comparison<>(
                    scenario, us, samples.get(scenario, us), peer, samples.get(scenario, peer)));
          }
        }
      }
    }
    return results;
  }

  private UpdatesRepository repository(int refs, UpdatesPeer peer) throws IOException {
    Path folder = session.folder();
    UpdatesRepository.Base base = bases.get(refs);
    if (base == null) {
      base = UpdatesRepository.Base.make(folder.resolve("refs-" + refs), refs);
      bases.put(refs, base);
    }
    UpdatesRepository repository = repositories.get(refs, peer);
    if (repository == null) {
      repository = base.copyTo(folder.resolve("refs-" + refs + "-" + peer.name()));
      repositories.put(refs, peer, repository);
    }
    return repository;
  }

  /** One contender in one case. */
  private final class Runner implements Closeable {
    private final UpdatesOperation operation;
    private final UpdatesRepository repository;
    private final UpdatesContender contender;
    private final Samples mine = new Samples();
    private final int most;
    private long lastTurnNanos;

    Runner(UpdatesCase scenario, UpdatesPeer peer) throws IOException {
      this.operation = scenario.operation();
      this.repository = repository(scenario.refs(), peer);
      this.most = operation.runs() * (scenario.writers() == 1 ? 1 : 4);
      repository.setDurable(scenario.durable());
      this.contender = peer.open(home, repository, scenario.writers());
      samples.put(scenario, peer, mine);
    }

    boolean isSlow() {
      return lastTurnNanos > SLOW_TURN_NANOS;
    }

    /**
     * Until it is compiled and gets no faster, as a server is that has run for some minutes; one
     * turn in any case. What restores the repository does not count.
     */
    void warmUp() throws IOException, InterruptedException {
      long least = TimeUnit.MILLISECONDS.toNanos(plan.warmUpMillis());
      double best = Double.MAX_VALUE;
      boolean steady = false;
      for (long spent = 0; spent < least || (!steady && spent < MAX_WARM_UPS * least); ) {
        prepare();
        long begun = System.nanoTime();
        double median = contender.run(operation, 0, most, plan.warmUpMillis()).medianNanos();
        spent += System.nanoTime() - begun;
        repository.restore();
        steady = median > STEADY * best;
        best = Math.min(best, median);
      }
    }

    private void prepare() throws IOException {
      if (operation == UpdatesOperation.PACK) {
        repository.makeLoose(repository.input().names(operation, 0));
      }
      contender.prime();
    }

    void turn(boolean check) throws IOException, InterruptedException {
      prepare();
      long begun = System.nanoTime();
      UpdatesRun run = contender.run(operation, 0, most, plan.turnMillis());
      lastTurnNanos = System.nanoTime() - begun;
      mine.add(run);
      if (check) {
        check(run.count());
      }
      repository.restore();
    }

    private void check(int runs) throws IOException {
      UpdatesInput input = repository.input();
      List<String> added = new ArrayList<>();
      List<String> deleted = new ArrayList<>();
      for (int run = 0; run < runs; run++) {
        if (operation.creates() || operation == UpdatesOperation.PACK) {
          added.addAll(input.names(operation, run));
        } else if (operation == UpdatesOperation.DELETE) {
          deleted.add(input.packed(run + 1));
        }
      }
      repository.check(home, added, deleted);
    }

    /** Not measured, as the watching takes a processor. */
    void watch() throws IOException, InterruptedException {
      prepare();
      LockWatch watch = LockWatch.start(repository.lockFile());
      int runs = 0;
      try {
        runs = contender.run(operation, 0, Math.min(MAX_WATCHED, most), plan.turnMillis()).count();
      } finally {
        mine.addLocked(watch.stop(), runs);
      }
      repository.restore();
    }

    @Override
    public void close() throws IOException {
      contender.close();
      repository.deleteOld();
    }
  }
}
