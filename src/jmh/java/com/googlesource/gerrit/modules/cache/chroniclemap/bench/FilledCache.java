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

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.ExecutionException;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * A cache with all {@link Entries} on disk: filled, closed, opened again and each value compared.
 */
@State(Scope.Benchmark)
public class FilledCache {
  @Param Peer peer;

  @Param({"10240", "200"})
  int valueBytes;

  Entries entries;
  OpenCache cache;
  private Path site;

  @Setup(Level.Trial)
  public void fill() throws IOException, ExecutionException {
    entries = new Entries(valueBytes);
    site = Folders.newSite();
    try (OpenCache filling = new OpenCache(peer, site)) {
      entries.putAllTo(filling);
    }
    cache = new OpenCache(peer, site);
    if (cache.entriesOnDisk() != Entries.COUNT) {
      throw new IllegalStateException("entries on disk: " + cache.entriesOnDisk());
    }
    for (int i = 0; i < Entries.COUNT; i++) {
      entries.checkAll(i, cache.get(entries.key(i)));
    }
  }

  /** What one iteration has put shall not be written during the next. */
  @TearDown(Level.Iteration)
  public void drain() {
    cache.drain();
  }

  @TearDown(Level.Trial)
  public void close() throws IOException {
    cache.close();
    Folders.delete(site);
  }
}
