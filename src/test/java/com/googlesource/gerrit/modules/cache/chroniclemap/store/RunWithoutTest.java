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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import static com.google.common.truth.Truth.assertThat;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The note of a run without the stores, seen from another process than the one that runs. */
class RunWithoutTest {
  @TempDir Path folder;

  /** Notes it, says so, and runs until it is killed or its input ends. */
  static final class Server {
    private Server() {}

    public static void main(String[] args) throws IOException {
      RunWithout noted = RunWithout.begin(Path.of(args[0]));
      System.out.println("noted");
      while (System.in.read() >= 0) {}
      noted.close();
    }
  }

  /** Runs one more server without the stores; to be destroyed. */
  private Process begin() throws IOException {
    Process server =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Server.class.getName(),
                folder.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    BufferedReader said = new BufferedReader(new InputStreamReader(server.getInputStream(), UTF_8));
    assertThat(said.readLine()).isEqualTo("noted");
    return server;
  }

  private static void kill(Process server) throws InterruptedException {
    server.destroyForcibly().waitFor();
  }

  @Test
  void staysForAsLongAsAnyOfThemRuns() throws Exception {
    assertThat(RunWithout.isNoted(folder)).isFalse();
    Process first = begin();
    Process second = begin();
    try {
      assertThat(RunWithout.isNoted(folder)).isTrue();
      assertThat(RunWithout.clear(folder)).isFalse();
      assertThat(RunWithout.isNoted(folder)).isTrue();
      assertThat(Files.readString(RunWithout.fileIn(folder)))
          .contains("process " + first.pid() + " ");
      assertThat(Files.readString(RunWithout.fileIn(folder)))
          .contains("process " + second.pid() + " ");
      kill(first);
      assertThat(RunWithout.clear(folder)).isFalse();
      assertThat(RunWithout.isNoted(folder)).isTrue();
      kill(second);
      assertThat(RunWithout.isNoted(folder)).isTrue();
      assertThat(RunWithout.clear(folder)).isTrue();
      assertThat(RunWithout.isNoted(folder)).isFalse();
    } finally {
      kill(first);
      kill(second);
    }
  }

  @Test
  void canBeNotedAgainAfterItWasCleared() throws Exception {
    Process first = begin();
    first.getOutputStream().close();
    assertThat(first.waitFor()).isEqualTo(0);
    assertThat(RunWithout.isNoted(folder)).isTrue();
    assertThat(RunWithout.clear(folder)).isTrue();
    Process second = begin();
    try {
      assertThat(RunWithout.isNoted(folder)).isTrue();
    } finally {
      kill(second);
    }
  }
}
