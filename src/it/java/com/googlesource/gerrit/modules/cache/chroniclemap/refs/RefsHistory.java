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

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Locale;

/**
 * What was done last to a repository, in order: without it nobody knows who lost a ref. For many
 * threads.
 */
final class RefsHistory {
  private static final int LINES = 400;

  private final Deque<String> lines = new ArrayDeque<>();
  private final long begun = System.nanoTime();

  synchronized void add(String what) {
    if (lines.size() == LINES) {
      lines.removeFirst();
    }
    lines.add(String.format(Locale.ROOT, "%,12d us  %s", (System.nanoTime() - begun) / 1000, what));
  }

  private synchronized String told() {
    return String.join("\n", lines);
  }

  /** Something that may find a wrong answer. */
  @FunctionalInterface
  interface Task<T> {
    T run() throws IOException, InterruptedException;
  }

  /** Runs a task; if it fails, the failure comes with what was done before. */
  <T> T tellOnFailure(Task<T> task) throws IOException, InterruptedException {
    try {
      return task.run();
    } catch (AssertionError | RuntimeException e) {
      throw new AssertionError(e + "\nwhat was done last:\n" + told(), e);
    }
  }
}
