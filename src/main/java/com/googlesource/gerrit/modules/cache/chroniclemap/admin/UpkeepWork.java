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

package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import com.google.common.collect.ImmutableList;
import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.UpkeepShown.Column;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheUpkeepException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;

/**
 * Long work on single caches, whose progress is shown and which can be cancelled. The SSH commands
 * and the REST API start it.
 */
abstract class UpkeepWork {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  final String name;
  final ImmutableList<Column> columns;

  /**
   * Makes the work.
   *
   * @param name of the command
   * @param columns of the table of results
   */
  UpkeepWork(String name, ImmutableList<Column> columns) {
    this.name = name;
    this.columns = columns;
  }

  /**
   * Works on one cache and returns the result, also of a failure. The calling thread must not be
   * interrupted, as an interrupt would close the file.
   */
  final UpkeepResult run(String cache, Progress progress) {
    try {
      return work(cache, progress);
    } catch (CacheUpkeepException e) {
      return refused(cache, e.getMessage());
    } catch (Exception e) {
      logger.atWarning().withCause(e).log("%s of cache %s failed", name, cache);
      return refused(cache, "it failed; see the log");
    }
  }

  /** Works on one cache, in a thread that is never interrupted. */
  abstract UpkeepResult work(String cache, Progress progress)
      throws CacheUpkeepException, InterruptedException;

  /** The result of a cache on which no work was possible. */
  abstract UpkeepResult refused(String cache, String reason);
}
