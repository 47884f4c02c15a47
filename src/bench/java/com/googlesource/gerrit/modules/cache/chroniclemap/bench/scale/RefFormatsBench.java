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

import com.google.common.math.Quantiles;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.RefsRepositories;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.OurRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsFile;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * What updates of refs cost in files and in reftables: how long each takes, its longest time, in
 * which tables are compacted or packed-refs is rewritten, and what is written to disk for it. In a
 * repository of its own each, this module with files, this module with reftables, and JGit with
 * reftables. Arguments: an empty folder, and how many refs are there.
 */
public final class RefFormatsBench {
  private static final int MOST_RUNS = 300;
  private static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(20);
  private static final int WARM_UPS = 20;
  private static final double NANOS_PER_MILLI = 1e6;

  private final RefDatabase refs;
  private final FileRepository repository;
  private final List<String> packed;
  private final ObjectId target;
  private int created;
  private int deleted;

  private RefFormatsBench(
      RefDatabase refs, FileRepository repository, List<String> packed, ObjectId target) {
    this.refs = refs;
    this.repository = repository;
    this.packed = packed;
    this.target = target;
  }

  private interface Update {
    void run() throws IOException;
  }

  /** See above. */
  public static void main(String[] args) throws IOException {
    Path folder = Path.of(args[0]);
    int count = Integer.parseInt(args[1]);
    RefsRepositories.make(folder, count);
    Path files = folder.resolve(RefsRepositories.FILES);
    Path tables = folder.resolve(RefsRepositories.REFTABLE);
    Path others = copy(tables, folder.resolve("jgit.git"));
    List<String> packed =
        Stream.of(RefsFile.names(count))
            .filter(name -> name.startsWith(Constants.R_HEADS))
            .toList();
    System.out.printf(
        Locale.ROOT,
        "%,d refs, %s and %s on disk; core.fsyncRefFiles = false%n%n%-28s %-22s %5s %9s %9s %9s %9s"
            + " %12s%n",
        count,
        megabytes(files.resolve(Constants.PACKED_REFS)) + " in packed-refs",
        megabytes(tables.resolve(Constants.REFTABLE)) + " in reftables",
        "",
        "",
        "runs",
        "p50, ms",
        "p99, ms",
        "max, ms",
        "CPU, ms",
        "written, KB");
    try (OurRefs ours = new OurRefs(folder)) {
      measure("files, this module", files, packed, ours::open);
      measure("reftables, this module", tables, packed, ours::open);
    }
    measure("reftables, JGit", others, packed, FileRepository::getRefDatabase);
  }

  private static Path copy(Path from, Path to) throws IOException {
    try (Stream<Path> all = Files.walk(from)) {
      for (Path source : (Iterable<Path>) all::iterator) {
        Files.copy(source, to.resolve(from.relativize(source).toString()));
      }
    }
    return to;
  }

  private static String megabytes(Path folder) throws IOException {
    long bytes = 0;
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path file : (Iterable<Path>) all::iterator) {
        bytes += Files.isRegularFile(file) ? Files.size(file) : 0;
      }
    }
    return Math.round(Memory.megabytes(bytes)) + " MB";
  }

  private interface Opening {
    RefDatabase open(FileRepository repository);
  }

  private static void measure(String title, Path folder, List<String> packed, Opening opening)
      throws IOException {
    try (FileRepository repository = new FileRepository(folder.toFile())) {
      RefDatabase refs = opening.open(repository);
      Ref first = refs.exactRef(packed.get(0));
      RefFormatsBench bench = new RefFormatsBench(refs, repository, packed, first.getObjectId());
      measure(title, "a new branch", MOST_RUNS, bench::create);
      measure(title, "a batch of two new", MOST_RUNS, bench::createTwo);
      int most = Math.min(MOST_RUNS, packed.size() - 1 - WARM_UPS);
      measure(title, "a deletion", most, bench::delete);
    }
  }

  private static void measure(String title, String name, int most, Update update)
      throws IOException {
    long begun = System.nanoTime();
    for (int i = 0; i < WARM_UPS && System.nanoTime() - begun < MOST_NANOS; i++) {
      update.run();
    }
    List<Double> millis = new ArrayList<>();
    double written = Memory.writtenBytes();
    long cpu = cpuNanos();
    begun = System.nanoTime();
    while (millis.size() < most && System.nanoTime() - begun < MOST_NANOS) {
      long before = System.nanoTime();
      update.run();
      millis.add((System.nanoTime() - before) / NANOS_PER_MILLI);
    }
    int runs = millis.size();
    System.out.printf(
        Locale.ROOT,
        "%-28s %-22s %5d %9.2f %9.2f %9.2f %9.2f %,12.0f%n",
        title,
        name,
        runs,
        Quantiles.percentiles().index(50).compute(millis),
        Quantiles.percentiles().index(99).compute(millis),
        millis.stream().mapToDouble(one -> one).max().orElseThrow(),
        (cpuNanos() - cpu) / NANOS_PER_MILLI / runs,
        (Memory.writtenBytes() - written) / 1024 / runs);
  }

  private static long cpuNanos() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  private void create() throws IOException {
    RefUpdate update = refs.newUpdate("refs/heads/new/branch-" + created++, false);
    update.setExpectedOldObjectId(ObjectId.zeroId());
    update.setNewObjectId(target);
    check(update.update(), RefUpdate.Result.NEW);
  }

  private void createTwo() throws IOException {
    BatchRefUpdate batch = refs.newBatchUpdate();
    batch.setAtomic(true);
    String change = "refs/changes/00/" + 100_000_000L + created++ + "/";
    batch.addCommand(new ReceiveCommand(ObjectId.zeroId(), target, change + "1"));
    batch.addCommand(new ReceiveCommand(ObjectId.zeroId(), target, change + "meta"));
    try (RevWalk walk = new RevWalk(repository)) {
      batch.execute(walk, NullProgressMonitor.INSTANCE);
    }
    for (ReceiveCommand command : batch.getCommands()) {
      check(command.getResult(), ReceiveCommand.Result.OK);
    }
  }

  private void delete() throws IOException {
    RefUpdate update = refs.newUpdate(packed.get(++deleted), false);
    update.setForceUpdate(true);
    check(update.delete(), RefUpdate.Result.FORCED);
  }

  private static void check(Object result, Object expected) throws IOException {
    if (result != expected) {
      throw new IOException("an update ended with " + result);
    }
  }
}
