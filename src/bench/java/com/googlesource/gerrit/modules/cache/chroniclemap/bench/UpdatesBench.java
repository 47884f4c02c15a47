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
import com.google.common.collect.Table;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Updates of refs among many packed ones: {@code bin/bench ref-updates}, which checks the
 * arguments. Contenders have a repository of their own each, which before each turn is as it was at
 * first. Who is slow makes fewer runs.
 */
public final class UpdatesBench extends Bench<UpdatesBench.UpdatesCase, UpdatesPeer> {
  /**
   * An update of a repository with so many refs, by a number of writers.
   *
   * @param durable {@code core.fsyncRefFiles}
   */
  record UpdatesCase(UpdatesOperation operation, int refs, boolean durable, int writers)
      implements Case {
    @Override
    public String title() {
      return operation.title;
    }

    @Override
    public String nameOf(String quantity) {
      return quantity
          + (durable ? ", durable" : "")
          + (writers == 1 ? "" : ", " + writers + " writers")
          + ", "
          + Bench.refs(refs);
    }

    /** How many times as fast; of many writers, how many times as many in a second. */
    @Override
    public double times(Samples ours, Samples theirs) {
      return writers == 1
          ? Case.super.times(ours, theirs)
          : ours.opsPerSecond() / theirs.opsPerSecond();
    }

    @Override
    public List<Figure> figures(Comparison<?> result) {
      return result.inMillis(title(), writers > 1);
    }
  }

  private static final int DEFAULT_REFS = 500_000;
  private static final int MANY_WRITERS = 8;
  private static final int MANY_REFS = 10_000;

  /** Who takes longer for a turn than this takes part in each second round only. */
  private static final long SLOW_TURN_NANOS = TimeUnit.SECONDS.toNanos(3);

  /** A turn that is not this much faster than the best before is as fast as they get. */
  private static final double STEADY = 0.95;

  private static final int MAX_WARM_UPS = 4;

  private final int refs;

  /** After which a turn begins no run any more. */
  private final int turnMillis;

  /**
   * At least, of each contender; up to {@value #MAX_WARM_UPS} times as long while it gets faster.
   */
  private final int warmUpMillis;

  private final UpdatesPeer.Home home;
  private final Map<Integer, UpdatesRepository.Base> bases = new HashMap<>();
  private final Table<Integer, UpdatesPeer, UpdatesRepository> repositories =
      HashBasedTable.create();

  /** Those of the case that is being measured. */
  private final Map<UpdatesPeer, Runner> runners = new EnumMap<>(UpdatesPeer.class);

  private UpdatesBench(Session session) throws IOException {
    super(session);
    refs = session.number("--refs", DEFAULT_REFS);
    turnMillis = session.quick() ? 200 : 700;
    warmUpMillis = session.quick() ? 1000 : 1500;
    home = UpdatesPeer.Home.make(session.folder().resolve("home"));
  }

  /** Exits with 0; 1 if something could not be measured or written, 2 for a wrong name. */
  public static void main(String[] args) {
    Session.run(args, session -> new UpdatesBench(session).run());
  }

  @Override
  protected String versions() throws IOException {
    return String.format(
        Locale.ROOT,
        "JGit of Gerrit %s behind ours, JGit 7.4.0.202509020913-r, JGit 7.7.1.202607240634-r, %s",
        Machine.version("gerrit-acceptance-framework"),
        RefsBench.gitVersion());
  }

