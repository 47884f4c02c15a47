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
package com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Works for a moment and rests for three times as long, so that a server that is busy loses at most
 * a quarter of one processor; and reads so many bytes a second at most, so that a disk that is busy
 * is left to others too.
 */
final class SharedPace implements Pace {
  private static final long WORK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
  private static final int RESTS = 3;
  private static final long BYTES_PER_SECOND = 32 << 20;

  private final CountDownLatch stopped;
  private long begun = System.nanoTime();
  private long bytes;

  SharedPace(CountDownLatch stopped) {
    this.stopped = stopped;
  }

  @Override
  public boolean keep(int read) throws InterruptedException {
    bytes += read;
    long worked = System.nanoTime() - begun;
    if (worked < WORK_NANOS) {
      return stopped.getCount() > 0;
    }
    long atLeast = bytes * TimeUnit.SECONDS.toNanos(1) / BYTES_PER_SECOND - worked;
    boolean goesOn = await(Math.max(RESTS * worked, atLeast));
    begun = System.nanoTime();
    bytes = 0;
    return goesOn;
  }

  @Override
  public boolean await(long nanos) throws InterruptedException {
    return !stopped.await(nanos, TimeUnit.NANOSECONDS);
  }
}
