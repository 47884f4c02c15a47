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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import com.google.common.collect.ImmutableList;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Stream;

/** A running Gerrit daemon of one site. Closing it stops it, however it was started. */
final class GerritDaemon implements AutoCloseable {
  private static final Duration START_LIMIT = Duration.ofMinutes(3);
  private static final Duration STOP_LIMIT = Duration.ofMinutes(1);

  private final GerritSite site;
  private final ProcessHandle process;
  private final Path output;
  private final boolean byScript;
  private final Deadline started;
  private final Duration readyAfter;
  private final Duration readyCpu;

  private GerritDaemon(
      GerritSite site,
      ProcessHandle process,
      Path output,
      boolean byScript,
      Deadline started,
      Duration readyAfter,
      Duration readyCpu) {
    this.site = site;
    this.process = process;
    this.output = output;
    this.byScript = byScript;
    this.started = started;
    this.readyAfter = readyAfter;
    this.readyCpu = readyCpu;
  }

  /** The daemon stopped before it was ready; the message has what it said. */
  static final class StartFailure extends IOException {
    private static final long serialVersionUID = 1L;

    StartFailure(String message) {
      super(message);
    }
  }

  /**
   * Starts the daemon as a child process with the options of {@code gerrit.config}, and waits until
   * it is ready. What it prints is in {@link #output}.
   */
  static GerritDaemon start(GerritSite site) throws IOException {
    Path output = site.outputs().resolve("daemon.out");
    String runId = UUID.randomUUID().toString();
    List<String> args = new ArrayList<>(GerritSite.javaOptions(site.config()));
    args.add("-Xmx" + site.config().getString("container", null, "heapLimit"));
    args.addAll(
        List.of(
            "-jar",
            site.path().resolve("bin/gerrit.war").toString(),
            "daemon",
            "-d",
            site.path().toString(),
            "--run-id=" + runId));
    // As gerrit.sh does.
    args.addAll(List.of(site.config().getStringList("container", null, "daemonOpt")));
    ProcessBuilder daemon =
        site.command(args).redirectErrorStream(true).redirectOutput(output.toFile());
    daemon
        .environment()
        .put("GERRIT_TMP", Files.createDirectories(site.path().resolve("tmp")).toString());

    Deadline deadline = Deadline.in(START_LIMIT);
    Process process = daemon.start();
    AutoCloseable guard = () -> process.destroyForcibly().waitFor();
    AtExit.add(guard);
    try {
      deadline.await(
          () -> !process.isAlive() || runFile(site).equals(Optional.of(runId)),
          "the daemon is ready, see " + output);
      Duration readyAfter = deadline.elapsed();
      Duration readyCpu = cpu(process.toHandle());
      if (!process.isAlive()) {
        throw new StartFailure(said(site, output));
      }
      return register(
          new GerritDaemon(
              site, process.toHandle(), output, false, deadline, readyAfter, readyCpu));
    } finally {
      AtExit.remove(guard);
    }
  }

  /** Starts the daemon as an admin does: {@code bin/gerrit.sh start}. */
  static GerritDaemon startByScript(GerritSite site) throws IOException {
    Path output = site.outputs().resolve("gerrit.sh-start.out");
    Files.deleteIfExists(runPath(site));
    Deadline deadline = Deadline.in(START_LIMIT);
    Process script = script(site, "start", output);
    AutoCloseable guard =
        () -> {
          script.destroyForcibly().waitFor();
          for (ProcessHandle process : processOf(site).stream().toList()) {
            process.destroyForcibly();
            Deadline.in(STOP_LIMIT).await(() -> !isRunning(process), "the daemon has ended");
          }
        };
    AtExit.add(guard);
    try {
      // The script looks every two seconds only: the file that it watches tells the true time.
      deadline.await(
          () -> !script.isAlive() || runFile(site).isPresent(),
          "the daemon is ready, see " + output);
      Duration readyAfter = deadline.elapsed();
      deadline.await(() -> !script.isAlive(), "the start script has ended, see " + output);
      if (script.exitValue() != 0) {
        throw new StartFailure(said(site, output));
      }
      ProcessHandle process =
          processOf(site).orElseThrow(() -> new StartFailure(said(site, output)));
      return register(
          new GerritDaemon(site, process, output, true, deadline, readyAfter, cpu(process)));
    } finally {
      AtExit.remove(guard);
    }
  }

  /** What {@code bin/gerrit.sh} calls beside the usual; a bare machine may lack some of it. */
  static ImmutableList<String> missingForScript() {
    return Stream.of("git", "ps")
        .filter(
            program ->
                Stream.of(System.getenv("PATH").split(":", -1))
                    .noneMatch(dir -> Files.isExecutable(Path.of(dir, program))))
        .collect(ImmutableList.toImmutableList());
  }

