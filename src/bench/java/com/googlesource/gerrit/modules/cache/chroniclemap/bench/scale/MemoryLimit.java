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

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A bound on the memory of a process, page cache included, by a control group of Linux. Needs root.
 */
final class MemoryLimit implements AutoCloseable {
  private static final Path GROUPS = Path.of("/sys/fs/cgroup");

  private final Path group;

  /** Makes the group. */
  MemoryLimit(long bytes) throws IOException {
    boolean unified = Files.exists(GROUPS.resolve("cgroup.controllers"));
    Path parent = unified ? GROUPS : GROUPS.resolve("memory");
    group = Files.createTempDirectory(parent, "bench-scale");
    String file = unified ? "memory.max" : "memory.limit_in_bytes";
    Files.writeString(group.resolve(file), Long.toString(bytes));
  }

  /** Whether groups can be made here. */
  static boolean isPossible() {
    try {
      new MemoryLimit(1 << 30).close();
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  /** The command that runs another one within the group. */
  List<String> around(List<String> command) {
    List<String> all = new ArrayList<>();
    all.addAll(
        List.of("sh", "-c", "echo $$ >" + group.resolve("cgroup.procs") + " && exec \"$@\""));
    all.add("sh");
    all.addAll(command);
    return all;
  }

  /** Removes the group, whose processes must have ended. */
  @Override
  public void close() throws IOException {
    Files.delete(group);
  }
}
