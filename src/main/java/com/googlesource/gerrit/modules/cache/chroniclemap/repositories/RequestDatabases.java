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

import com.google.gerrit.server.cache.PerThreadCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.FileRefDatabase;
import java.io.File;
import java.util.HashMap;
import java.util.Map;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.RefDatabase;

/** The ref databases of one request, one for each repository. For the request's thread. */
final class RequestDatabases {
  private static final PerThreadCache.Key<RequestDatabases> KEY =
      PerThreadCache.Key.create(RequestDatabases.class);

  /**
   * The ref database of a repository.
   *
   * @param jgit JGit's database below, which changes when refs are converted
   */
  private record Entry(RefDirectory jgit, RefDatabase database) {}

  private final Map<File, Entry> entries = new HashMap<>();

  private RequestDatabases() {}

  /** Returns the ref database of a repository for this thread's request, which must exist. */
  static RefDatabase of(File path, RefDirectory jgit, FileRefDatabase refs) {
    RequestDatabases request = PerThreadCache.get().get(KEY, RequestDatabases::new);
    Entry entry = request.entries.get(path);
    if (entry == null || entry.jgit != jgit) {
      entry = new Entry(jgit, refs.forRequest());
      request.entries.put(path, entry);
    }
    return entry.database;
  }
}
