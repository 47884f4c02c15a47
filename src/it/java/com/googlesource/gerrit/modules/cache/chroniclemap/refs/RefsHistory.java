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

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Callable;

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
    lines.add("%,12d us  %s".formatted((System.nanoTime() - begun) / 1000, what));
  }

  private synchronized String told() {
    return String.join("\n", lines);
  }

  /** A task whose wrong answers come with what was done before. */
  <T> Callable<T> toldWith(Callable<T> task) {
    return () -> {
      try {
        return task.call();
      } catch (AssertionError e) {
        throw new AssertionError(e.getMessage() + "\nwhat was done last:\n" + told(), e);
      }
    };
  }
}
