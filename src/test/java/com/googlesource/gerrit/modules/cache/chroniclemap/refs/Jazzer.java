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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Has Jazzer make inputs for two readers, led by what both do with them: six seconds in a normal
 * run, as long as one likes with {@code -Drefs.fuzz.seconds=3600}. It runs in a Java process of its
 * own, since it changes the classes that it loads.
 *
 * <p>With {@code -Drefs.fuzz.corpus=FOLDER} inputs that were of use are kept there, and taken up by
 * the next run. What it finds is printed as a file {@code target/fuzz/crash-*}.
 */
public final class Jazzer {
  private static final String SECONDS_PROPERTY = "refs.fuzz.seconds";
  private static final int SECONDS = Integer.getInteger(SECONDS_PROPERTY, 6);
  private static final Path FINDINGS = Path.of("target", "fuzz");

  private Jazzer() {}

  /**
   * Fails if Jazzer finds anything.
   *
   * @param target a class with a method {@code fuzzerTestOneInput}
   * @param readers patterns of the classes that lead Jazzer
   * @param options of libFuzzer
   * @param seeds folders with inputs to begin with
   */
  public static void run(Class<?> target, String readers, List<String> options, Path... seeds)
      throws Exception {
    Path findings = Files.createDirectories(FINDINGS);
    String kept = System.getProperty("refs.fuzz.corpus");
    Path corpus =
        kept != null
            ? Files.createDirectories(Path.of(kept, target.getSimpleName()))
            : Files.createTempDirectory(findings, "corpus");
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx1g", "-cp", System.getProperty("java.class.path")));
    // It loads an agent and native code, of which newer JDKs warn.
    command.add("-XX:+EnableDynamicAgentLoading");
    if (Runtime.version().feature() >= 24) {
      command.addAll(
          List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"));
    }
    command.add("com.code_intelligence.jazzer.Jazzer");
    command.add("--target_class=" + target.getName());
    command.add("--instrumentation_includes=" + readers);
    // Its own detectors look for other faults, such as in SQL, and in all classes if they may.
    command.add("--custom_hook_includes=" + readers);
    command.add("--reproducer_path=" + findings);
    command.add("-artifact_prefix=" + findings + "/");
    command.add("-max_total_time=" + SECONDS);
    if (System.getProperty(SECONDS_PROPERTY) == null) {
      // A normal run looks at the same inputs each time.
      command.add("-seed=1");
    }
    command.add("-timeout=60");
    command.add("-rss_limit_mb=4096");
    command.addAll(options);
    command.add(corpus.toString());
    Arrays.stream(seeds).map(Path::toString).forEach(command::add);
    // Others may run at the same time, with another JGit.
    Path log = Files.createTempFile(findings, target.getSimpleName(), ".log");
    Process jazzer =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
    int status;
    try {
      status = jazzer.waitFor();
    } finally {
      jazzer.destroyForcibly();
      if (kept == null) {
        MoreFiles.deleteRecursively(corpus, RecursiveDeleteOption.ALLOW_INSECURE);
      }
    }
    String output = Files.readString(log);
    Files.delete(log);
    assertWithMessage(output).that(status).isEqualTo(0);
    // That it was led by something, and did run.
    assertThat(output).contains("DONE");
    assertThat(output).contains("cov: ");
  }
}
