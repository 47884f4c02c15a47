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

package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import com.google.common.cache.CacheStats;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.DiskOperation;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.Latency;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.CheckReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreCounts;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Caches of which nothing is there but their figures, and what a verify of one does. */
record TestCaches(
    Optional<Path> directory,
    Optional<String> memoryOnlyReason,
    Optional<String> exposed,
    List<CacheReport> reports,
    Work work)
    implements CacheInventory {
  interface Work {
    VerifyReport on(String cache, Progress progress);
  }

  TestCaches(
      Optional<Path> directory, Optional<String> memoryOnlyReason, List<CacheReport> reports) {
    this(directory, memoryOnlyReason, Optional.empty(), reports, null);
  }

  /** Two caches in a folder, a and b, and any others while they are verified. */
  static TestCaches ofWork(Work work) {
    List<CacheReport> reports =
        List.of(
            report("a", StoreState.READY, StartReport.Kind.NEW, 0, 0, 0),
            report("b", StoreState.READY, StartReport.Kind.NEW, 0, 0, 0));
    Optional<Path> folder = Optional.of(Path.of("/site/cache"));
    return new TestCaches(folder, Optional.empty(), Optional.empty(), reports, work);
  }

  /** A cache with such figures; others are as they may be. */
  static CacheReport report(
      String name, StoreState state, StartReport.Kind kind, long hits, long evicted, long damaged) {
    StoreCounts counts = new StoreCounts();
    counts.hits.add(hits);
    counts.damaged.add(damaged);
    counts.evicted.add(evicted);
    String detail = kind == StartReport.Kind.RECOVERED ? "killed" : "";
    StoreStats disk =
        new StoreStats(
            state, new StartReport(kind, detail, 1, 2), counts, 10, 20, 30, 40, 0, damaged, 0);
    Latency latency = new Latency(1, 2, hits, 4, 5);
    return new CacheReport(
        name,
        1,
        1,
        1,
        new CacheStats(hits, 0, 0, 0, 0, 0),
        disk,
        0,
        ImmutableMap.copyOf(Maps.toMap(List.of(DiskOperation.values()), operation -> latency)));
  }

  @Override
  public Optional<SharedReport> shared() {
    return Optional.empty();
  }

  @Override
  public Optional<CheckReport> checkShared() {
    return Optional.empty();
  }

  @Override
  public VerifyReport verify(String name, boolean repair, Progress progress) {
    return work.on(name, progress);
  }
}
