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

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.google.common.base.Splitter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * Durable refs in a virtual machine whose power fails; run by bin/lib/soak-power.sh. What {@link
 * RefsWriter}s say is in a log that outlives the machine, and is checked when the machine has
 * booted again.
 */
final class PowerRefsMain {
  private static final List<String> REPOSITORIES = List.of("durable");

  public static void main(String[] args) {
    try {
      switch (args[0]) {
        case "make" -> {
          RefsModel unused = RefsModel.make(Path.of(args[1]), REPOSITORIES);
        }
        case "run" -> {
          Path folder = Path.of(args[1]);
          RefsModel model = new RefsModel(folder, REPOSITORIES);
          String log = read(args[2]);
          check(model, log, log.length(), log.length());
          RefKillsIT.Child.run(model, new Random(Long.parseLong(args[3])), REPOSITORIES);
        }
        case "check" -> {
          // Many disks at once, as a JVM in a guest takes long to start.
          for (int i = 2; i < args.length; i += 3) {
            check(
                new RefsModel(Path.of(args[i]), REPOSITORIES),
                read(args[1]),
                sizeOfLog(args[i + 1]),
                sizeOfLog(args[i + 2]));
          }
        }
        default -> throw new IllegalArgumentException(args[0]);
      }
    } catch (Exception | AssertionError e) {
      RefsWriter.end(e);
    }
  }

  /** The first of the sizes in a mark. */
  private static int sizeOfLog(String mark) {
    return Integer.parseInt(Splitter.on(',').split(mark).iterator().next());
  }

  private static String read(String log) throws IOException {
    return Files.readString(Path.of(log), ISO_8859_1);
  }

  /** Of a disk as it was when the log had so many characters: at least the first, at most both. */
  private static void check(RefsModel model, String log, int atLeast, int atMost) throws Exception {
    log.substring(0, atLeast).lines().forEach(model::heed);
    log.substring(atLeast, atMost).lines().forEach(model::heedLater);
    List<Path> left = model.left(REPOSITORIES.get(0));
    model.check("after a loss of power");
    System.err.printf(
        Locale.ROOT,
        "refs: acknowledged=%d locksLeft=%d undecidedLeft=%d decidedLeft=%d%n",
        model.done(),
        ending(left, ".lock"),
        ending(left, ".transaction"),
        ending(left, ".durable"));
  }

  private static long ending(List<Path> files, String end) {
    return files.stream().filter(file -> file.toString().endsWith(end)).count();
  }
}
