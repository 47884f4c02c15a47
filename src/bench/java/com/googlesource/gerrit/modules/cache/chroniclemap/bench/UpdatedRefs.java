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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.util.Optional;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.RefDatabase;

/**
 * This module's refs, for {@link UpdatesWorker}: a class apart, which JGit's workers never load.
 */
final class UpdatedRefs {
  private static final long MEMORY_LIMIT = 1 << 30;

  private UpdatedRefs() {}

  /**
   * The refs of a repository, with lists in memory only: what an update costs is no matter of the
   * store on disk, which is written behind.
   */
  static RefDatabase open(FileRepository repository) {
    RefsSettings inMemory = new RefsSettings(MEMORY_LIMIT, 0, Optional.empty());
    // No packing in the background: it is measured for itself.
    PackedRefsCache cache =
        new PackedRefsCache(inMemory, new UpdateSettings(UpdateSettings.By.OWN, 1000, 0));
    cache.start();
    return cache.of(repository, (RefDirectory) repository.getRefDatabase());
  }
}
