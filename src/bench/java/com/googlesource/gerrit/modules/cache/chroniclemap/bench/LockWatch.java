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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import java.io.File;

/** Looks without a pause whether a lock file is there, and adds up for how long. */
final class LockWatch {
  private final File file;
  private final Thread thread = new Thread(this::watch, "lock-watch");
  private volatile boolean ended;
  private long heldNanos;

  private LockWatch(File file) {
    this.file = file;
  }

  static LockWatch start(File file) {
    LockWatch watch = new LockWatch(file);
    watch.thread.setDaemon(true);
    watch.thread.start();
    return watch;
  }

  private void watch() {
    boolean held = false;
    long since = 0;
    while (!ended) {
      boolean exists = file.exists();
      if (exists != held) {
        long now = System.nanoTime();
        if (held) {
          heldNanos += now - since;
        }
        since = now;
        held = exists;
      }
    }
  }

  /** Ends it; returns for how long the file was there. */
  long stop() throws InterruptedException {
    ended = true;
    thread.join();
    return heldNanos;
  }
}
