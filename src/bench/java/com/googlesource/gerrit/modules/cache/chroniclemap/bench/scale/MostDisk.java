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
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Looks at what a cache takes of the disk while something is done, twenty times a second. */
final class MostDisk extends Thread {
  private static final long PACE_MILLIS = 50;

  private final ScaledCache cache;
  private final CountDownLatch over = new CountDownLatch(1);
  private long most;
  private Exception failure;

  MostDisk(ScaledCache cache) {
    super("disk");
    this.cache = cache;
    setDaemon(true);
  }

  @Override
  public void run() {
    try {
      do {
        most = Math.max(most, cache.diskBytes());
      } while (!over.await(PACE_MILLIS, TimeUnit.MILLISECONDS));
    } catch (IOException | RuntimeException | InterruptedException e) {
      failure = e;
    }
  }

  /** Ends, and says the most that it saw, in bytes. */
  long end() throws InterruptedException {
    over.countDown();
    join();
    if (failure != null) {
      throw new IllegalStateException("the disk's use could not be seen", failure);
    }
    return most;
  }
}
