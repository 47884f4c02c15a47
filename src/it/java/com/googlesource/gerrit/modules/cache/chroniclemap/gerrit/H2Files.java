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

import com.google.common.collect.ImmutableMap;
import com.google.common.hash.HashCode;
import com.google.common.hash.Hashing;
import com.google.common.io.MoreFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;

/** The H2 files in the cache folder as they were at one moment: init leaves some there. */
final class H2Files {
  private final Path folder;
  private final ImmutableMap<Path, HashCode> before;

  private H2Files(Path folder) {
    this.folder = folder;
    this.before = look(folder);
  }

  static H2Files of(GerritSite site) {
    return new H2Files(site.cacheFolder());
  }

  /** Files that are new or not as they were. */
  List<Path> writtenSince() {
    return look(folder).entrySet().stream()
        .filter(e -> !e.getValue().equals(before.get(e.getKey())))
        .map(e -> e.getKey().getFileName())
        .toList();
  }

  private static ImmutableMap<Path, HashCode> look(Path folder) {
    return Folders.files(folder, f -> f.toString().endsWith(".db")).stream()
        .collect(ImmutableMap.toImmutableMap(f -> f, H2Files::state));
  }

  private static HashCode state(Path file) {
    try {
      return MoreFiles.asByteSource(file).hash(Hashing.sha256());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
