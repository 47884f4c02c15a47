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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing;

import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.AtomicFile;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Makes files and folders durable: syncs them to disk, many at the same time. A journalling file
 * system then commits them together, while one sync after another would wait for a commit each.
 */
final class FileSync {
  /** How many syncs run at the same time. */
  private static final int MAX_TOGETHER = 32;

  /** The threads end when they have been idle for 10 seconds. */
  private static final ThreadPoolExecutor THREADS =
      new ThreadPoolExecutor(
          MAX_TOGETHER,
          MAX_TOGETHER,
          10,
          TimeUnit.SECONDS,
          new LinkedBlockingQueue<>(),
          Thread.ofPlatform().daemon().name("cache-chroniclemap-refs-sync").factory());

  static {
    THREADS.allowCoreThreadTimeOut(true);
  }

  private FileSync() {}

  private static void file(Path file) throws IOException {
    try (FileInputStream open = new FileInputStream(file.toFile())) {
      open.getFD().sync();
    }
  }

  /** Syncs the contents of files and, at the same time, the entries of folders. */
  static void sync(Collection<Path> files, Collection<Path> folders) throws IOException {
    List<Future<?>> running = new ArrayList<>();
    for (Path folder : folders) {
      running.add(begin(folder, AtomicFile::syncFolder));
    }
    for (Path file : files) {
      running.add(begin(file, FileSync::file));
    }
    try {
      for (Future<?> each : running) {
        Uninterruptibles.getUninterruptibly(each);
      }
    } catch (ExecutionException e) {
      throw new IOException("cannot sync " + files + " and " + folders, e.getCause());
    }
  }

  private interface Sync {
    void sync(Path path) throws IOException;
  }

  private static Future<?> begin(Path path, Sync sync) {
    return THREADS.submit(
        () -> {
          sync.sync(path);
          return null;
        });
  }
}
