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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.UninterruptedThreads;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.AtomicFile;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;

/**
 * Makes files and folders durable: syncs them to disk, many at the same time. A journalling file
 * system then commits them together, while one sync after another would wait for a commit each. No
 * caller waits for the files of another, whose disk may hang.
 */
final class FileSync {
  /** How many syncs of a caller run at the same time. */
  private static final int MAX_TOGETHER = 32;

  /** How many run at once for all callers, beside one for each, as a disk that hangs keeps them. */
  static final int MAX_FURTHER = 256;

  private static final Semaphore FURTHER = new Semaphore(MAX_FURTHER);

  private FileSync() {}

  private static Void file(Path file) throws IOException {
    try (FileInputStream open = new FileInputStream(file.toFile())) {
      open.getFD().sync();
      return null;
    }
  }

  private static Void folder(Path folder) throws IOException {
    AtomicFile.syncFolder(folder);
    return null;
  }

  private static Callable<Void> releasing(Callable<Void> sync) {
    return () -> {
      try {
        return sync.call();
      } finally {
        FURTHER.release();
      }
    };
  }

  /** Syncs the contents of files and, at the same time, the entries of folders. */
  static void sync(Collection<Path> files, Collection<Path> folders) throws IOException {
    List<Callable<Void>> syncs = new ArrayList<>();
    folders.forEach(folder -> syncs.add(() -> folder(folder)));
    files.forEach(file -> syncs.add(() -> file(file)));
    try {
      while (!syncs.isEmpty()) {
        List<Future<Void>> running = new ArrayList<>();
        running.add(UninterruptedThreads.start(syncs.removeLast()));
        while (running.size() < MAX_TOGETHER && !syncs.isEmpty() && FURTHER.tryAcquire()) {
          running.add(UninterruptedThreads.start(releasing(syncs.removeLast())));
        }
        for (Future<Void> each : running) {
          Uninterruptibles.getUninterruptibly(each);
        }
      }
    } catch (ExecutionException e) {
      throw new IOException("cannot sync " + files + " and " + folders, e.getCause());
    }
  }
}
