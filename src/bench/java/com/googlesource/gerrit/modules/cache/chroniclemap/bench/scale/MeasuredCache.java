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

import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.CachePeer;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.MemoryLimit;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A cache of one size, what is done to it, and where the figures go.
 *
 * @param count of its values
 */
record MeasuredCache(
    CachePeer peer, Path folder, String size, int count, long maxBytes, ScaleResults results) {
  private static final double GIGABYTE = 1L << 30;

  /** The limit of a cache, as a multiple of the bytes of its values. */
  private static final double LIMIT_FACTOR = 1.6;

  private static final int ROUNDS = 3;

  /** Reads of random keys right after a start, of which some may find what is to be mended. */
  private static final int FIRST_READS = 1000;

  /** Writes go on for so long before a stop or a kill. */
  private static final int WRITE_MILLIS = 400;

  /** A cache with room for more than so much. */
  static MeasuredCache of(CachePeer peer, Path folder, double gigabytes, ScaleResults results) {
    return new MeasuredCache(
        peer,
        folder,
        title(gigabytes),
        Values.countFor((long) (gigabytes * GIGABYTE)),
        (long) (gigabytes * GIGABYTE * LIMIT_FACTOR),
        results);
  }

  static String title(double gigabytes) {
    return (gigabytes == Math.rint(gigabytes)
            ? String.format(Locale.ROOT, "%.0f", gigabytes)
            : Double.toString(gigabytes))
        + " GB";
  }

  /** A figure of which less is better. */
  void less(String what, String unit, double figure) {
    results.less(peer, name(what), unit, figure);
  }

  /** A figure of which more is better. */
  void more(String what, String unit, double figure) {
    results.more(peer, name(what), unit, figure);
  }

  Child child() throws IOException {
    return child(Optional.empty());
  }

  /** Starts one within a limit of its memory, if there is to be one. */
  Child child(Optional<MemoryLimit> limit) throws IOException {
    Files.createDirectories(folder.getParent());
    return new Child(peer, folder, maxBytes, count, limit);
  }

  void remark(String text) {
    results.remark(text);
  }

  String name(String what) {
    return what + ", " + size;
  }

  void stop(Child child, String what) throws IOException {
    less(what, "ms", child.ask("close").figure("took"));
  }

  void waits(String during, Answer answer) {
    for (String request : List.of("read", "put", "remove")) {
      answer
          .all(request + ".")
          .forEach(
              (which, micros) ->
                  less(
                      String.format(Locale.ROOT, "wait of a %s, %s, %s", request, during, which),
                      "us",
                      micros));
    }
  }

  /** Has it begin to write, and returns when it is in the middle of that. */
  static void write(Child child, String what) throws IOException {
    var unused = child.ask(what);
    Uninterruptibles.sleepUninterruptibly(WRITE_MILLIS, TimeUnit.MILLISECONDS);
  }

  void writeAndKill() throws IOException {
    try (Child child = child()) {
      var unused = child.ask("open");
      write(child, "replace");
      child.kill();
    }
  }

  interface End {
    void run() throws IOException;
  }

  /** First with the page cache emptied, and then, read once, warm. */
  void starts(String after, End end) throws IOException {
    boolean canBeEmptied = Memory.canEmptyPageCache();
    if (!canBeEmptied) {
      results.remark("Starts, cold: not measured: needs root.");
    }
    for (int round = 0; canBeEmptied && round < ROUNDS; round++) {
      end.run();
      start(after, /* cold= */ true);
    }
    // What does not fit into memory leaves it again.
    for (Path file : Folders.files(folder, f -> true)) {
      var unused = Files.copy(file, OutputStream.nullOutputStream());
    }
    for (int round = 0; round < ROUNDS; round++) {
      end.run();
      start(after, /* cold= */ false);
    }
  }

  /** Opens the cache, and closes it again. */
  void start(String after, boolean cold) throws IOException {
    try (Child child = child()) {
      if (cold) {
        Memory.emptyPageCache();
      }
      Answer open = child.ask("open");
      String end = ", " + size + (cold ? ", cold" : ", warm");
      results.less(peer, "start after " + after + end, "ms", open.figure("ready"));
      results.less(peer, "first answer after " + after + end, "ms", open.figure("first"));
      // Its own count is of no use here: a store counts what it has checked since a crash.
      Answer reads = child.ask("read " + FIRST_READS);
      more("values found after " + after, "%", 100 * reads.figure("hits") / FIRST_READS);
      waits("first after " + after + (cold ? ", cold" : ", warm"), reads);
      if (peer == CachePeer.OURS) {
        results.remark(name("After " + after) + " the store was " + open.word("found") + ".");
      }
      var unused = child.ask("close");
    }
  }
}
