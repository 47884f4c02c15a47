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
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A {@link ScaleWorker} in a process of its own, which has loaded its classes. */
final class Child implements AutoCloseable {
  /** What all of them write besides their answers, one after the other. */
  private static final Path LOG = Path.of(System.getProperty("bench.log"));

  private static final int SECONDS_TO_END = 20;
  private static final int LINES_SHOWN = 30;
  private static final String SMALL_HEAP = "256m";

  /** What such a process takes besides its heap and the page cache, about. */
  static final long SMALL_PROCESS_BYTES = (256 + 150) << 20;

  /** Time to answer, whatever the size, and for each GB: far more than anything should take. */
  private static final int MIN_SECONDS_TO_ANSWER = 180;

  private static final int SECONDS_TO_ANSWER_PER_GIGABYTE = 300;

  private final int secondsToAnswer;
  private final Process process;
  private final int linesBefore;
  private final BufferedWriter requests;
  private final BufferedReader answers;

  /** Empties the log. */
  static void beginLog() throws IOException {
    Files.writeString(LOG, "");
  }

  /**
   * Starts it.
   *
   * @param folder of the cache, which is not opened yet
   * @param limit of its memory, if there is to be one; its heap is small then
   */
  Child(CachePeer peer, Path folder, long maxBytes, int count, Optional<MemoryLimit> limit)
      throws IOException {
    secondsToAnswer =
        MIN_SECONDS_TO_ANSWER + (int) ((maxBytes >> 20) * SECONDS_TO_ANSWER_PER_GIGABYTE / 1024);
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    Splitter.on(' ').split(System.getProperty("bench.flags")).forEach(command::add);
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
    linesBefore = logLines().size();
    List<String> limited = limit.map(group -> group.around(command)).orElse(command);
    process = new ProcessBuilder(limited).redirectError(Redirect.appendTo(LOG.toFile())).start();
    requests = new BufferedWriter(new OutputStreamWriter(process.getOutputStream(), UTF_8));
    answers = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
    try {
      var unused = ask("prepare");
    } catch (IOException e) {
      kill();
      throw e;
    }
  }

  private static List<String> logLines() throws IOException {
    // Of whatever bytes it consists.
    return new String(Files.readAllBytes(LOG), UTF_8).lines().toList();
  }

  /**
   * Has it do something.
   *
   * @throws IOException if it could not, with what it wrote to its log, or did not answer in time
   */
  Answer ask(String request) throws IOException {
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
    if (line.startsWith(ScaleWorker.FAILED)) {
      throw failed(request, line);
    }
    return Answer.parse(line);
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
              LOG),
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
            .redirectOutput(Redirect.appendTo(LOG.toFile()))
            .start();
    await(dump);
  }

  private IOException failed(String request, String why) throws IOException {
    List<String> lines = logLines();
    int from = Math.max(linesBefore, lines.size() - LINES_SHOWN);
    List<String> last = lines.subList(from, lines.size());
    return new IOException(
        String.format(
            Locale.ROOT,
            "%s: %s; the end of what it wrote:%n%s",
            request,
            why,
            String.join("\n", last)));
  }

  /** Ends it by SIGKILL, as a server whose time to stop is over. */
  void kill() throws IOException {
    process.destroyForcibly();
    await(process);
  }

  private static void await(Process process) throws IOException {
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

  /** Ends it; its cache must have been closed, or else that was as good as a SIGKILL. */
  @Override
  public void close() throws IOException {
    if (process.isAlive()) {
      requests.close();
      await(process);
    }
  }
}
