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

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A bound on the memory of a process, page cache included and without swap, by a control group of
 * Linux. Needs root.
 */
public final class MemoryLimit implements AutoCloseable {
  private static final Path GROUPS = Path.of("/sys/fs/cgroup");

  private final Path group;
  private final boolean unified = Files.exists(GROUPS.resolve("cgroup.controllers"));

  /** Makes the group. */
  public MemoryLimit(long bytes) throws IOException {
    group = Files.createTempDirectory(unified ? GROUPS : GROUPS.resolve("memory"), "memory-limit");
    write("memory.max", "memory.limit_in_bytes", Long.toString(bytes));
    write("memory.swap.max", "memory.swappiness", "0");
  }

  private void write(String file, String before, String value) throws IOException {
    Files.writeString(group.resolve(unified ? file : before), value);
  }

  /** Whether groups can be made here. */
  public static boolean isPossible() {
    try {
      new MemoryLimit(1 << 30).close();
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  /** The command that runs another one within the group. */
  public List<String> around(List<String> command) {
    List<String> all = new ArrayList<>();
    all.addAll(
        List.of("sh", "-c", "echo $$ >" + group.resolve("cgroup.procs") + " && exec \"$@\""));
    all.add("sh");
    all.addAll(command);
    return all;
  }

  /** How many processes of the group the kernel has killed for want of memory. */
  public long kills() throws IOException {
    return field(unified ? "memory.events" : "memory.oom_control", "oom_kill ");
  }

  /** Bytes that the kernel could take only by swap: heap, direct memory, stacks, tmpfs. */
  public long anonymous() throws IOException {
    return field("memory.stat", unified ? "anon " : "rss ");
  }

  /** The most that was in use, and what is now, for people. */
  public String report() throws IOException {
    return String.format(
        Locale.ROOT,
        "memory.peak %,d MB, anon %,d MB, file %,d MB",
        field(unified ? "memory.peak" : "memory.max_usage_in_bytes", "") >> 20,
        anonymous() >> 20,
        field("memory.stat", unified ? "file " : "cache ") >> 20);
  }

  private long field(String file, String name) throws IOException {
    for (String line : Files.readAllLines(group.resolve(file))) {
      if (line.startsWith(name)) {
        return Long.parseLong(line.substring(name.length()));
      }
    }
    throw new IOException(group.resolve(file) + " does not tell " + name);
  }

  /** Removes the group, whose processes must have ended. */
  @Override
  public void close() throws IOException {
    Files.delete(group);
  }
}
