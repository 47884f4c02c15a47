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

package com.googlesource.gerrit.modules.cache.chroniclemap.repositories;

import com.google.inject.Inject;
import com.google.inject.Provider;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.updates.UpdateSettings;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * Gives the {@link PackedRefsCache} of this server.
 *
 * <p>Several programs of Gerrit may run in one process, one after the other: {@code daemon --init}
 * runs init first, which opens repositories and stops none of its modules, and init may run
 * reindex, which stops its own. So there is one cache for each folder and process. Who asks next
 * has the same one, unless it was closed, could not have its store, or is to have other settings;
 * then it is closed, and answers from memory for those who hold it still.
 */
@Singleton
final class PackedRefsCacheProvider implements Provider<PackedRefsCache> {
  /** The latest for each folder of a store; guarded by itself. */
  private static final Map<Path, Made> LATEST = new HashMap<>();

  private record Made(RefsSettings settings, UpdateSettings updates, PackedRefsCache cache) {}

  private final PackedRefsCache cache;

  @Inject
  PackedRefsCacheProvider(PackedRefsConfig config) {
    this.cache = latest(config.settings(), config.updates());
  }

  @Override
  public PackedRefsCache get() {
    return cache;
  }

  private static PackedRefsCache latest(RefsSettings settings, UpdateSettings updates) {
    if (settings.folder().isEmpty()) {
      return new PackedRefsCache(settings, updates);
    }
    Path folder = settings.folder().get().toAbsolutePath().normalize();
    synchronized (LATEST) {
      Made made = LATEST.get(folder);
      if (made != null
          && made.cache.isOfUse()
          && made.settings.equals(settings)
          && made.updates.equals(updates)) {
        return made.cache;
      }
      if (made != null) {
        made.cache.close();
      }
      PackedRefsCache cache = new PackedRefsCache(settings, updates);
      LATEST.put(folder, new Made(settings, updates, cache));
      return cache;
    }
  }
}
