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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * The {@link PackedRefsCache}s of this process, one for each folder on disk.
 *
 * <p>Several programs of Gerrit may run in one process, one after the other. {@code daemon --init}
 * first runs init, which opens repositories and never stops its modules. Init may run reindex,
 * which does stop its modules. Therefore a process has one cache for each folder, which all of its
 * programs share. A program gets a new cache if the old one was closed, has no store, or has other
 * settings. The old cache is closed then, and answers its remaining users from memory.
 */
final class CacheByFolder {
  /** The cache of each folder. Guarded by itself. */
  private static final Map<Path, Entry> CACHES = new HashMap<>();

  private record Entry(RefsSettings settings, UpdateSettings updates, PackedRefsCache cache) {}

  private CacheByFolder() {}

  static PackedRefsCache of(RefsSettings settings, UpdateSettings updates) {
    if (settings.folder().isEmpty()) {
      return new PackedRefsCache(settings, updates);
    }
    Path folder = settings.folder().get().toAbsolutePath().normalize();
    synchronized (CACHES) {
      Entry known = CACHES.get(folder);
      if (known != null
          && known.cache.isOfUse()
          && known.settings.equals(settings)
          && known.updates.equals(updates)) {
        return known.cache;
      }
      if (known != null) {
        known.cache.close();
      }
      PackedRefsCache cache = new PackedRefsCache(settings, updates);
      CACHES.put(folder, new Entry(settings, updates, cache));
      return cache;
    }
  }
}
