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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.MemoryLimit;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A {@link ScaleWorker} in a process of its own, which has loaded its classes. */
final class Child implements AutoCloseable {
  private static final String SMALL_HEAP = "256m";

  /** What such a process takes besides its heap and the page cache, about. */
  static final long SMALL_PROCESS_BYTES = (256 + 150) << 20;

  /** Time to answer, whatever the size, and for each GB: far more than anything should take. */
  private static final int MIN_SECONDS_TO_ANSWER = 180;

  private static final int SECONDS_TO_ANSWER_PER_GIGABYTE = 300;

  private final WorkerProcess process;

  /**
   * Starts it.
   *
   * @param folder of the cache, which is not opened yet
   * @param limit of its memory, if there is to be one; its heap is small then
   */
  Child(CachePeer peer, Path folder, long maxBytes, int count, Optional<MemoryLimit> limit)
      throws IOException {
    List<String> command = new ArrayList<>(WorkerProcess.java());
    if (limit.isPresent()) {
      command.addAll(List.of("-Xms" + SMALL_HEAP, "-Xmx" + SMALL_HEAP));
    }
    command.addAll(
        List.of(
            "-cp",
            System.getProperty("java.class.path"),
            ScaleWorker.class.getName(),
            peer.name(),
            folder.toString(),
            Long.toString(maxBytes),
            Integer.toString(count)));
    process =
        new WorkerProcess(
            new ProcessBuilder(limit.map(group -> group.around(command)).orElse(command)),
            MIN_SECONDS_TO_ANSWER
                + (int) ((maxBytes >> 20) * SECONDS_TO_ANSWER_PER_GIGABYTE / 1024));
    try {
      var unused = ask("prepare");
    } catch (IOException e) {
      kill();
      throw e;
    }
  }

  /** Has it do something. */
  Answer ask(String request) throws IOException {
    return Answer.parse(process.ask(request));
  }

  void kill() throws IOException {
    process.kill();
  }

  @Override
  public void close() throws IOException {
    process.close();
  }
}
