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

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.RefDatabase;

/** This module's refs for a benchmark, as a server has them: in memory, and in a store on disk. */
public final class OurRefs implements AutoCloseable {
  private static final long MEMORY_LIMIT = 1 << 30;
  private static final long DISK_LIMIT = 1 << 30;
  private static final long MAX_WAIT_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final long POLL_MILLIS = 50;

  private final Path folder;
  private PackedRefsCache cache;

  /**
   * Begins with nothing known.
   *
   * @param parent gets a folder for the store
   */
  public OurRefs(Path parent) throws IOException {
    folder = parent.resolve("our-refs");
    start();
  }

  private void start() throws IOException {
    Files.createDirectories(folder);
    cache =
        new PackedRefsCache(
            new RefsSettings(MEMORY_LIMIT, DISK_LIMIT, Optional.of(folder)),
            UpdateSettings.DEFAULT);
    cache.start();
    // A server has opened it long before the first request.
    while (cache.totals().disk().orElseThrow().state() == StoreState.OPENING) {
      Thread.onSpinWait();
    }
  }

  /** The refs of a repository. */
  public RefDatabase open(FileRepository repository) {
    return cache.of(repository, (RefDirectory) repository.getRefDatabase());
  }

  /** Stops and starts again, as a server: what was parsed is on disk. */
  public void restart() throws IOException {
    cache.close();
    start();
  }

  /** Forgets all that was parsed. */
  public void forgetAll() throws IOException {
    close();
    start();
  }

  /**
   * Returns when all blocks in memory are on disk: what waits for that is on the heap.
   *
   * @throws IllegalStateException if that takes longer than a minute
   */
  public void awaitWritten() throws InterruptedException {
    long begun = System.nanoTime();
    RefsTotals now = cache.totals();
    while (now.disk().orElseThrow().queued() > 0
        || now.disk().orElseThrow().entries() < now.memory().blocks()) {
      if (System.nanoTime() - begun > MAX_WAIT_NANOS) {
        throw new IllegalStateException("not all lists come to disk: " + now);
      }
      // Before what is measured: nothing tells of the last write.
      Thread.sleep(POLL_MILLIS);
      now = cache.totals();
    }
  }

  /** How often a content was parsed since it was started. */
  public long parses() {
    return cache.totals().counts().parses.sum();
  }

  @Override
  public void close() {
    cache.close();
    try {
      MoreFiles.deleteRecursively(folder, RecursiveDeleteOption.ALLOW_INSECURE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
