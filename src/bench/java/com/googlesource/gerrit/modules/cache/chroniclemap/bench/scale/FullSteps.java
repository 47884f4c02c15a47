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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.MemoryLimit;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * What is measured of a cache in its normal life: it is full, and four times as large as the memory
 * that is left for its pages.
 */
final class FullSteps {
  private static final long GIGABYTE = 1L << 30;

  /** How many times more values are stored than there is room for. */
  private static final double OVERFILLED = 1.25;

  private static final int BYTES_OF_A_VALUE = 5 << 10;
  private static final int SECONDS = 30;

  private final MeasuredCache cache;
  private final long maxBytes;

  FullSteps(CachePeer peer, Path folder, double gigabytes, ScaleResults results) {
    maxBytes = (long) (gigabytes * GIGABYTE);
    cache =
        new MeasuredCache(
            peer,
            folder,
            "full, " + MeasuredCache.title(gigabytes),
            (int) (maxBytes * OVERFILLED / BYTES_OF_A_VALUE),
            maxBytes,
            results);
  }

  List<ScaleSteps.Step> steps() {
    List<ScaleSteps.Step> steps = new ArrayList<>();
    add(steps, "overfill", true, this::overfill);
    add(steps, "mix of reads and puts", false, () -> limited("mix", "mix"));
    add(steps, "puts without a pause", false, () -> limited("flood", "puts without a pause"));
    add(steps, "delete, full", true, () -> Folders.delete(cache.folder()));
    return steps;
  }

  private void add(
      List<ScaleSteps.Step> steps, String what, boolean always, ScaleSteps.Step.Action action) {
    String title = cache.peer().title() + ", " + cache.size() + ": " + what;
    steps.add(new ScaleSteps.Step(title, always, action));
  }

  private void overfill() throws IOException {
    try (Child child = cache.child()) {
      var unused = child.ask("open");
      unused = child.ask("overfill");
      unused = child.ask("close");
    }
    Memory.syncPageCache();
  }

  private void limited(String request, String name) throws IOException {
    if (!MemoryLimit.isPossible()) {
      cache.remark("Full cache: not measured: needs root, and control groups of Linux.");
      return;
    }
    try (MemoryLimit limit = new MemoryLimit(Child.SMALL_PROCESS_BYTES + maxBytes / 4);
        Child child = cache.child(Optional.of(limit))) {
      Memory.emptyPageCache();
      var unused = child.ask("open");
      Answer answer = child.ask(String.format(Locale.ROOT, "%s %d", request, SECONDS));
      unused = child.ask("close");
      if (request.equals("mix")) {
        cache.more("reads, " + name, "/s", answer.figure("reads"));
        cache.more("reads that found a value, " + name, "%", answer.figure("hits"));
      }
      cache.more("puts, " + name, "/s", answer.figure("puts"));
      cache.less("puts not stored, " + name, "", answer.figure("lost"));
      cache.waits(name, answer);
      cache.less("put by the caller, " + name, "MB/s", megabytes(answer, "bytes.put"));
      cache.less("read from disk, " + name, "MB/s", megabytes(answer, "disk.read"));
      cache.less("written to disk, " + name, "MB/s", megabytes(answer, "disk.written"));
    }
  }

  private static double megabytes(Answer answer, String name) {
    return Memory.megabytes(answer.figure(name));
  }
}
