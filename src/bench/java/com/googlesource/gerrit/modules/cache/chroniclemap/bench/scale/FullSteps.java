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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * What is measured of a cache in its normal life: it is full, four times as large as the memory
 * that is left for its pages, and its values grow old.
 */
final class FullSteps {
  private static final long GIGABYTE = 1L << 30;

  /** How many times more values are stored than there is room for. */
  private static final double OVERFILLED = 1.25;

  private static final int BYTES_OF_A_VALUE = 5 << 10;
  private static final int SECONDS = 30;

  private final CachePeer peer;
  private final Path folder;
  private final long maxBytes;
  private final String end;
  private final int count;
  private final ScaleResults results;

  FullSteps(CachePeer peer, Path folder, double gigabytes, ScaleResults results) {
    this.peer = peer;
    this.folder = folder;
    this.maxBytes = (long) (gigabytes * GIGABYTE);
    this.end = ", full, " + MeasuredCache.title(gigabytes);
    this.count = (int) (maxBytes * OVERFILLED / BYTES_OF_A_VALUE);
    this.results = results;
  }

  List<ScaleSteps.Step> steps() {
    List<ScaleSteps.Step> steps = new ArrayList<>();
    add(steps, "overfill", true, this::overfill);
    add(steps, "mix of reads and puts", false, () -> limited("mix"));
    add(steps, "puts without a pause", false, () -> limited("flood"));
    if (peer == CachePeer.OURS) {
      add(steps, "sweep, nothing old", false, () -> sweep("nothing old", 0));
      add(steps, "sweep, one of 10,000 old", false, () -> sweep("one of 10,000 old", 10_000));
      add(steps, "sweep, a tenth old", false, () -> sweep("a tenth old", 10));
    }
    add(steps, "delete, full", true, () -> Folders.delete(folder));
    return steps;
  }

  private void add(
      List<ScaleSteps.Step> steps, String what, boolean always, ScaleSteps.Step.Action action) {
    steps.add(new ScaleSteps.Step(peer.title() + end + ": " + what, always, action));
  }

  private Child child(Optional<MemoryLimit> limit) throws IOException {
    Files.createDirectories(folder.getParent());
    return new Child(peer, folder, maxBytes, count, limit);
  }

  private void overfill() throws IOException {
    try (Child child = child(Optional.empty())) {
      var unused = child.ask("open");
      unused = child.ask("overfill");
      unused = child.ask("close");
    }
    PageCache.sync();
  }

  private void limited(String what) throws IOException {
    if (!MemoryLimit.isPossible()) {
      results.remark("Full cache: not measured: needs root, and control groups of Linux.");
      return;
    }
    long bytes = Child.SMALL_PROCESS_BYTES + maxBytes / 4;
    try (MemoryLimit limit = new MemoryLimit(bytes)) {
      try (Child child = child(Optional.of(limit))) {
        PageCache.empty();
        var unused = child.ask("open");
        Answer answer = child.ask(String.format(Locale.ROOT, "%s %d", what, SECONDS));
        unused = child.ask("close");
        String name = (what.equals("mix") ? "mix" : "puts without a pause") + end;
        if (what.equals("mix")) {
          results.more(peer, "reads, " + name, "/s", answer.figure("reads"));
          results.more(peer, "reads that found a value, " + name, "%", answer.figure("hits"));
        }
        results.more(peer, "puts, " + name, "/s", answer.figure("puts"));
        results.less(peer, "puts not stored, " + name, "", answer.figure("lost"));
        waits(answer, name);
        results.less(peer, "put by the caller, " + name, "MB/s", megabytes(answer, "put.bytes"));
        results.less(peer, "read from disk, " + name, "MB/s", megabytes(answer, "disk.read"));
        results.less(peer, "written to disk, " + name, "MB/s", megabytes(answer, "disk.written"));
      }
    }
  }

  private static double megabytes(Answer answer, String name) {
    return Memory.megabytes(answer.figure(name));
  }

  private void waits(Answer answer, String name) {
    for (String request : List.of("read", "put", "remove")) {
      answer
          .all(request + ".")
          .forEach(
              (which, micros) -> {
                if (!which.equals("bytes")) {
                  String what = String.format(Locale.ROOT, "wait of a %s, ", request);
                  results.less(peer, what + name + ", " + which, "us", micros);
                }
              });
    }
  }

  /** Of a file of which the page cache has nothing, where that can be had. */
  private void sweep(String what, int each) throws IOException {
    // In a process of its own, as pages that are mapped stay in the page cache. Its first sweep
    // learns what the segments hold.
    try (Child child = child(Optional.empty())) {
      var unused = child.ask("open");
      unused = child.ask("sweep");
      if (each > 0) {
        unused = child.ask("age " + each);
      }
      unused = child.ask("close");
    }
    try (Child child = child(Optional.empty())) {
      if (PageCache.canBeEmptied()) {
        PageCache.empty();
      }
      var unused = child.ask("open");
      Answer sweep = child.ask("sweep");
      String name = "sweep, " + what + end;
      results.less(peer, name, "ms", sweep.figure("took"));
      results.less(peer, name + ", read from disk", "MB", megabytes(sweep, "disk.read"));
      results.less(peer, name + ", left in the page cache", "MB", megabytes(sweep, "cached"));
      results.more(peer, name + ", values removed", "", sweep.figure("removed"));
      waits(sweep, name);
      unused = child.ask("close");
    }
  }
}
