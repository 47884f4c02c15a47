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

import com.google.common.collect.Table;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.h2.engine.Constants;
import org.lmdbjava.Meta;
import org.openjdk.jmh.runner.RunnerException;

/**
 * Measures this module's caches beside Gerrit's own and LMDB: {@code bin/bench cache}, which checks
 * the arguments.
 *
 * <p>Peers take turns, each time in a new Java process, so that neither the garbage of one nor what
 * else the machine does falls on the other.
 */
public final class CacheBench {
  private static final String PEER = "--peer";

  private CacheBench() {}

  /**
   * Exits with 0, with 1 if something could not be measured or written, with 2 for a wrong name.
   */
  public static void main(String[] args) {
    Session.run(args, CacheBench::run);
  }

  private static void run(Session session) throws RunnerException, IOException {
    List<CacheCase> scenarios = session.chosen(session.plan().scenarios());
    List<CachePeer> others =
        session.value(PEER).map(name -> List.of(CachePeer.valueOf(name))).orElse(CachePeer.OTHERS);
    session.printHead(
        String.format(
            Locale.ROOT,
            "Gerrit %s, H2 %s, LMDB %s, Chronicle-Map %s",
            Machine.version("gerrit-acceptance-framework"),
            Constants.VERSION,
            lmdbVersion(),
            Machine.version("chronicle-map")));

    List<CachePeer> peers = new ArrayList<>(List.of(CachePeer.OURS));
    peers.addAll(others);
    Table<CacheCase, CachePeer, Samples> samples =
        session.measure(
            log -> {
              Fork fork = session.fork(log);
              return Turns.take(
                  session.plan().rounds(), scenarios, scenario -> peers, fork::measure);
            });
    List<Comparison<CacheCase, CachePeer>> results = new ArrayList<>();
    for (CachePeer peer : others) {
      for (CacheCase scenario : scenarios) {
        Samples ours = samples.get(scenario, CachePeer.OURS);
        results.add(
            new Comparison<>(scenario, CachePeer.OURS, ours, peer, samples.get(scenario, peer)));
      }
    }

    List<Comparison<CacheCase, CachePeer>> warm =
        results.stream().filter(Comparison::isWarm).toList();
    for (CachePeer peer : others) {
      CacheTable.print(
          System.out, peer, results.stream().filter(result -> result.peer() == peer).toList());
      System.out.println();
    }
    session.printOtherWork();
    if (!warm.containsAll(results)) {
      System.out.println(
          String.format(
              Locale.ROOT,
              "No ratio: one of them still got faster after a minute of warm-up. %d such are left out of the aims.",
              results.size() - warm.size()));
    }
    CacheAims.print(System.out, warm);
    List<Object> figures = new ArrayList<>();
    for (Comparison<CacheCase, CachePeer> result : results) {
      for (Figure figure : result.figures()) {
        figures.add(result.isWarm() ? figure : figure.alone());
      }
    }
    session.finish(figures);
  }

  private static String lmdbVersion() {
    Meta.Version version = Meta.version();
    return version.major + "." + version.minor + "." + version.patch;
  }
}
