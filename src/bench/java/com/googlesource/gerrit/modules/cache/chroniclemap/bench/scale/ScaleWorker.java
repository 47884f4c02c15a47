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
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.WorkerProcess;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The process of a cache. It reads what to do from its input, does it, and answers with one line.
 * Before that it uses a small cache, so that what is measured is not the loading of classes.
 */
final class ScaleWorker {
  private static final long SMALL_BYTES = 16 << 20;
  private static final int SMALL_COUNT = 3000;

  /** As many puts as a queue takes. */
  private static final int FEW = 256;

  private static final double NANOS_PER_MILLI = 1e6;

  private final CachePeer peer;
  private final Path folder;
  private final long maxBytes;
  private final int count;
  private final Values values = new Values();
  private final SplittableRandom random = new SplittableRandom();
  private ScaledCache cache;
  private Load load;

  private ScaleWorker(CachePeer peer, Path folder, long maxBytes, int count) {
    this.peer = peer;
    this.folder = folder;
    this.maxBytes = maxBytes;
    this.count = count;
  }

  /** Arguments: the peer, the folder of the cache, its limit in bytes, its number of values. */
  public static void main(String[] args) throws Exception {
    WorkerProcess.serve(
        new ScaleWorker(
                CachePeer.valueOf(args[0]),
                Path.of(args[1]),
                Long.parseLong(args[2]),
                Integer.parseInt(args[3]))
            ::answer);
  }

  private Answer answer(List<String> request) throws Exception {
    return switch (request.get(0)) {
      case "prepare" -> prepare();
      case "open" -> open();
      case "fill" -> fill();
      case "read" -> read(Integer.parseInt(request.get(1)));
      case "replace" -> begin(Load.Kind.REPLACE);
      case "again" -> begin(Load.Kind.AGAIN);
      case "overfill" -> overfill();
      case "mix" -> new SteadyState(cache, values, count).mix(Integer.parseInt(request.get(1)));
      case "flood" -> new SteadyState(cache, values, count).flood(Integer.parseInt(request.get(1)));
      case "verify" -> verify();
      case "check" -> check();
      case "close" -> close();
      default -> throw new IllegalArgumentException("unknown request: " + request);
    };
  }

  private ScaledCache open(Path where, long bytes) throws Exception {
    return peer == CachePeer.OURS
        ? new ScaledCache.Ours(where, bytes)
        : new ScaledCache.OfH2(where, bytes);
  }

  private Answer prepare() throws Exception {
    Path small = folder.resolveSibling(folder.getFileName() + "-small");
    Files.createDirectories(folder);
    try {
      for (int i = 0; i < 2; i++) {
        Files.createDirectories(small);
        ScaledCache first = open(small, SMALL_BYTES);
        Load warmUp = new Load(first, values, SMALL_COUNT);
        var unused = warmUp.fill();
        for (int number = 0; number < SMALL_COUNT; number++) {
          Values.check(number, first.read(number));
        }
        first.close();
      }
    } finally {
      Folders.delete(small);
    }
    return new Answer();
  }

  /** The time until it is open, and until a value was read, both from the beginning. */
  private Answer open() throws Exception {
    int number = random.nextInt(count);
    cache = open(folder, maxBytes);
    long begun = cache.begun();
    long opened = System.nanoTime();
    byte[] found = cache.read(number);
    long answered = System.nanoTime();
    if (found != null) {
      Values.check(number, found);
    }
    load = new Load(cache, values, count);
    return new Answer()
        .add("ready", (opened - begun) / NANOS_PER_MILLI)
        .add("first", (answered - begun) / NANOS_PER_MILLI)
        .add("found", cache.found())
        .add("hit", found == null ? "no" : "yes");
  }

  private Answer fill() throws Exception {
    Requests reads = Requests.begin(cache, values, load::filled, Requests.Changes.NONE);
    Answer answer = load.fill();
    reads.end(answer);
    return answer.add("entries", cache.entries()).add("disk", cache.diskBytes());
  }

  /** Reads of random keys one after the other. */
  private Answer read(int times) {
    Waits waits = new Waits();
    int hits = 0;
    for (int i = 0; i < times; i++) {
      int number = random.nextInt(count);
      long begun = System.nanoTime();
      byte[] found = cache.read(number);
      waits.add(System.nanoTime() - begun);
      if (found != null) {
        Values.check(number, found);
        hits++;
      }
    }
    return new Answer().add("read", waits).add("hits", hits);
  }

  private Answer verify() throws Exception {
    Requests requests = Requests.begin(cache, values, () -> count, Requests.Changes.PUTS);
    Answer answer = new Answer();
    try {
      long begun = System.nanoTime();
      verifyAll();
      answer.add("took", (System.nanoTime() - begun) / NANOS_PER_MILLI);
    } finally {
      requests.end(answer);
    }
    return answer;
  }

  /** Begins to write, and goes on with that until it is killed or told to close. */
  private Answer begin(Load.Kind kind) throws InterruptedException {
    load.begin(kind);
    return new Answer();
  }

  /** Stores values of about 5 KB, which may be more than there is room for. */
  private Answer overfill() {
    long begun = System.nanoTime();
    for (int i = 0; i < count; i++) {
      cache.store(SteadyState.number(i), values.value(SteadyState.number(i)));
      if (i % FEW == 0) {
        cache.drain();
      }
    }
    cache.drain();
    return new Answer().add("took", (System.nanoTime() - begun) / NANOS_PER_MILLI);
  }

  private ScaledCache.Ours ours() {
    return (ScaledCache.Ours) cache;
  }

  private void verifyAll() throws InterruptedException {
    VerifyReport report = ours().store().verify(false, Progress.NONE);
    if (!report.complete() || report.damaged() > 0) {
      throw new IllegalStateException(report.toString());
    }
  }

  /** Verifies while nobody asks for anything; what the page cache has grown by. */
  private Answer check() throws Exception {
    double before = Memory.pageCacheBytes();
    verifyAll();
    return new Answer().add("cached", Memory.pageCacheBytes() - before);
  }

  /** Closes while whatever was begun goes on. */
  private Answer close() throws InterruptedException {
    long begun = System.nanoTime();
    cache.close();
    long closed = System.nanoTime();
    load.end();
    return new Answer().add("took", (closed - begun) / NANOS_PER_MILLI);
  }
}
