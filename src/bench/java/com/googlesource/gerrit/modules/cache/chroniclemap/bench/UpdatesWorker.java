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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.eclipse.jgit.api.PackRefsCommand;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * The process of one contender. It reads what to do from its input, does it to the refs of one
 * repository, and answers with one line: so all JGits are measured by one and the same class,
 * compiled once, and none has another's classes beside it. It knows the JDK, JGit, and this
 * module's refs only if told to use those.
 */
final class UpdatesWorker {
  static final String PRIME = "prime";
  static final String RUN = "run";
  static final String OURS = "ours";
  static final String JGIT = "jgit";

  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private final OperatingSystemMXBean process =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private final FileRepository repository;
  private final UpdatesInput input;
  private final RefDatabase refs;
  private final Writers writers;

  private UpdatesWorker(String who, Path folder, UpdatesInput input, int writers)
      throws IOException {
    this.repository = new FileRepository(folder.toFile());
    this.input = input;
    this.refs = who.equals(JGIT) ? repository.getRefDatabase() : OurRefs.open(repository);
    this.writers = new Writers(writers);
  }

  /** Arguments: who, the repository, the folder of {@link UpdatesInput}, number of writers. */
  public static void main(String[] args) throws IOException {
    WorkerProcess.serve(
        new UpdatesWorker(
                args[0],
                Path.of(args[1]),
                new UpdatesInput(Path.of(args[2])),
                Integer.parseInt(args[3]))
            ::answer);
  }

  private String answer(List<String> request) throws IOException {
    if (request.get(0).equals(PRIME)) {
      String name = input.packed(0);
      if (refs.exactRef(name) == null) {
        throw new IOException("not there: " + name);
      }
      return "";
    }
    UpdatesOperation operation = UpdatesOperation.valueOf(request.get(1));
    int first = Integer.parseInt(request.get(2));
    int most = Integer.parseInt(request.get(3));
    int millis = Integer.parseInt(request.get(4));
    long allocatedBefore = threads.getTotalThreadAllocatedBytes();
    long cpuBefore = process.getProcessCpuTime();
    long begun = System.nanoTime();
    long[] latencies = writers.make(first, most, millis, (writer, run) -> perform(operation, run));
    long wall = System.nanoTime() - begun;
    long cpu = process.getProcessCpuTime() - cpuBefore;
    long allocated = threads.getTotalThreadAllocatedBytes() - allocatedBefore;
    StringBuilder answer = new StringBuilder();
    answer.append(wall).append(' ').append(cpu).append(' ').append(allocated);
    for (long latency : latencies) {
      answer.append(' ').append(latency);
    }
    return answer.toString();
  }

  private void perform(UpdatesOperation operation, int run) throws IOException {
    switch (operation) {
      case SINGLE -> create(input.names(operation, run).get(0));
      case DELETE -> delete(input.packed(run + 1));
      case ATOMIC_2, BATCH_100, BATCH_1000, BATCH_10K, BATCH_100K ->
          batch(input.names(operation, run));
      case AVAILABILITY -> refusedBatch(input.names(operation, run));
      case PACK ->
          refs.packRefs(NullProgressMonitor.INSTANCE, new PackRefsCommand(repository).setAll(true));
    }
  }

  private void create(String name) throws IOException {
    RefUpdate update = refs.newUpdate(name, false);
    update.setExpectedOldObjectId(ObjectId.zeroId());
    update.setNewObjectId(ObjectId.fromString(input.object(name)));
    check(update.update(), RefUpdate.Result.NEW, name);
  }

  private void delete(String name) throws IOException {
    RefUpdate update = refs.newUpdate(name, false);
    update.setForceUpdate(true);
    check(update.delete(), RefUpdate.Result.FORCED, name);
  }

  private static void check(Object result, Object expected, String name) throws IOException {
    if (result != expected) {
      throw new IOException(name + ": " + result);
    }
  }

  private void batch(List<String> names) throws IOException {
    for (ReceiveCommand command : execute(names)) {
      if (command.getResult() != ReceiveCommand.Result.OK) {
        throw new IOException(command + ": " + command.getResult() + " " + command.getMessage());
      }
    }
  }

  /** The batch must find out that its last name can't be given, and that alone. */
  private void refusedBatch(List<String> names) throws IOException {
    List<String> all = new ArrayList<>(names);
    all.set(all.size() - 1, input.conflicting());
    List<ReceiveCommand> commands = execute(all);
    ReceiveCommand last = commands.getLast();
    if (last.getResult() != ReceiveCommand.Result.LOCK_FAILURE) {
      throw new IOException(last + ": " + last.getResult() + " " + last.getMessage());
    }
  }

  /** As Gerrit does: an atomic batch. */
  private List<ReceiveCommand> execute(List<String> names) throws IOException {
    BatchRefUpdate batch = refs.newBatchUpdate();
    batch.setAtomic(true);
    batch.setAllowNonFastForwards(true);
    for (String name : names) {
      batch.addCommand(
          new ReceiveCommand(ObjectId.zeroId(), ObjectId.fromString(input.object(name)), name));
    }
    try (RevWalk walk = new RevWalk(repository)) {
      batch.execute(walk, NullProgressMonitor.INSTANCE);
    }
    return batch.getCommands();
  }

  /** This module's refs: a class apart, which JGit's workers never load. */
  private static final class OurRefs {
    private static final long MEMORY_LIMIT = 1 << 30;

    private OurRefs() {}

    /**
     * The refs of a repository, with lists in memory only: what an update costs is no matter of the
     * store on disk, which is written behind.
     */
    static RefDatabase open(FileRepository repository) {
      RefsSettings inMemory = new RefsSettings(MEMORY_LIMIT, 0, Optional.empty());
      // No packing in the background: it is measured for itself.
      PackedRefsCache cache =
          new PackedRefsCache(inMemory, new UpdateSettings(UpdateSettings.By.OWN, 1000, 0));
      cache.start();
      return cache.of(repository, (RefDirectory) repository.getRefDatabase());
    }
  }
}