  private static GerritDaemon register(GerritDaemon daemon) {
    AtExit.add(daemon);
    return daemon;
  }

  GerritSite site() {
    return site;
  }

  /** From the start of the process to the moment Gerrit called itself ready. */
  Duration readyAfter() {
    return readyAfter;
  }

  /** Processor time that the process had taken when Gerrit called itself ready, or just after. */
  Duration readyCpu() {
    return readyCpu;
  }

  /** Processor time that the process has taken until now. */
  Duration cpu() {
    return cpu(process);
  }

  private static Duration cpu(ProcessHandle process) {
    // Empty for a process that has ended.
    return process.info().totalCpuDuration().orElse(Duration.ZERO);
  }

  /** From the start of the process until now. */
  Duration sinceStart() {
    return started.elapsed();
  }

  long pid() {
    return process.pid();
  }

  /** What the daemon (or its start script) printed. */
  String output() throws IOException {
    return Files.readString(output);
  }

  /** Stops it as it was started, and waits for its end. */
  void stop() throws IOException {
    if (byScript) {
      Process script = script(site, "stop", site.outputs().resolve("gerrit.sh-stop.out"));
      Deadline.in(STOP_LIMIT).await(() -> !script.isAlive(), "the stop script has ended");
    } else {
      process.destroy();
    }
    awaitEnd();
    AtExit.remove(this);
  }

  /** Ends it with SIGKILL: it can do nothing more, like after a crash. */
  void kill() throws IOException {
    process.destroyForcibly();
    awaitEnd();
    AtExit.remove(this);
    // The start script takes it for running until process 1 has asked for its exit status.
    Files.deleteIfExists(pidPath(site));
    // A killed daemon leaves its unpacked jars behind, 95 MB each time.
    Folders.delete(site.path().resolve("tmp"));
  }

  boolean isRunning() {
    return isRunning(process);
  }

  /** Leaves it running, also at the end of this process. */
  void keep() {
    AtExit.remove(this);
  }

  @Override
  public void close() throws IOException {
    if (isRunning()) {
      process.destroy();
      try {
        awaitEnd();
      } catch (IllegalStateException e) {
        process.destroyForcibly();
        awaitEnd();
      }
    }
    AtExit.remove(this);
  }

  private void awaitEnd() {
    Deadline.in(STOP_LIMIT).await(() -> !isRunning(), "the daemon has ended, pid=" + pid());
  }

  /**
   * Whether it runs. One that has ended, but whose parent never asks for its exit status (process 1
   * of many containers), has ended.
   */
  private static boolean isRunning(ProcessHandle process) {
    if (!process.isAlive()) {
      return false;
    }
    try {
      String stat = Files.readString(Path.of("/proc/" + process.pid() + "/stat"));
      return !stat.substring(stat.lastIndexOf(')')).startsWith(") Z");
    } catch (IOException e) {
      return process.isAlive();
    }
  }

  private static Process script(GerritSite site, String action, Path output) throws IOException {
    List<String> command = new ArrayList<>();
    if (isHangupIgnored()) {
      // As under nohup: the daemon would inherit it, and the script stops it by a hangup. Needs
      // coreutils 8.31.
      command.addAll(List.of("env", "--default-signal=HUP"));
    }
    command.addAll(List.of(site.path().resolve("bin/gerrit.sh").toString(), action));
    ProcessBuilder script =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
    return site.clean(script).start();
  }

  private static boolean isHangupIgnored() throws IOException {
    Path status = Path.of("/proc/self/status");
    return Files.exists(status)
        && Files.readAllLines(status).stream()
            .filter(line -> line.startsWith("SigIgn:"))
            .anyMatch(line -> (Long.parseUnsignedLong(line.substring(7).trim(), 16) & 1) != 0);
  }

  private static Optional<ProcessHandle> processOf(GerritSite site) {
    return read(pidPath(site)).map(Long::parseLong).flatMap(ProcessHandle::of);
  }

  private static Path pidPath(GerritSite site) {
    return site.path().resolve("logs/gerrit.pid");
  }

  private static Path runPath(GerritSite site) {
    return site.path().resolve("logs/gerrit.run");
  }

  private static Optional<String> runFile(GerritSite site) {
    return read(runPath(site));
  }

  private static Optional<String> read(Path file) {
    try {
      String text = Files.readString(file).trim();
      return text.isEmpty() ? Optional.empty() : Optional.of(text);
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String said(GerritSite site, Path output) {
    return "the daemon did not start; it printed:\n"
        + end(output)
        + "\nits error_log ends with:\n"
        + end(site.path().resolve("logs/error_log"));
  }

  private static String end(Path file) {
    List<String> lines = read(file).orElse("(nothing)").lines().toList();
    return String.join("\n", lines.subList(Math.max(0, lines.size() - 60), lines.size()));
  }
}
