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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.scale;

import com.googlesource.gerrit.modules.cache.chroniclemap.bench.CachePeer;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * What is measured of one cache of one size, step by step. Each step but the last ones finds the
 * cache filled and closed, and leaves it so.
 */
final class ScaleSteps {
  /** One step. */
  record Step(String title, boolean always, Action action) {
    /** What it does. */
    interface Action {
      void run() throws IOException, InterruptedException;
    }
  }

  private final MeasuredCache cache;

  ScaleSteps(MeasuredCache cache) {
    this.cache = cache;
  }

  List<Step> steps() {
    List<Step> steps = new ArrayList<>();
    add(steps, "fill", true, this::fill);
    add(steps, "stop, idle", false, this::stopIdle);
    add(steps, "start after a clean stop", false, this::startAfterCleanStop);
    add(steps, "stop in the middle of writes", false, this::stopInTheMiddleOfWrites);
    add(steps, "start after SIGKILL", false, this::startAfterSigkill);
    if (cache.peer() == CachePeer.OURS) {
      add(steps, "page cache after verify", false, this::pageCacheAfterVerify);
      add(steps, "requests during verify", false, this::requestsDuringVerify);
    }
    add(steps, "delete", true, () -> Folders.delete(cache.folder()));
    return steps;
  }

  private void add(List<Step> steps, String what, boolean always, Step.Action action) {
    steps.add(new Step(cache.size() + ", " + cache.peer().title() + ": " + what, always, action));
  }

  // ---- the steps

  /** Without a sync, as a server that is stopped right after it was busy. */
  private void fill() throws IOException {
    try (Child child = cache.child()) {
      var unused = child.ask("open");
      Answer fill = child.ask("fill");
      double seconds = fill.figure("seconds");
      cache.more("fill, values", "values/s", cache.count() / seconds);
      cache.more("fill, bytes", "MB/s", Memory.megabytes(fill.figure("bytes")) / seconds);
      cache.less("disk after the fill", "MB", Memory.megabytes(fill.figure("disk")));
      cache.more("values there after the fill", "%", 100 * fill.figure("entries") / cache.count());
      cache.waits("fill", fill);
      cache.stop(child, "stop right after the fill");
    }
  }

  /** Everything is on disk before. */
  private void stopIdle() throws IOException {
    try (Child child = cache.child()) {
      var unused = child.ask("open");
      Memory.syncPageCache();
      cache.stop(child, "stop, idle");
    }
  }

  private void startAfterCleanStop() throws IOException {
    cache.starts("a clean stop", this::stopInTheMiddleOfWrites);
  }

  private void stopInTheMiddleOfWrites() throws IOException {
    try (Child child = cache.child()) {
      var unused = child.ask("open");
      // Not what replaces values: a file that is closed before such a put counts no more.
      MeasuredCache.write(child, "again");
      cache.stop(child, "stop in the middle of writes");
    }
  }

  private void startAfterSigkill() throws IOException {
    cache.starts("SIGKILL", cache::writeAndKill);
  }

  /** Of a cold file: who checks all of it must not push out what others read. */
  private void pageCacheAfterVerify() throws IOException {
    if (!Memory.canEmptyPageCache() || Memory.pageCacheBytes() < 0) {
      return;
    }
    try (Child child = cache.child()) {
      Memory.emptyPageCache();
      var unused = child.ask("open");
      Answer check = child.ask("check");
      cache.less(
          "left in the page cache by verify", "MB", Memory.megabytes(check.figure("cached")));
      unused = child.ask("close");
    }
  }

  private void requestsDuringVerify() throws IOException {
    try (Child child = cache.child()) {
      var unused = child.ask("open");
      Answer answer = child.ask("verify");
      cache.less("verify", "ms", answer.figure("took"));
      cache.waits("verify", answer);
      unused = child.ask("close");
    }
  }
}
