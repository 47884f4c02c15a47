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

import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.RefsOperation.ALL;
import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.RefsOperation.CONFLICTS;
import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.RefsOperation.EXISTING;
import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.RefsOperation.FIRST;
import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.RefsOperation.MISSING;
import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.RefsOperation.NO_TIPS;
import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.RefsOperation.REWRITE;
import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.RefsOperation.TIPS;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What lookups of refs are to reach with {@link #REFS} refs, and what of it a run did not. */
final class RefsAims {
  private static final int REFS = 500_000;

  /** An ObjectIdRef, its ObjectId, and what JGit's interfaces make of a name on the way. */
  private static final int REF_BYTES = 100;

  private static final Map<String, Integer> TIMES =
      Map.of(RefsCase.ALWAYS, 4, RefsCase.AFTER_OPEN, 3, RefsCase.NEVER, 15);

  /** Throughput of two threads beside one. */
  private record Scaling(RefsCase scenario, double times) {}

  private RefsAims() {}

  private static List<Aim<Comparison<RefsCase, RefsPeer>>> comparisons() {
    List<Aim<Comparison<RefsCase, RefsPeer>>> aims = new ArrayList<>();
    aims.add(
        Aim.atMost(
            "exactRef, always, p50: 3 us",
            result -> isLookup(result, RefsCase.ALWAYS),
            result -> result.ours().micros(50),
            3,
            "us"));
    for (String trust : List.of(RefsCase.ALWAYS, RefsCase.AFTER_OPEN, RefsCase.NEVER)) {
      aims.add(
          Aim.ratio(
              String.format(
                  Locale.ROOT,
                  "exactRef, %s, p50: %d times as fast as RefDirectory",
                  trust,
                  TIMES.get(trust)),
              result -> isLookup(result, trust),
              result -> result.latencyRatio(50),
              TIMES.get(trust)));
    }
    aims.add(
        Aim.atMost(
            String.format(
                Locale.ROOT, "exactRef, never: no garbage beyond the Ref (%d bytes)", REF_BYTES),
            result -> isLookup(result, RefsCase.NEVER),
            result -> result.ours().garbage().orElse(Double.NaN),
            REF_BYTES,
            "bytes"));
    // The packed list takes 2 of them. The folders of loose refs are listed each time, as by JGit.
    aims.add(
        Aim.atMost(
            "getTipsWithSha1, always, p50: 40 us",
            result ->
                result.peer() == RefsPeer.REF_DIRECTORY
                    && result.scenario().threads() == 1
                    && (result.scenario().operation() == TIPS
                        || result.scenario().operation() == NO_TIPS),
            result -> result.ours().micros(50),
            40,
            "us"));
    aims.add(once("first read: 40 ms", FIRST, 40));
    aims.add(once("read after a rewrite of one line: 10 ms", REWRITE, 10));
    aims.add(ofReftable("exactRef", 1, 2, EXISTING, MISSING));
    aims.add(ofReftable("exactRef", 8, 20, EXISTING));
    aims.add(ofReftable("all refs", 1, 8, ALL));
    aims.add(ofReftable("getConflictingNames", 1, 1000, CONFLICTS));
    aims.add(ofReftable("first read", 1, 1, FIRST));
    aims.add(
        Aim.atMost(
            "exactRef, reftable: at most 300 bytes of garbage",
            result -> isLookup(result, RefsCase.REFTABLE),
            result -> result.ours().garbage().orElse(Double.NaN),
            300,
            "bytes"));
    return aims;
  }

  private static Aim<Comparison<RefsCase, RefsPeer>> ofReftable(
      String text, int threads, int times, RefsOperation... operations) {
    return Aim.ratio(
        String.format(
            Locale.ROOT,
            "%s, reftable, %d %s, p50: %d times as fast as FileReftable",
            text,
            threads,
            threads == 1 ? "thread" : "threads",
            times),
        result ->
            isBesideJGit(result)
                && result.scenario().isReftable()
                && result.scenario().threads() == threads
                && List.of(operations).contains(result.scenario().operation()),
        result -> result.latencyRatio(50),
        times);
  }

  private static Aim<Comparison<RefsCase, RefsPeer>> once(
      String text, RefsOperation operation, int millis) {
    return Aim.atMost(
        text,
        result ->
            isBesideJGit(result)
                && !result.scenario().isReftable()
                && result.scenario().operation() == operation,
        result -> result.ours().micros(50) / 1000,
        millis,
        "ms");
  }

  private static boolean isBesideJGit(Comparison<RefsCase, RefsPeer> result) {
    boolean isJGit = result.peer() == RefsPeer.REF_DIRECTORY || result.peer() == RefsPeer.REFTABLE;
    return isJGit && result.scenario().refs() == REFS;
  }

  private static boolean isLookup(Comparison<RefsCase, RefsPeer> result, String trust) {
    RefsCase scenario = result.scenario();
    return isBesideJGit(result)
        && scenario.threads() == 1
        && scenario.trust().equals(trust)
        && (scenario.operation() == EXISTING || scenario.operation() == MISSING);
  }

  private static final List<Aim<RefsMemory>> MEMORY =
      List.of(
          Aim.atMost("heap a ref: 1 byte", RefsAims::isOurs, RefsMemory::heap, 1, "bytes"),
          Aim.atMost(
              "off-heap a ref: 45 bytes", RefsAims::isOurs, RefsMemory::direct, 45, "bytes"));

  private static boolean isOurs(RefsMemory memory) {
    return memory.peer() == RefsPeer.OURS && memory.refs() == REFS;
  }

  private static final List<Aim<Scaling>> SCALING =
      List.of(
          Aim.ratio(
              "exactRef, always or reftable, by two threads: 1.8 times as many as by one",
              scaling -> true,
              Scaling::times,
              1.8));

  private static List<Scaling> scaling(List<Comparison<RefsCase, RefsPeer>> results) {
    List<Scaling> all = new ArrayList<>();
    for (Comparison<RefsCase, RefsPeer> one : results) {
      for (Comparison<RefsCase, RefsPeer> two : results) {
        RefsCase scenario = one.scenario();
        if ((isLookup(one, RefsCase.ALWAYS) || isLookup(one, RefsCase.REFTABLE))
            && two.peer() == one.peer()
            && two.scenario()
                .equals(new RefsCase(scenario.operation(), scenario.refs(), scenario.trust(), 2))) {
          all.add(
              new Scaling(two.scenario(), two.ours().opsPerSecond() / one.ours().opsPerSecond()));
        }
      }
    }
    return all;
  }

  static void print(
      PrintStream out, List<Comparison<RefsCase, RefsPeer>> results, List<RefsMemory> memory) {
    Aim.print(out, comparisons(), results, result -> result.scenario().toString());
    Aim.print(out, SCALING, scaling(results), result -> result.scenario().toString());
    Aim.print(out, MEMORY, memory, RefsMemory::toString);
  }
}
