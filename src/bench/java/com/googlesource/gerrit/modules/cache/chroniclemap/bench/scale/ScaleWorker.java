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

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Splitter;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.CachePeer;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Sweeps;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The process of a cache. It reads what to do from its input, does it, and answers with one line.
 * Before that it uses a small cache, so that what is measured is not the loading of classes.
 */
final class ScaleWorker {
  /** Begins an answer of something that failed. */
  static final String FAILED = "failed";

  private static final long SMALL_BYTES = 16 << 20;
  private static final int SMALL_COUNT = 3000;

  /** As many puts as a queue takes. */
  private static final int FEW = 256;

  private static final int MEGABYTE = 1 << 20;

  /** What one more change takes in the value of its project, about. */
  private static final int NEW_BYTES = 28;

  private static final double NANOS_PER_MILLI = 1e6;

  /** No value becomes as old in a benchmark, unless it is told to be. */
  private static final Duration MAX_AGE = Duration.ofDays(1);

  private final CachePeer peer;
  private final Path folder;
  private final long maxBytes;
  private final int count;
  private final Values values = new Values();
  private final SplittableRandom random = new SplittableRandom();
  private ScaledCache cache;
  private Load load;
  private long heapBefore;

  /** The large value, of which a little changes. */
  private byte[] one;

  private ScaleWorker(CachePeer peer, Path folder, long maxBytes, int count) {
    this.peer = peer;
    this.folder = folder;
    this.maxBytes = maxBytes;
    this.count = count;
  }

