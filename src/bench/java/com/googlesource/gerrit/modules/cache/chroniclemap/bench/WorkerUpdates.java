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

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Joiner;
import com.google.common.base.Splitter;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Stream;

/** A contender in Java: an {@link UpdatesWorker} in a process of its own. */
final class WorkerUpdates implements UpdatesPeer.Contender {
  private final Process process;
  private final BufferedWriter requests;
  private final BufferedReader answers;

  /**
   * Starts the process.
   *
   * @param classPath what it has: a JGit, and {@link UpdatesWorker}
   * @param arguments of {@link UpdatesWorker}
   */
  WorkerUpdates(UpdatesHome home, String classPath, List<String> arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    Splitter.on(' ').split(System.getProperty("bench.flags")).forEach(command::add);
    command.add("-Duser.home=" + home.folder());
    command.addAll(List.of("-cp", classPath, UpdatesWorker.class.getName()));
    command.addAll(arguments);
    process = home.start(new ProcessBuilder(command));
    requests = new BufferedWriter(new OutputStreamWriter(process.getOutputStream(), UTF_8));
    answers = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
  }

  private List<String> ask(String request) throws IOException {
    requests.write(request + "\n");
    requests.flush();
    String answer = answers.readLine();
    if (answer == null || !answer.startsWith(UpdatesWorker.DONE)) {
      throw new IOException(request + ": " + (answer == null ? "the worker has ended" : answer));
    }
    return Splitter.on(' ').splitToList(answer);
  }

  @Override
  public void prime() throws IOException {
    var unused = ask(UpdatesWorker.PRIME);
  }

  @Override
  public UpdatesPeer.Runs run(UpdatesOperation operation, int first, int most, int millis)
      throws IOException {
    List<String> answer =
        ask(Joiner.on(' ').join(UpdatesWorker.RUN, operation.name(), first, most, millis));
    return new UpdatesPeer.Runs(
        Long.parseLong(answer.get(1)),
        Long.parseLong(answer.get(2)),
        OptionalLong.of(Long.parseLong(answer.get(3))),
        Stream.of(answer.subList(4, answer.size()).toArray(new String[0]))
            .mapToLong(Long::parseLong)
            .toArray());
  }

  @Override
  public void close() throws IOException {
    requests.close();
    UpdatesHome.awaitEnd(process);
  }
}
