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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks;

import com.google.common.util.concurrent.Uninterruptibles;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Has the disk keep files. Many are handed to it at the same time: a journalling file system then
 * writes them together, where one after the other each would wait for a write of its own.
 */
final class Durable {
  /** How many files are waited for at the same time. */
  private static final int TOGETHER = 32;

  /** They end when there is nothing to do for a while. */
  private static final ThreadPoolExecutor THREADS =
      new ThreadPoolExecutor(
          TOGETHER, TOGETHER, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), Durable::thread);

  static {
    THREADS.allowCoreThreadTimeOut(true);
  }

  private Durable() {}

  /** Not by a channel, which an interrupt would close: the caller itself may do this. */
  private static void file(Path file) throws IOException {
    try (FileInputStream open = new FileInputStream(file.toFile())) {
      open.getFD().sync();
    }
  }

  private static void folder(Path folder) throws IOException {
    try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }

  /** Returns when the contents of all these files are on disk. */
  static void files(Collection<Path> files) throws IOException {
    if (files.isEmpty()) {
      return;
    }
    List<Path> others = List.copyOf(files);
    Path last = others.getLast();
    List<Future<?>> running = begin(others.subList(0, others.size() - 1), Durable::file);
    try {
      file(last);
    } finally {
      await(running, files);
    }
  }

  /** Both at the same time. */
  static void all(Collection<Path> files, Collection<Path> folders) throws IOException {
    List<Future<?>> running = begin(folders, Durable::folder);
    try {
      files(files);
    } finally {
      await(running, folders);
    }
  }

  /**
   * Returns when it is on disk which files are in these folders. On threads of its own: a folder
   * can be opened by a channel alone, which an interrupt of the caller's would close.
   */
  static void folders(Collection<Path> folders) throws IOException {
    await(begin(folders, Durable::folder), folders);
  }

  private interface Sync {
    void sync(Path path) throws IOException;
  }

  private static List<Future<?>> begin(Collection<Path> paths, Sync sync) {
    List<Future<?>> running = new ArrayList<>(paths.size());
    for (Path path : paths) {
      running.add(
          THREADS.submit(
              () -> {
                sync.sync(path);
                return null;
              }));
    }
    return running;
  }

  private static void await(List<Future<?>> running, Collection<Path> paths) throws IOException {
    try {
      for (Future<?> each : running) {
        // Not interrupted: a sync by the caller itself would not be either.
        Uninterruptibles.getUninterruptibly(each);
      }
    } catch (ExecutionException e) {
      throw new IOException("the disk does not keep " + paths, e.getCause());
    }
  }

  private static Thread thread(Runnable task) {
    Thread thread = new Thread(task, "cache-chroniclemap-refs-sync");
    thread.setDaemon(true);
    return thread;
  }
}
