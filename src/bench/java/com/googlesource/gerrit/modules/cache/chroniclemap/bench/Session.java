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

import com.google.common.base.Splitter;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.openjdk.jmh.runner.RunnerException;

/** A run of {@code bin/bench}, which has checked its arguments. */
public final class Session {
  static final String QUICK = "--quick";
  static final String ONLY = "--only";
  private static final String JSON = "--json";

  private final List<String> args;
  private final Path folder;
  private final Machine.OtherWork otherWork;
  private final long begun = System.nanoTime();
  private Fork fork;

  /** What a run does. */
  public interface Run {
    void run(Session session) throws RunnerException, IOException, InterruptedException;
  }

  /** Measures something. */
  interface Measuring {
    void measure() throws RunnerException, IOException, InterruptedException;
  }

  private Session(List<String> args) throws IOException {
    this.args = args;
    folder = Files.createTempDirectory(Path.of(System.getProperty("bench.data")), "run");
    Runtime.getRuntime().addShutdownHook(new Thread(this::cleanUp));
    Files.deleteIfExists(log());
    otherWork = new Machine.OtherWork();
  }

  /** Exits with 0, or with 1 if something could not be measured or written. */
  public static void run(String[] args, Run run) {
    // Several runs on one machine do disturb each other, but that is seen in the load printed.
    System.setProperty("jmh.ignoreLock", "true");
    try {
      run.run(new Session(List.of(args)));
    } catch (RunnerException | IOException | InterruptedException e) {
      System.err.println("error: " + (e.getMessage() != null ? e.getMessage() : e));
      System.err.println("More may be in " + log());
      System.exit(1);
    }
  }

  private static Path log() {
    return Path.of(System.getProperty("bench.log"));
  }

  /** Where this run may write; deleted at its end. */
  public Path folder() {
    return folder;
  }

  public boolean quick() {
    return has(QUICK);
  }

  public boolean has(String option) {
    return args.contains(option);
  }

  public Optional<String> value(String option) {
    int found = args.indexOf(option);
    return found < 0 ? Optional.empty() : Optional.of(args.get(found + 1));
  }

  public int number(String option, int otherwise) {
    return value(option).map(Integer::parseInt).orElse(otherwise);
  }

  /** Such as {@code 1,8}. */
  public List<Integer> numbers(String option, String otherwise) {
    return Splitter.on(',')
        .splitToStream(value(option).orElse(otherwise))
        .map(Integer::valueOf)
        .toList();
  }

  /** Measures in processes of JMH's. */
  Fork fork() {
    return fork;
  }

  /** Exits with 2 if no name of a scenario has the texts of each {@code --only}. */
  public <C> List<C> chosen(List<C> scenarios, Function<C, String> name) {
    List<String> texts =
        IntStream.range(1, args.size())
            .filter(i -> args.get(i - 1).equals(ONLY))
            .mapToObj(args::get)
            .toList();
    List<C> chosen =
        scenarios.stream()
            .filter(scenario -> texts.stream().allMatch(name.apply(scenario)::contains))
            .toList();
    if (chosen.isEmpty()) {
      System.err.println("error: " + ONLY + ": no scenario has this in its name: " + texts);
      System.exit(2);
    }
    return chosen;
  }

  /** Says what is begun, and after how long a time. */
  public void say(String phase) {
    long seconds = (System.nanoTime() - begun) / 1_000_000_000;
    System.out.printf(Locale.ROOT, "%d s: %s%n", seconds, phase);
  }

  /** Prints where and with what is measured. */
  public void printHead(String versions) throws IOException {
    System.out.println("Command   " + System.getProperty("bench.command"));
    Machine.print(System.out, folder, versions);
    System.out.println();
  }

  /** With the flags of {@code bin/bench}, and with JMH's own output to the log. */
  void measure(Measuring measuring) throws RunnerException, IOException, InterruptedException {
    List<String> flags = Splitter.on(' ').splitToList(System.getProperty("bench.flags"));
    // Others append to it meanwhile.
    try (PrintStream log =
        new PrintStream(
            new FileOutputStream(log().toFile(), /* append= */ true),
            false,
            StandardCharsets.UTF_8)) {
      PrintStream err = System.err;
      // JMH passes on there what the forks write to theirs.
      System.setErr(log);
      try {
        fork = new Fork(quick(), flags, folder, log);
        measuring.measure();
      } finally {
        System.setErr(err);
      }
    }
  }

  /** Prints what disturbed the run. */
  public void printOtherWork() {
    otherWork
        .share()
        .ifPresent(
            share ->
                System.out.printf(
                    Locale.ROOT,
                    "Other processes took %.0f %% of the machine meanwhile.%n",
                    share * 100));
  }

  /** Says how good the figures are, and writes them, which are records, if they are asked for. */
  public void finish(List<?> figures) throws IOException {
    if (quick()) {
      System.out.println("These figures are rough: --quick measures each once, and for a moment.");
    }
    Figure.write(value(JSON), figures);
  }

  private void cleanUp() {
    // After a Ctrl-C a fork may still run, and write.
    ProcessHandle.current()
        .children()
        .forEach(
            fork -> {
              fork.destroyForcibly();
              fork.onExit().join();
            });
    try {
      Folders.delete(folder);
    } catch (IOException e) {
      System.err.println("cannot delete " + folder + ": " + e.getMessage());
    }
  }
}
