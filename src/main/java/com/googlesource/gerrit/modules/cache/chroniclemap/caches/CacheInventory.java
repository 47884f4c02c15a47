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

import com.googlesource.gerrit.modules.cache.chroniclemap.shared.CheckReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The persistent caches of this server, for monitoring and upkeep. Safe for any thread. */
public interface CacheInventory {
  /** The folder of the stores; empty if all caches are in memory only. */
  Optional<Path> directory();

  /** Why all caches are in memory only; empty if they are not. */
  Optional<String> memoryOnlyReason();

  /** Why others than the owner may have rights to the files; empty if they have none. */
  Optional<String> exposed();

  /** Returns the figures of all caches that have a store, sorted by name. */
  List<CacheReport> reports();

  /** The figures of the values that are shared with other servers; empty if none are. */
  Optional<SharedReport> shared();

  /**
   * Looks at what works and what does not between this server and the log of shared values. Waits
   * for the log's server, for half a minute at most. Empty if nothing is shared.
   */
  Optional<CheckReport> checkShared();

  /**
   * Reads and checks all entries of a cache on disk, while requests continue. If the thread is
   * interrupted meanwhile, not all entries are checked.
   *
   * @param repair whether to drop damaged entries
   * @return an incomplete report if there is no such cache
   * @throws InterruptedException if the thread is interrupted before the file is open
   */
  VerifyReport verify(String name, boolean repair, Progress progress) throws InterruptedException;
}
