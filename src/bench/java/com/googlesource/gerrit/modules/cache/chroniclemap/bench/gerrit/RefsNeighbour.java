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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit;

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.AtOnce;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RefsProject;
import java.io.IOException;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Native git beside a Gerrit: packs the refs of a project, and lists them, again and again until it
 * is closed.
 */
final class RefsNeighbour implements AutoCloseable {
  private final ExecutorService thread = Executors.newSingleThreadExecutor();
  private final AtomicInteger packs = new AtomicInteger();
  private final AtomicInteger refusals = new AtomicInteger();
  private final Future<Void> work;
  private volatile boolean ended;

  RefsNeighbour(RefsProject project) {
    Callable<Void> loop =
        () -> {
          while (!ended) {
            try {
              var unused = project.git("pack-refs", "--all");
              packs.incrementAndGet();
            } catch (IOException e) {
              // Gerrit holds a lock.
              refusals.incrementAndGet();
            }
            var unused = project.git("for-each-ref", "--format=%(refname)");
          }
          return null;
        };
    work = thread.submit(loop);
  }

  /** How often it has packed, and how often it could not, in words. */
  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "git has packed %d times, and %d times did not get a lock",
        packs.get(),
        refusals.get());
  }

  @Override
  public void close() throws IOException {
    ended = true;
    try {
      var unused = AtOnce.result(work);
    } finally {
      thread.shutdownNow();
    }
  }
}
