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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.files;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FaultLog;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMapBuilder;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.FilesOnDisk.GenerationName;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.Usage;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.ValueTable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.atomic.LongAdder;

/**
 * The maker of one store's generations: creates and opens them, and holds what they share.
 *
 * @param cache name of the store's cache
 * @param maxBytes that a file may grow to
 * @param faults counts and logs the faults of the disk
 * @param maxValue bytes of the largest value that may be put
 * @param oldValuesStayValid whether a key names what its value is made from
 * @param evictions counts values evicted to make room
 * @param damaged counts records that are found damaged when segments are repaired or copied
 */
public record GenerationMaker(
    String cache,
    long maxBytes,
    FaultLog faults,
    FilesOnDisk files,
    Usage usage,
    long maxValue,
    boolean oldValuesStayValid,
    LongAdder evictions,
    LongAdder damaged) {
  /** Creates the first generation of a store, empty and under its final name. */
  public Generation first(long bytes) throws IOException {
    GenerationName name = files.generation(1, bytes, Geometry.DEFAULT_BYTES_PER_SLOT);
    return create(name, name.path());
  }

  /**
   * Opens a generation.
   *
   * @param state of its file, after {@link FileState#takeOver}
   */
  public Generation open(GenerationName name, FileState state) throws IOException {
    return generation(
        name,
        RecordMapBuilder.open(files.disk, name.path(), name.geometry(), state, damaged),
        /* installed= */ true);
  }

  /** Creates a generation that is to replace another one. */
  Generation next(GenerationName name) throws IOException {
    // A smaller file keeps the values used most.
    usage.load();
    files.disk.delete(name.growingPath());
    return create(name, name.growingPath());
  }

  private Generation create(GenerationName name, Path path) throws IOException {
    return generation(
        name,
        RecordMapBuilder.create(files.disk, path, name.statePath(), name.geometry()),
        path.equals(name.path()));
  }

  private Generation generation(GenerationName name, RecordMap map, boolean installed) {
    return new Generation(
        files.disk,
        name,
        new ValueTable(map, maxValue, oldValuesStayValid, usage, evictions),
        installed);
  }
}
