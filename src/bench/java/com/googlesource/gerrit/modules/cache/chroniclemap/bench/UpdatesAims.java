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

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** What updates of refs are to reach with {@link #REFS} refs, and what of it a run did not. */
final class UpdatesAims {
  private static final int REFS = 500_000;
  private static final double KILO = 1000;
  private static final double MEGA = 1e6;

  /** Two cases of ours beside each other. */
  private record Growth(String name, double times) {}

  private UpdatesAims() {}

  private static Predicate<Comparison<UpdatesCase, UpdatesPeer>> atomic(
      UpdatesPeer us, UpdatesPeer peer) {
    return result ->
        is(result, UpdatesOperation.ATOMIC_2, us, peer)
            && result.scenario().refs() == REFS
            && !result.scenario().durable()
            && result.scenario().writers() == 1;
  }

  private static boolean is(
      Comparison<UpdatesCase, UpdatesPeer> result,
      UpdatesOperation operation,
      UpdatesPeer us,
      UpdatesPeer peer) {
    return result.scenario().operation() == operation && result.us() == us && result.peer() == peer;
  }

  private static List<Aim<Comparison<UpdatesCase, UpdatesPeer>>> comparisons() {
    List<Aim<Comparison<UpdatesCase, UpdatesPeer>>> aims = new ArrayList<>();
    Predicate<Comparison<UpdatesCase, UpdatesPeer>> loose =
        atomic(UpdatesPeer.OURS, UpdatesPeer.JGIT_7_4);
    Predicate<Comparison<UpdatesCase, UpdatesPeer>> rewrite =
        atomic(UpdatesPeer.OURS_BY_REWRITE, UpdatesPeer.JGIT_7_4);
    aims.add(
        Aim.atMost(
            "atomic batch of 2, median: 1 ms", loose, result -> result.ours().millis(50), 1, "ms"));
    aims.add(
        Aim.ratio(
            "atomic batch of 2: 300 times as fast as JGit 7.4", loose, UpdatesAims::times, 300));
    aims.add(
        Aim.atMost(
            "atomic batch of 2, garbage: 100 KB",
            loose,
            result -> garbage(result) / KILO,
            100,
            "KB"));
    aims.add(
        Aim.ratio(
            "atomic batch of 2: as fast as native git",
            atomic(UpdatesPeer.OURS, UpdatesPeer.GIT),
            UpdatesAims::times,
            1));
    aims.add(
        Aim.ratio(
            "atomic batch of 2 by rewrite: 10 times as fast as JGit 7.4",
            rewrite,
            UpdatesAims::times,
            10));
    aims.add(
        Aim.ratio(
            "atomic batch of 2 by rewrite: 5 times as fast as JGit 7.7",
            atomic(UpdatesPeer.OURS_BY_REWRITE, UpdatesPeer.JGIT_7_7),
            UpdatesAims::times,
            5));
    aims.add(
        Aim.atMost(
            "atomic batch of 2 by rewrite, garbage: 10 MB",
            rewrite,
            result -> garbage(result) / MEGA,
            10,
            "MB"));
    aims.add(
        Aim.atMost(
            "availability of 10k names: 50 ms",
            result ->
                is(result, UpdatesOperation.AVAILABILITY, UpdatesPeer.OURS, UpdatesPeer.JGIT_7_4),
            result -> result.ours().millis(50),
            50,
            "ms"));
    for (UpdatesOperation operation : List.of(UpdatesOperation.PACK, UpdatesOperation.BATCH_10K)) {
      Predicate<Comparison<UpdatesCase, UpdatesPeer>> besideGit =
          result -> is(result, operation, UpdatesPeer.OURS, UpdatesPeer.GIT);
      aims.add(
          Aim.ratio(
              operation.title() + ": as fast as native git", besideGit, UpdatesAims::times, 1));
      aims.add(
          Aim.ratio(
              operation.title() + ": no more processor time than native git",
              besideGit,
              UpdatesAims::cpuTimes,
              1));
    }
    return aims;
  }

  private static double times(Comparison<UpdatesCase, UpdatesPeer> result) {
    return result.scenario().times(result.ours(), result.theirs());
  }

  private static double cpuTimes(Comparison<UpdatesCase, UpdatesPeer> result) {
    return result.theirs().cpuMillis() / result.ours().cpuMillis();
  }

  private static double garbage(Comparison<UpdatesCase, UpdatesPeer> result) {
    return result.ours().garbage().orElse(Double.NaN);
  }

  private static final List<Aim<Growth>> GROWTH =
      List.of(
          growth("with 40 times the refs", "atomic batch of 2, 40 times the refs: 1.2 times", 1.2),
          growth("durable", "100 new refs, durable: 3 times those that are not", 3));

  private static Aim<Growth> growth(String name, String text, double most) {
    return Aim.atMost(text, growth -> growth.name.startsWith(name), Growth::times, most, "times");
  }

  private static final List<Aim<Growth>> WRITERS =
      List.of(
          Aim.ratio(
              "atomic batch of 2 by rewrite, 8 writers: 4 times the batches of one",
              growth -> growth.name.startsWith("8 writers"),
              Growth::times,
              4));

  private static List<Growth> growths(List<Comparison<UpdatesCase, UpdatesPeer>> results) {
    List<Growth> all = new ArrayList<>();
    for (Comparison<UpdatesCase, UpdatesPeer> one : results) {
      for (Comparison<UpdatesCase, UpdatesPeer> two : results) {
        UpdatesCase a = one.scenario();
        UpdatesCase b = two.scenario();
        if (one.us() != two.us()
            || one.peer() != UpdatesPeer.JGIT_7_4
            || two.peer() != UpdatesPeer.JGIT_7_4
            || a.operation() != b.operation()) {
          continue;
        }
        boolean atomic = a.operation() == UpdatesOperation.ATOMIC_2;
        double times = two.ours().millis(50) / one.ours().millis(50);
        if (atomic
            && one.us() == UpdatesPeer.OURS
            && a.refs() * 40 == b.refs()
            && a.durable() == b.durable()
            && a.writers() == 1
            && b.writers() == 1) {
          all.add(new Growth("with 40 times the refs, " + b, times));
        }
        if (a.operation() == UpdatesOperation.BATCH_100 && !a.durable() && b.durable()) {
          all.add(new Growth("durable, " + b, times));
        }
        if (atomic
            && one.us() == UpdatesPeer.OURS_BY_REWRITE
            && a.refs() == b.refs()
            && a.durable() == b.durable()
            && a.writers() == 1
            && b.writers() == 8) {
          all.add(
              new Growth("8 writers, " + b, two.ours().opsPerSecond() / one.ours().opsPerSecond()));
        }
      }
    }
    return all;
  }

  static void print(PrintStream out, List<Comparison<UpdatesCase, UpdatesPeer>> results) {
    Aim.print(
        out, comparisons(), results, result -> result.name(result.scenario().title(result.us())));
    List<Growth> growths = growths(results);
    Aim.print(out, GROWTH, growths, Growth::name);
    Aim.print(out, WRITERS, growths, Growth::name);
  }
}
