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

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A Java process in which something is measured: it reads what to do from its input, and answers
 * each request with one line. What it writes besides is in the log of the run. Knows the JDK only,
 * so that workers beside which there is nothing else can have it.
 */
public final class WorkerProcess implements AutoCloseable {
  /** Begins an answer of something that failed. */
  private static final String FAILED = "failed";

  private static final int SECONDS_TO_END = 20;
  private static final int LINES_SHOWN = 30;

  private final Path log = log();
  private final int secondsToAnswer;
  private final int linesBefore;
  private final Process process;
  private final BufferedWriter requests;
  private final BufferedReader answers;

  /** What a worker does with a request, whose words these are. */
  public interface Worker {
    Object answer(List<String> request) throws Exception;
  }

  /** In the process: serves until its input is closed. */
  public static void serve(Worker worker) throws IOException {
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, UTF_8));
    PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, UTF_8);
    // Who else writes to the standard output writes to the log.
    System.setOut(System.err);
    String request;
    while ((request = requests.readLine()) != null) {
      try {
        answers.println(worker.answer(List.of(request.split(" ", -1))));
      } catch (Exception | Error e) {
        e.printStackTrace();
        answers.println(FAILED + " " + e);
      }
    }
    // Whatever threads are left.
    System.exit(0);
  }

  /** The beginning of a command that runs Java with the flags of {@code bin/bench}. */
  public static List<String> java() {
    return List.of(
        (Path.of(System.getProperty("java.home"), "bin", "java")
                + " "
                + System.getProperty("bench.flags"))
            .split(" ", -1));
  }

  /** Starts it. */
  public WorkerProcess(ProcessBuilder command, int secondsToAnswer) throws IOException {
    this.secondsToAnswer = secondsToAnswer;
    linesBefore = logLines().size();
    process = command.redirectError(Redirect.appendTo(log.toFile())).start();
    requests = new BufferedWriter(new OutputStreamWriter(process.getOutputStream(), UTF_8));
    answers = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
  }

  private static Path log() {
    return Path.of(System.getProperty("bench.log"));
  }

  private List<String> logLines() throws IOException {
    // Of whatever bytes it consists.
    return Files.exists(log)
        ? new String(Files.readAllBytes(log), UTF_8).lines().toList()
        : List.of();
  }

  /**
   * Has it do something.
   *
   * @throws IOException if it could not, with what it wrote to its log, or did not answer in time
   */
  public String ask(String request) throws IOException {
    String line;
    try {
      requests.write(request + "\n");
      requests.flush();
      line = awaitLine(request);
    } catch (IOException e) {
      throw failed(request, e.getMessage());
    }
    if (line == null) {
      throw failed(request, "its process has ended");
    }
    if (line.startsWith(FAILED)) {
      throw failed(request, line);
    }
    return line;
  }

  private String awaitLine(String request) throws IOException {
    FutureTask<String> line = new FutureTask<>(answers::readLine);
    Thread reader = new Thread(line, "answer to " + request);
    reader.setDaemon(true);
    reader.start();
    try {
      return line.get(secondsToAnswer, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      dumpThreads();
      kill();
      throw new IOException(
          String.format(
              Locale.ROOT,
              "no answer for %d s; what its threads did then is in %s",
              secondsToAnswer,
              log),
          e);
    } catch (ExecutionException e) {
      throw new IOException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }

  /** Adds what all its threads do to the log. */
  private void dumpThreads() throws IOException {
    Path jstack = Path.of(System.getProperty("java.home"), "bin", "jstack");
    Process dump =
        new ProcessBuilder(jstack.toString(), Long.toString(process.pid()))
            .redirectErrorStream(true)
            .redirectOutput(Redirect.appendTo(log.toFile()))
            .start();
    awaitEnd(dump);
  }

  private IOException failed(String request, String why) throws IOException {
    List<String> lines = logLines();
    int from = Math.max(Math.min(linesBefore, lines.size()), lines.size() - LINES_SHOWN);
    return new IOException(
        String.format(
            Locale.ROOT,
            "%s: %s; the end of what it wrote:%n%s",
            request,
            why,
            String.join("\n", lines.subList(from, lines.size()))));
  }

  /** Ends it by SIGKILL, as a server whose time to stop is over. */
  public void kill() throws IOException {
    process.destroyForcibly();
    awaitEnd(process);
  }

  /** Waits for the end of a process whose input was closed, or that was killed. */
  static void awaitEnd(Process process) throws IOException {
    try {
      if (!process.waitFor(SECONDS_TO_END, TimeUnit.SECONDS)) {
        int status = process.destroyForcibly().waitFor();
        throw new IOException("a process did not end by itself: status=" + status);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }

  /** Ends it; what it has open must have been closed, or else that was as good as a SIGKILL. */
  @Override
  public void close() throws IOException {
    if (process.isAlive()) {
      requests.close();
      awaitEnd(process);
    }
  }
}
