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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit;

import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Turn;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.AtOnce;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.DaemonMeter;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import java.io.IOException;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.Callable;

/** A daemon that is asked, and what it takes for that. */
record RunningGerrit(GerritSite site, GerritDaemon daemon, DaemonMeter meter, Gerrit gerrit)
    implements AutoCloseable {
  static RunningGerrit start(GerritSite site) throws IOException {
    GerritDaemon daemon = GerritDaemon.start(site);
    return new RunningGerrit(site, daemon, new DaemonMeter(daemon), new Gerrit(site));
  }

  /** Has some clients call at once; each returns how many nanoseconds each of its calls took. */
  Turn turn(List<Callable<List<Long>>> clients) throws IOException {
    double cpu = meter.cpuMillis();
    double megabytes = meter.allocatedMegabytes();
    Turn calls = callsOf(clients);
    return new Turn(
        calls.wallNanos(),
        (long) ((meter.cpuMillis() - cpu) * 1e6),
        OptionalLong.of((long) ((meter.allocatedMegabytes() - megabytes) * 1e6)),
        calls.latencies());
  }

  /** The same of clients of another server, of which nothing is known. */
  static Turn callsOf(List<Callable<List<Long>>> clients) throws IOException {
    long begun = System.nanoTime();
    List<List<Long>> calls = AtOnce.run(clients);
    return new Turn(
        System.nanoTime() - begun,
        /* cpuNanos= */ 0,
        OptionalLong.empty(),
        calls.stream().flatMap(List::stream).mapToLong(Long::longValue).toArray());
  }

  @Override
  public void close() throws IOException {
    meter.close();
    daemon.stop();
  }
}