  @Override
  protected List<UpdatesCase> cases() {
    boolean all = !session.quick();
    List<UpdatesCase> cases = new ArrayList<>();
    for (boolean durable : new boolean[] {false, true}) {
      add(cases, all || !durable, UpdatesOperation.ATOMIC_2, refs / 10, durable, 1);
      add(cases, true, UpdatesOperation.ATOMIC_2, refs, durable, 1);
      add(cases, all, UpdatesOperation.ATOMIC_2, 4 * refs, durable, 1);
      add(cases, all || !durable, UpdatesOperation.ATOMIC_2, refs, durable, MANY_WRITERS);
      add(cases, all || !durable, UpdatesOperation.SINGLE, refs, durable, 1);
      add(cases, true, UpdatesOperation.BATCH_100, refs, durable, 1);
      add(cases, all, UpdatesOperation.BATCH_1000, refs, durable, 1);
    }
    add(cases, true, UpdatesOperation.DELETE, refs, false, 1);
    add(cases, true, UpdatesOperation.BATCH_10K, refs / 5, false, 1);
    add(cases, all, UpdatesOperation.BATCH_100K, refs / 5, false, 1);
    add(cases, true, UpdatesOperation.AVAILABILITY, refs / 5, false, 1);
    add(cases, all, UpdatesOperation.AVAILABILITY, 4 * refs, false, 1);
    // Of all of them JGit takes more than ten seconds a run: for each loose ref it copies the list.
    add(cases, true, UpdatesOperation.PACK, refs / 5, false, 1);
    return cases;
  }

  private static void add(
      List<UpdatesCase> cases,
      boolean wanted,
      UpdatesOperation operation,
      int refs,
      boolean durable,
      int writers) {
    if (wanted) {
      cases.add(new UpdatesCase(operation, refs, durable, writers));
    }
  }

  @Override
  protected List<UpdatesPeer> peers(UpdatesCase scenario) {
    return List.of(UpdatesPeer.values());
  }

  /** In a rough run, one of what makes very many files or has many writers. */
  @Override
  protected int rounds(UpdatesCase scenario) {
    boolean large = scenario.operation().refs >= MANY_REFS || scenario.writers() > 1;
    return session.quick() ? (large ? 1 : 2) : 3;
  }

  @Override
  protected void measure(UpdatesCase scenario, UpdatesPeer peer, Samples samples, int round)
      throws IOException, InterruptedException {
    Runner runner = runners.get(peer);
    if (runner == null) {
      runner = new Runner(scenario, peer, samples);
      runners.put(peer, runner);
      runner.warmUp();
    }
    boolean last = round == rounds(scenario) - 1;
    if (last || round % 2 == 0 || runner.lastTurnNanos <= SLOW_TURN_NANOS) {
      runner.turn();
    }
  }

  @Override
  protected void end(UpdatesCase first) throws IOException {
    for (Runner runner : runners.values()) {
      runner.close();
    }
    runners.clear();
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
    private final UpdatesPeer.Contender contender;
    private final Samples samples;
    private final int most;
    private long lastTurnNanos;

    Runner(UpdatesCase scenario, UpdatesPeer peer, Samples samples) throws IOException {
      this.operation = scenario.operation();
      this.repository = repository(scenario.refs(), peer);
      this.samples = samples;
      this.most = operation.runs * (scenario.writers() == 1 ? 1 : 4);
      repository.setDurable(scenario.durable());
      this.contender = peer.open(home, repository, scenario.writers());
    }

    /**
     * Until it is compiled and gets no faster, as a server is that has run for some minutes; one
     * turn in any case. What restores the repository does not count.
     */
    void warmUp() throws IOException, InterruptedException {
      long least = TimeUnit.MILLISECONDS.toNanos(warmUpMillis);
      double best = Double.MAX_VALUE;
      boolean steady = false;
      for (long spent = 0; spent < least || (!steady && spent < MAX_WARM_UPS * least); ) {
        prepare();
        long begun = System.nanoTime();
        double median = contender.run(operation, 0, most, warmUpMillis).medianNanos();
        spent += System.nanoTime() - begun;
        repository.restore();
        steady = median > STEADY * best;
        best = Math.min(best, median);
      }
    }

    private void prepare() throws IOException {
      if (operation == UpdatesOperation.PACK) {
        repository.makeLoose(repository.input.names(operation, 0));
      }
      contender.prime();
    }

    void turn() throws IOException, InterruptedException {
      prepare();
      long begun = System.nanoTime();
      Turn run = contender.run(operation, 0, most, turnMillis);
      lastTurnNanos = System.nanoTime() - begun;
      samples.add(run);
      repository.restore();
    }

    @Override
    public void close() throws IOException {
      contender.close();
      repository.deleteOld();
    }
  }
}
