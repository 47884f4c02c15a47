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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The parser against JGit's with inputs that Jazzer makes, led by what both parsers do with them:
 * six seconds in a normal run, as long as one likes with {@code -Drefs.fuzz.seconds=3600}. It runs
 * in a Java process of its own, since it changes the classes that it loads.
 *
 * <p>With {@code -Drefs.fuzz.corpus=FOLDER} inputs that were of use are kept there, and taken up by
 * the next run. What it finds is printed as a file {@code target/fuzz/crash-*}, which belongs in
 * {@code src/test/resources/packed-refs-fuzz}: all there are tried in each run.
 */
class PackedRefsJazzerTest {
  private static final int SECONDS = Integer.getInteger("refs.fuzz.seconds", 6);
  private static final int SEEDS = 100;
  private static final int MAX_BYTES = 128 << 10;
  private static final Path FINDINGS = Path.of("target", "fuzz");
  private static final Path KNOWN = Path.of("src", "test", "resources", "packed-refs-fuzz");

  @TempDir Path folder;

  @Test
  void knownInputs() throws Exception {
    int count = 0;
    try (Differential differential = new Differential(folder);
        Stream<Path> inputs = Files.list(KNOWN)) {
      for (Path input : inputs.sorted().toList()) {
        try {
          PackedRefsFuzzTarget.check(differential, Files.readAllBytes(input));
        } catch (AssertionError | RuntimeException e) {
          throw new AssertionError(input.toString(), e);
        }
        count++;
      }
    }
    assertThat(count).isGreaterThan(0);
  }

  @Test
  void jazzerFindsNoDifference() throws Exception {
    Path seeds = Files.createDirectory(folder.resolve("seeds"));
    writeSeeds(seeds);
    Path dictionary = folder.resolve("dictionary");
    writeDictionary(dictionary);
    String kept = System.getProperty("refs.fuzz.corpus");
    Path corpus = kept != null ? Path.of(kept) : folder.resolve("corpus");
    Files.createDirectories(corpus);
    Files.createDirectories(FINDINGS);

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
    command.add("--target_class=" + PackedRefsFuzzTarget.class.getName());
    String parsers =
        PackedRefsReader.class.getPackageName()
            + ".*:org.eclipse.jgit.internal.storage.file.RefDirectory*";
    command.add("--instrumentation_includes=" + parsers);
    // Its own detectors look for other faults, such as in SQL, and in all classes if they may.
    command.add("--custom_hook_includes=" + parsers);
    command.add("--reproducer_path=" + FINDINGS);
    command.add("-artifact_prefix=" + FINDINGS + "/");
    command.add("-dict=" + dictionary);
    command.add("-max_len=" + MAX_BYTES);
    command.add("-max_total_time=" + SECONDS);
    command.add("-timeout=60");
    command.add("-rss_limit_mb=4096");
    command.addAll(List.of(corpus.toString(), seeds.toString(), KNOWN.toString()));
    Path log = FINDINGS.resolve("jazzer.log");
    Process jazzer =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
    int status;
    try {
      status = jazzer.waitFor();
    } finally {
      jazzer.destroyForcibly();
    }
    String output = Files.readString(log);
    assertWithMessage(output).that(status).isEqualTo(0);
    // That it was led by something, and did run.
    assertThat(output).contains("DONE");
    assertThat(output).contains("cov: ");
  }

  private static void writeSeeds(Path seeds) throws IOException {
    for (int i = 0; i < SEEDS; i++) {
      Random random = new Random(i);
      ByteArrayOutputStream input = new ByteArrayOutputStream();
      byte[] text = PackedRefsSeeds.start(random);
      input.writeBytes(text);
      for (int step = random.nextInt(3); step > 0; step--) {
        text = PackedRefsSeeds.change(text, random);
        input.writeBytes(PackedRefsFuzzTarget.REWRITE);
        input.writeBytes(text);
      }
      Files.write(seeds.resolve("seed-" + i), input.toByteArray());
    }
  }

  private static void writeDictionary(Path file) throws IOException {
    StringBuilder lines = new StringBuilder();
    List<byte[]> words = new ArrayList<>(List.of(PackedRefsFuzzTarget.REWRITE));
    for (String token : PackedRefsSeeds.TOKENS) {
      words.add(token.getBytes(UTF_8));
    }
    for (byte[] word : words) {
      lines.append('"');
      for (byte b : word) {
        lines.append("\\x%02X".formatted(b));
      }
      lines.append("\"\n");
    }
    Files.writeString(file, lines.toString());
  }
}
