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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * What must be stopped or removed when this Java process ends early, by Ctrl-C or an exception: the
 * newest first, so that a daemon stops before its folder goes.
 */
final class AtExit {
  private static final Deque<AutoCloseable> OPEN = new ArrayDeque<>();

  static {
    Runtime.getRuntime().addShutdownHook(new Thread(AtExit::closeAll, "close at exit"));
  }

  private AtExit() {}

  static synchronized void add(AutoCloseable closeable) {
    OPEN.push(closeable);
  }

  static synchronized void remove(AutoCloseable closeable) {
    OPEN.remove(closeable);
  }

  private static void closeAll() {
    for (AutoCloseable next = poll(); next != null; next = poll()) {
      try {
        next.close();
      } catch (Exception e) {
        System.err.println("at exit: " + e);
      }
    }
  }

  private static synchronized AutoCloseable poll() {
    return OPEN.poll();
  }
}