  /** Arguments: the peer, the folder of the cache, its limit in bytes, its number of values. */
  public static void main(String[] args) throws Exception {
    // Who else writes to the standard output writes to the log.
    System.setOut(System.err);
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, UTF_8));
    PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, UTF_8);
    ScaleWorker worker =
        new ScaleWorker(
            CachePeer.valueOf(args[0]),
            Path.of(args[1]),
            Long.parseLong(args[2]),
            Integer.parseInt(args[3]));
    String request;
    while ((request = requests.readLine()) != null) {
      try {
        answers.println(worker.answer(Splitter.on(' ').splitToList(request)));
      } catch (Exception | Error e) {
        e.printStackTrace();
        answers.println(FAILED + " " + e);
      }
    }
    // Whatever threads are left.
    System.exit(0);
  }

  private Answer answer(List<String> request) throws Exception {
    return switch (request.get(0)) {
      case "prepare" -> prepare();
      case "open" -> open();
      case "fill" -> fill();
      case "read" -> read(Integer.parseInt(request.get(1)));
      case "idle" -> idle(Integer.parseInt(request.get(1)));
      case "replace" -> begin(Load.Kind.REPLACE);
      case "again" -> begin(Load.Kind.AGAIN);
      case "overfill" -> overfill();
      case "mix" -> new SteadyState(cache, values, count).mix(Integer.parseInt(request.get(1)));
      case "flood" -> new SteadyState(cache, values, count).flood(Integer.parseInt(request.get(1)));
      case "age" -> age(Integer.parseInt(request.get(1)));
      case "sweep" -> sweep();
      case "verify" -> verify();
      case "check" -> check();
      case "clear" -> clear();
      case "first" -> first(Integer.parseInt(request.get(1)));
      case "next" -> next();
      case "readOne" -> readOne(Integer.parseInt(request.get(1)));
      case "memory" -> memory();
      case "close" -> close();
      default -> throw new IllegalArgumentException("unknown request: " + request);
    };
  }

  private ScaledCache open(Path where, long bytes) throws Exception {
    return peer == CachePeer.OURS ? new OurCache(where, bytes, MAX_AGE) : new H2Cache(where, bytes);
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
    heapBefore = Memory.heapBytes();
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
    MostDisk most = new MostDisk(cache);
    most.start();
    Answer answer = load.fill();
    reads.end(answer);
    long disk = cache.diskBytes();
    return answer
        .add("entries", cache.entries())
        .add("disk", disk)
        .add("disk.most", Math.max(disk, most.end()));
  }

  /** Reads of random keys one after the other, and what became dirty by them. */
  private Answer read(int times) {
    double before = Memory.writtenBytes();
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
    double written = before < 0 ? -1 : Memory.writtenBytes() - before;
    return new Answer().add("read", waits).add("hits", hits).add("written", written);
  }

  /** Requests while nothing else is done. */
  private Answer idle(int seconds) throws Exception {
    return meanwhile(() -> Thread.sleep(seconds * 1000L));
  }

  private interface Work {
    void run() throws Exception;
  }

  private Answer meanwhile(Work work) throws Exception {
    return meanwhile(work, /* puts= */ true);
  }

  private Answer meanwhile(Work work, boolean puts) throws Exception {
    Requests requests =
        Requests.begin(
            cache, values, () -> count, puts ? Requests.Changes.PUTS : Requests.Changes.NONE);
    Answer answer = new Answer();
    try {
      long begun = System.nanoTime();
      work.run();
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

  /** Makes one of so many values too old. */
  private Answer age(int each) {
    for (int i = 0; i < count; i += each) {
      int number = SteadyState.number(i);
      ours().storeOld(number, values.value(number), MAX_AGE.multipliedBy(2));
      if (i / each % FEW == 0) {
        cache.drain();
      }
    }
    cache.drain();
    return new Answer();
  }

  /** Removes what is too old; what was read for that, and what the page cache has grown by. */
  private Answer sweep() throws Exception {
    double cached = Memory.pageCacheBytes();
    double read = Memory.readBytes();
    long before = cache.entries();
    Answer answer = meanwhile(() -> Sweeps.sweep(ours().store()), /* puts= */ false);
    return answer
        .add("removed", before - cache.entries())
        .add("disk.read", Memory.readBytes() - read)
        .add("cached", Memory.pageCacheBytes() - cached);
  }

  private OurCache ours() {
    return (OurCache) cache;
  }

  private Answer verify() throws Exception {
    return meanwhile(this::verifyAll);
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

  private Answer clear() throws Exception {
    double[] took = new double[1];
    Answer answer =
        meanwhile(
            () -> {
              // Some requests before and after, or else there are none meanwhile.
              Thread.sleep(500);
              long begun = System.nanoTime();
              ours().store().clear();
              took[0] = (System.nanoTime() - begun) / NANOS_PER_MILLI;
              Thread.sleep(2000);
            });
    return answer.add("took", took[0]);
  }

  /** Puts one large value. */
  private Answer first(int megabytes) {
    one = new byte[megabytes * MEGABYTE];
    random.nextBytes(one);
    return putOne();
  }

  /** Puts the large value once more, with a few new bytes somewhere. */
  private Answer next() {
    byte[] more = new byte[NEW_BYTES];
    random.nextBytes(more);
    int at = random.nextInt(one.length);
    byte[] longer = Arrays.copyOf(one, one.length + NEW_BYTES);
    System.arraycopy(one, at, longer, at + NEW_BYTES, one.length - at);
    System.arraycopy(more, 0, longer, at, NEW_BYTES);
    one = longer;
    return putOne();
  }

  private Answer putOne() {
    double before = Memory.writtenBytes();
    long begun = System.nanoTime();
    cache.put(oneNumber(), one);
    cache.drain();
    long took = System.nanoTime() - begun;
    double written = before < 0 ? -1 : Memory.writtenBytes() - before;
    return new Answer()
        .add("took", took / NANOS_PER_MILLI)
        .add("written", written)
        .add("hash", Integer.toString(Arrays.hashCode(one)));
  }

  private Answer readOne(int hash) {
    long begun = System.nanoTime();
    byte[] found = cache.read(oneNumber());
    long took = System.nanoTime() - begun;
    if (found != null && Arrays.hashCode(found) != hash) {
      throw new IllegalStateException("the value is not the one that was put last");
    }
    return new Answer().add("took", took / NANOS_PER_MILLI).add("found", found == null ? 0L : 100L);
  }

  /** Of no other value. */
  private int oneNumber() {
    return count;
  }

  private Answer memory() {
    Answer answer = new Answer();
    Memory.addTo(answer);
    // The system's figures first: a collection makes the heap's pages used.
    return answer.add("heap", Memory.heapBytes() - heapBefore);
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
