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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Has some users do something at the same time. */
final class AtOnce {
  private AtOnce() {}

  /** Runs each task on a thread of its own; answers what came of them, in their order. */
  static <T> List<T> run(List<Callable<T>> tasks) throws IOException {
    List<T> results = new ArrayList<>();
    ExecutorService threads = Executors.newFixedThreadPool(tasks.size());
    try {
      for (Future<T> one : threads.invokeAll(tasks)) {
        results.add(result(one));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    } finally {
      threads.shutdownNow();
    }
    return results;
  }

  /** Waits for a task; fails as it failed. */
  static <T> T result(Future<T> task) throws IOException {
    try {
      return task.get();
    } catch (ExecutionException e) {
      throw new IOException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }
}
