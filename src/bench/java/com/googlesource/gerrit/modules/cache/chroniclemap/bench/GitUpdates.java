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

import com.google.common.base.Splitter;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

/**
 * Native git: one {@code git update-ref --stdin} for each writer, kept running, to which each run
 * is one transaction. Packing is a process for each run.
 */
final class GitUpdates implements UpdatesPeer.Contender {
  private static final long NANOS_PER_TICK = TimeUnit.SECONDS.toNanos(1) / 100;

  private final UpdatesPeer.Home home;
  private final Path repository;
  private final UpdatesInput input;
  private final Writers writers;
  private final List<Kept> processes = new ArrayList<>();

  GitUpdates(UpdatesPeer.Home home, Path repository, UpdatesInput input, int writers)
      throws IOException {
    this.home = home;
    this.repository = repository;
    this.input = input;
    this.writers = new Writers(writers);
    for (int i = 0; i < writers; i++) {
      processes.add(new Kept(start("update-ref", "--stdin")));
    }
  }

  private Process start(String... command) throws IOException {
    ProcessBuilder git = new ProcessBuilder("git", "--git-dir", repository.toString());
    git.command().addAll(List.of(command));
    return home.start(git);
  }

  /** A process that takes transactions. */
  private static final class Kept {
    private final Process process;
    private final BufferedWriter requests;
    private final BufferedReader answers;

    Kept(Process process) {
      this.process = process;
      requests = new BufferedWriter(new OutputStreamWriter(process.getOutputStream(), UTF_8));
      answers = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
    }

    void transaction(StringBuilder commands, String end) throws IOException {
      requests.write("start\n");
      requests.append(commands);
      requests.write("prepare\n" + end + "\n");
      requests.flush();
      for (String step : List.of("start", "prepare", end)) {
        String answer = answers.readLine();
        if (!(step + ": ok").equals(answer)) {
          throw new IOException("git update-ref: " + step + ": " + answer);
        }
      }
    }

    long cpuNanos() throws IOException {
      String line = Files.readString(Path.of("/proc/" + process.pid() + "/schedstat"));
      return Long.parseLong(line.substring(0, line.indexOf(' ')));
    }
  }

  /** Processor time of those that are kept, and of those that have ended. */
  private long cpuNanos() throws IOException {
    long nanos = 0;
    for (Kept kept : processes) {
      nanos += kept.cpuNanos();
    }
    String self = Files.readString(Path.of("/proc/self/stat"));
    List<String> fields = Splitter.on(' ').splitToList(self.substring(self.lastIndexOf(')') + 2));
    // User and system time of the children, from the 16th field of the whole line.
    return nanos
        + (Long.parseLong(fields.get(13)) + Long.parseLong(fields.get(14))) * NANOS_PER_TICK;
  }

  /** It keeps nothing that would have to be read first. */
  @Override
  public void prime() {}

  @Override
  public Turn run(UpdatesOperation operation, int first, int most, int millis) throws IOException {
    long cpuBefore = cpuNanos();
    long begun = System.nanoTime();
    long[] latencies =
        writers.make(first, most, millis, (writer, run) -> perform(operation, writer, run));
    long wall = System.nanoTime() - begun;
    return new Turn(wall, cpuNanos() - cpuBefore, OptionalLong.empty(), latencies);
  }

  private void perform(UpdatesOperation operation, int writer, int run) throws IOException {
    switch (operation) {
      case PACK -> pack();
      case DELETE ->
          processes
              .get(writer)
              .transaction(
                  new StringBuilder("delete ").append(input.packed(run + 1)).append('\n'),
                  "commit");
      case AVAILABILITY ->
          processes.get(writer).transaction(creations(input.names(operation, run)), "abort");
      case ATOMIC_2, SINGLE, BATCH_100, BATCH_1000, BATCH_10K, BATCH_100K ->
          processes.get(writer).transaction(creations(input.names(operation, run)), "commit");
    }
  }

  private StringBuilder creations(List<String> names) {
    StringBuilder commands = new StringBuilder();
    for (String name : names) {
      commands.append("create ").append(name).append(' ').append(input.object(name)).append('\n');
    }
    return commands;
  }

  private void pack() throws IOException {
    Process git = start("pack-refs", "--all");
    WorkerProcess.awaitEnd(git);
    if (git.exitValue() != 0) {
      throw new IOException("git pack-refs: status=" + git.exitValue());
    }
  }

  @Override
  public void close() throws IOException {
    writers.close();
    for (Kept kept : processes) {
      kept.requests.close();
      WorkerProcess.awaitEnd(kept.process);
    }
  }
}
