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

import com.google.common.util.concurrent.Futures;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.openjdk.jmh.util.SampleBuffer;

/** Threads that share the work of putting all {@link Entries} once. */
final class Putters implements AutoCloseable {
  private final int count;
  private final ExecutorService threads;

  Putters(int count) {
    this.count = count;
    this.threads = Executors.newFixedThreadPool(count);
  }

  /**
   * Puts all entries and waits until they are on disk.
   *
   * @return how long each call of put took, nanoseconds
   */
  SampleBuffer putAll(Entries entries, OpenCache cache) {
    List<Future<SampleBuffer>> parts = new ArrayList<>();
    for (int part = 0; part < count; part++) {
      int first = part;
      parts.add(threads.submit(() -> putPart(entries, cache, first)));
    }
    SampleBuffer calls = new SampleBuffer();
    parts.forEach(part -> calls.addAll(Futures.getUnchecked(part)));
    cache.drain();
    return calls;
  }

  private SampleBuffer putPart(Entries entries, OpenCache cache, int first) {
    SampleBuffer calls = new SampleBuffer();
    for (int i = first; i < entries.count; i += count) {
      long start = System.nanoTime();
      cache.put(entries.key(i), entries.value(i));
      calls.add(System.nanoTime() - start);
    }
    return calls;
  }

  @Override
  public void close() {
    threads.close();
  }
}
