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

import com.google.common.collect.Iterables;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.format.OutputFormat;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Measures in a Java process of its own, such as one scenario of one peer. */
final class Fork {
  /** System property of a fork: the folder of the run. */
  private static final String FOLDER = "bench.folder";

  private static final TimeValue TIME = TimeValue.milliseconds(1500);

  private final boolean quick;
  private final List<String> flags;
  private final OutputFormat log;

  /**
   * Prepares forks.
   *
   * @param flags of the Java process, without what this adds
   * @param folder for the caches
   * @param log gets JMH's own output
   */
  Fork(boolean quick, List<String> flags, Path folder, PrintStream log) {
    this.quick = quick;
    this.flags = new ArrayList<>(flags);
    this.flags.add("-D" + FOLDER + "=" + folder);
    this.log = OutputFormatFactory.createFormatInstance(log, VerboseMode.NORMAL);
  }

  /** What all measurements have in common. */
  ChainedOptionsBuilder options() {
    return new OptionsBuilder()
        .forks(1)
        .warmupIterations(quick ? 2 : 3)
        .measurementIterations(quick ? 1 : 3)
        .warmupTime(TIME)
        .measurementTime(TIME)
        .jvmArgs(flags.toArray(new String[0]))
        .addProfiler(FurtherFigures.class)
        .shouldFailOnError(true);
  }

  /** Measures the one benchmark that the options choose. */
  RunResult run(ChainedOptionsBuilder options) throws RunnerException {
    return Iterables.getOnlyElement(new Runner(options.build(), log).run());
  }

  /** In a fork, the folder that the run deletes at its end. */
  static Path folder() {
    return Path.of(System.getProperty(FOLDER));
  }

  /** In a fork, makes a folder for a site. */
  static Path newSite() throws IOException {
    return Files.createTempDirectory(folder(), "site");
  }

  /** One of {@link FurtherFigures}. */
  static OptionalDouble further(RunResult result, String label) {
    Result<?> found = result.getSecondaryResults().get(label);
    return found == null ? OptionalDouble.empty() : OptionalDouble.of(found.getScore());
  }
}
