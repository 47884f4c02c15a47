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
import java.nio.file.Files;
import java.nio.file.Path;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.ConfigConstants;

/** Repositories that keep their refs in reftables. */
final class Reftables {
  private Reftables() {}

  /** Moves the refs of a repository that nobody uses into one table, as Gerrit's command does. */
  static void convert(Path folder) throws IOException {
    try (FileRepository repository = new FileRepository(folder.toFile())) {
      repository.convertRefStorage(
          ConfigConstants.CONFIG_REF_STORAGE_REFTABLE, /* writeLogs= */ false, /* backup= */ false);
    }
  }

  /**
   * Has a plain Gerrit work with them: the ref databases that it keeps for a request are those of
   * files only (3.13.5).
   */
  static void enableInPlain(GerritSite site) throws IOException {
    site.edit(config -> config.setBoolean("core", null, "usePerRequestRefCache", false));
  }

  /** Whether a repository was converted. */
  static boolean isIn(Path folder) {
    return Files.isRegularFile(folder.resolve("reftable/tables.list"));
  }
}
