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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.scale;

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** What caches take of the disk. */
final class DiskUse {
  /** The limit of a cache, as a multiple of the bytes of its values. */
  static final double LIMIT_FACTOR = 1.6;

  /** As the same: a file of half the limit beside one of all of it. */
  private static final double ROOM_FACTOR = 2.5;

  /** Room for a file of H2, which gives room back late. */
  static final double H2_ROOM_FACTOR = 5;

  private DiskUse() {}

  /** Room that a cache of this module with so many GB of values needs at most, in GB. */
  static double room(double gigabytes) {
    return gigabytes * ROOM_FACTOR;
  }

  /** Bytes of all files in a folder and those below, with their holes. */
  static long bytes(Path folder) throws IOException {
    long bytes = 0;
    for (Path file : Folders.files(folder, f -> true)) {
      try {
        bytes += Files.size(file);
      } catch (NoSuchFileException goneMeanwhile) {
        // It was just replaced: it takes nothing.
      }
    }
    return bytes;
  }

  /** Reads all files of a folder; what does not fit into memory leaves it again. */
  static void read(Path folder) throws IOException {
    for (Path file : Folders.files(folder, f -> true)) {
      var unused = Files.copy(file, OutputStream.nullOutputStream());
    }
  }
}
