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
import com.google.common.collect.HashBasedTable;
import com.google.common.collect.Lists;
import com.google.common.collect.Table;
import com.google.gson.GsonBuilder;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.openjdk.jmh.runner.RunnerException;

/**
 * Measures this module's caches beside Gerrit's own and LMDB: {@code bin/bench cache}, which checks
 * the arguments.
 *
 * <p>Peers take turns, each time in a new Java process, so that neither the garbage of one nor what
 * else the machine does falls on the other.
 */
public final class CacheBench {
  private static final String JSON = "--json";
  private static final String QUICK = "--quick";
  private static final String ONLY = "--only";
  private static final String PEER = "--peer";

  private CacheBench() {}

  /**
   * Exits with 0, with 1 if something could not be measured or written, with 2 for a wrong name.
   */
  public static void main(String[] args) {
    // Several runs on one machine do disturb each other, but that is seen in the load printed.
    System.setProperty("jmh.ignoreLock", "true");
    try {
      run(List.of(args));
    } catch (RunnerException | IOException e) {
      System.err.println("error: " + e.getMessage());
      System.err.println("JMH's output: " + log());
      System.exit(1);
    }
  }

  private static Path log() {
    return Path.of(System.getProperty("bench.log"));
  }

  private static void run(List<String> args) throws RunnerException, IOException {
    boolean quick = args.contains(QUICK);
    List<Scenario> scenarios =
        (quick ? Plan.quick() : Plan.full()).scenarios(value(args, ONLY).orElse(""));
    List<Peer> others =
        value(args, PEER).map(name -> List.of(Peer.valueOf(name))).orElse(Peer.OTHERS);
    if (scenarios.isEmpty()) {
      System.err.println("error: " + ONLY + ": no scenario has this in its name");
      System.exit(2);
    }
    Path folder = Files.createTempDirectory(Path.of(System.getProperty("bench.data")), "run");
    Runtime.getRuntime().addShutdownHook(new Thread(() -> cleanUp(folder)));
    System.out.println("Command   " + System.getProperty("bench.command"));
    Machine.print(System.out, folder);
    System.out.println();

    OtherWork otherWork = new OtherWork();
    List<Comparison> results;
    try (PrintStream log = new PrintStream(log().toFile(), StandardCharsets.UTF_8)) {
      PrintStream err = System.err;
      // JMH passes on there what the forks write to theirs.
      System.setErr(log);
      try {
        results = measure(quick ? Plan.quick() : Plan.full(), scenarios, others, folder, log);
      } finally {
        System.setErr(err);
      }
    }
    for (Peer peer : others) {
      ResultTable.print(
          System.out, peer, results.stream().filter(result -> result.peer() == peer).toList());
      System.out.println();
    }
    otherWork
        .share()
        .ifPresent(
            share ->
                System.out.printf(
                    Locale.ROOT,
                    "Other processes took %.0f %% of the machine meanwhile.%n",
                    share * 100));
    Aims.print(System.out, results);
    if (quick) {
      System.out.println("These figures are rough: --quick measures each once, and for a moment.");
    }
    Optional<String> json = value(args, JSON);
    if (json.isPresent()) {
      writeJson(Path.of(json.get()), results);
    }
  }

  private static Optional<String> value(List<String> args, String option) {
    int found = args.indexOf(option);
    return found < 0 ? Optional.empty() : Optional.of(args.get(found + 1));
  }

  private static List<Comparison> measure(
      Plan plan, List<Scenario> scenarios, List<Peer> others, Path folder, PrintStream log)
      throws RunnerException {
    List<String> flags = Splitter.on(' ').splitToList(System.getProperty("bench.flags"));
    Fork fork = new Fork(plan, flags, folder, log);
    List<Peer> peers = new ArrayList<>(List.of(Peer.OURS));
    peers.addAll(others);
    Table<Scenario, Peer, Samples> samples = HashBasedTable.create();
    scenarios.forEach(
        scenario -> peers.forEach(peer -> samples.put(scenario, peer, new Samples())));

    boolean terminal = Boolean.getBoolean("bench.terminal");
    int steps = samples.size() * plan.rounds();
    try (Progress progress = new Progress(terminal, steps)) {
      for (int round = 0; round < plan.rounds(); round++) {
        List<Peer> order = round % 2 == 0 ? peers : Lists.reverse(peers);
        for (Scenario scenario : scenarios) {
          for (Peer peer : order) {
            progress.begin(scenario + ", " + peer.title());
            fork.measure(scenario, peer, samples.get(scenario, peer));
            progress.end();
          }
        }
      }
    }

    List<Comparison> results = new ArrayList<>();
    for (Peer peer : others) {
      for (Scenario scenario : scenarios) {
        Samples ours = samples.get(scenario, Peer.OURS);
        results.add(new Comparison(scenario, ours, peer, samples.get(scenario, peer)));
      }
    }
    return results;
  }

  private static void writeJson(Path file, List<Comparison> results) throws IOException {
    List<Comparison.Figure> figures = new ArrayList<>();
    results.forEach(result -> figures.addAll(result.figures()));
    Files.writeString(
        file,
        new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create().toJson(figures)
            + "\n");
    System.out.println("Written: " + file);
  }

  private static void cleanUp(Path folder) {
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
