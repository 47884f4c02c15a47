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

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheUpkeepException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import java.util.function.BiFunction;

/**
 * A kind of long work on single caches, whose progress is shown and which can be cancelled. The SSH
 * commands and the REST API start it.
 *
 * @param name of the command
 * @param work on one cache
 * @param refused makes the result for a cache on which the work was impossible, from the cache's
 *     name and the reason
 */
record UpkeepWork(String name, CacheWork work, BiFunction<String, String, UpkeepResult> refused) {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Work on one cache, in a thread that is never interrupted. */
  interface CacheWork {
    UpkeepResult run(String cache, Progress progress) throws Exception;
  }

  /** Works on one cache and returns the result, also of a failure. */
  UpkeepResult run(String cache, Progress progress) {
    try {
      return work.run(cache, progress);
    } catch (CacheUpkeepException e) {
      return refused.apply(cache, e.getMessage());
    } catch (Exception | Error e) {
      logger.atWarning().withCause(e).log("%s of cache %s failed; run it again", name, cache);
      return refused.apply(cache, "it failed; see the log");
    }
  }
}
