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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.CompactReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** What caches there are, for those who watch over them. Safe for any thread. */
public interface CacheInventory {
  /** The folder of the stores; empty if all caches are kept in memory only. */
  Optional<Path> directory();

  /** Why all caches are kept in memory only; empty if they are not. */
  Optional<String> memoryOnlyReason();

  /** Figures of all caches that have a store, by name. */
  List<CacheReport> reports();

  /**
   * Reads and checks all entries of a cache on disk. Requests go on meanwhile. The calling thread
   * must not be interrupted: it reads from the file, and an interrupt would close that.
   *
   * @param repair whether to drop what is damaged, if anything is
   * @throws CacheUpkeepException if there is no such cache, or it is being checked or compacted
   */
  VerifyReport verify(String name, boolean repair, Progress progress)
      throws CacheUpkeepException, InterruptedException;

  /**
   * Takes over what Gerrit's H2 holds of a cache; or tells how far that is, if it is being done.
   * The calling thread must not be interrupted: it reads from a file, and an interrupt would close
   * that.
   *
   * @param dryRun whether to count only
   * @throws CacheUpkeepException if it can't be noted what is taken over
   */
  ImportReport importFromH2(String name, boolean dryRun, Progress progress)
      throws CacheUpkeepException, InterruptedException;

  /**
   * Makes the file of a cache as small as what it holds allows. Requests go on meanwhile.
   *
   * @throws CacheUpkeepException if there is no such cache, or it is being checked or compacted
   */
  CompactReport compact(String name, Progress progress)
      throws CacheUpkeepException, InterruptedException;
}
