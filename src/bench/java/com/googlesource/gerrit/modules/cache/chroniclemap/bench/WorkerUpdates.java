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

import com.google.common.base.Joiner;
import com.google.common.base.Splitter;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/** A contender in Java: an {@link UpdatesWorker} in a process of its own. */
final class WorkerUpdates implements UpdatesPeer.Contender {
  /** Far more than anything should take. */
  private static final int SECONDS_TO_ANSWER = 600;

  private final WorkerProcess process;

  /**
   * Starts the process.
   *
   * @param classPath what it has: a JGit, and {@link UpdatesWorker}
   * @param arguments of {@link UpdatesWorker}
   */
  WorkerUpdates(UpdatesHome home, String classPath, List<String> arguments) throws IOException {
    List<String> command = new ArrayList<>(WorkerProcess.java());
    command.add("-Duser.home=" + home.folder());
    command.addAll(List.of("-cp", classPath, UpdatesWorker.class.getName()));
    command.addAll(arguments);
    process = new WorkerProcess(home.hermetic(new ProcessBuilder(command)), SECONDS_TO_ANSWER);
  }

  @Override
  public void prime() throws IOException {
    var unused = process.ask(UpdatesWorker.PRIME);
  }

  @Override
  public Turn run(UpdatesOperation operation, int first, int most, int millis) throws IOException {
    String answer =
        process.ask(Joiner.on(' ').join(UpdatesWorker.RUN, operation.name(), first, most, millis));
    List<Long> numbers = Splitter.on(' ').splitToStream(answer).map(Long::valueOf).toList();
    return new Turn(
        numbers.get(0),
        numbers.get(1),
        OptionalLong.of(numbers.get(2)),
        numbers.subList(3, numbers.size()).stream().mapToLong(Long::longValue).toArray());
  }

  @Override
  public void close() throws IOException {
    process.close();
  }
}
