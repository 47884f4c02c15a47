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

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.BulkFill;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import java.io.IOException;
import java.time.Duration;
import java.util.OptionalLong;

/**
 * What was measured at one start of a Gerrit. Times, and times of processors, are from the start of
 * its process.
 *
 * @param ready until it called itself ready
 * @param readyCpu what it had taken of the processors by then
 * @param firstAnswer until a change was answered, asked for as soon as it was ready
 * @param firstDiff until a diff was answered, asked for after that
 * @param diffCpu what it had taken of the processors by then
 * @param fromDisk how many of these caches had what they were asked for on disk
 * @param openMillis the longest that a store of this module took to open; empty for H2
 */
record StartFigures(
    Duration ready,
    Duration readyCpu,
    Duration firstAnswer,
    Duration firstDiff,
    Duration diffCpu,
    int fromDisk,
    OptionalLong openMillis) {
  private static final Duration OPEN_LIMIT = Duration.ofMinutes(5);
  private static final String CHANGE = "/changes/" + StartBench.PROJECT + "~1";

  /** The change and the diff that are asked for. */
  private static final String DETAIL = CHANGE + "/detail";

  private static final String DIFF = CHANGE + "/revisions/current/files/src%2Fc0%2FFile0.txt/diff";

  /**
   * Measures a daemon that has just become ready; returns when its stores are open too.
   *
   * @param ours whether it has this module
   */
  static StartFigures of(GerritDaemon daemon, boolean ours) throws IOException {
    Gerrit gerrit = new Gerrit(daemon.site());
    gerrit.rest().get(DETAIL);
    Duration firstAnswer = daemon.sinceStart();
    gerrit.rest().get(DIFF);
    Duration firstDiff = daemon.sinceStart();
    Duration diffCpu = daemon.cpu();
    int fromDisk = 0;
    for (BulkFill cache : BulkFill.values()) {
      JsonObject ratio = cache(gerrit, cache).getAsJsonObject("hit_ratio");
      if (ratio != null && ratio.has("disk") && ratio.get("disk").getAsInt() > 0) {
        fromDisk++;
      }
    }
    return new StartFigures(
        daemon.readyAfter(),
        daemon.readyCpu(),
        firstAnswer,
        firstDiff,
        diffCpu,
        fromDisk,
        ours ? OptionalLong.of(awaitOpenStores(gerrit)) : OptionalLong.empty());
  }

  /** How many entries of a cache are on disk, as Gerrit itself counts them. */
  static long entriesOnDisk(Gerrit gerrit, BulkFill cache) throws IOException {
    JsonElement disk = cache(gerrit, cache).getAsJsonObject("entries").get("disk");
    return disk == null ? 0 : disk.getAsLong();
  }

  private static JsonObject cache(Gerrit gerrit, BulkFill cache) throws IOException {
    return gerrit.rest().get("/config/server/caches/" + cache.cacheName()).json().getAsJsonObject();
  }

  /** Waits until all stores are open; returns what the slowest took, milliseconds. */
  private static long awaitOpenStores(Gerrit gerrit) throws IOException {
    Deadline deadline = Deadline.in(OPEN_LIMIT);
    while (true) {
      long slowest = 0;
      boolean open = true;
      for (JsonElement cache : gerrit.ssh().json("show").getAsJsonArray("caches")) {
        JsonObject start = cache.getAsJsonObject().getAsJsonObject("last_start");
        open &= !start.get("kind").getAsString().equals("pending");
        slowest = Math.max(slowest, start.get("millis").getAsLong());
      }
      if (open) {
        return slowest;
      }
      if (deadline.elapsed().compareTo(OPEN_LIMIT) > 0) {
        throw new IOException("stores are still not open after " + OPEN_LIMIT.toSeconds() + " s");
      }
    }
  }
}
