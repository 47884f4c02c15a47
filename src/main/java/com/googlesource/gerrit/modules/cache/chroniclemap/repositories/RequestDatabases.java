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
import java.util.HashMap;
import java.util.Map;
import org.eclipse.jgit.lib.RefDatabase;

/** The ref databases of one request, one for each repository. For the request's thread. */
final class RequestDatabases {
  private static final PerThreadCache.Key<RequestDatabases> KEY =
      PerThreadCache.Key.create(RequestDatabases.class);

  /** By the databases outside of requests. Another one is made when refs are converted. */
  private final Map<FileRefDatabase, RefDatabase> databases = new HashMap<>();

  private RequestDatabases() {}

  /** Returns the ref database of a repository for this thread's request, which must exist. */
  static RefDatabase of(FileRefDatabase refs) {
    return PerThreadCache.get()
        .get(KEY, RequestDatabases::new)
        .databases
        .computeIfAbsent(refs, FileRefDatabase::forRequest);
  }
}
