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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.Set;

/**
 * One file of a store while it is mapped, and the gate that keeps it mapped while anyone reads it.
 *
 * <p>Reads may come from any thread at any time, also after the file was unmapped: then they find
 * nothing; so may {@link #markVoid}. Writes are for the holder of the store's writer lock.
 */
final class Generation {
  private final Disk disk;
  private final StoreFiles.GenerationFile name;
  private final ValueFile values;
  private final Gate gate = new Gate();

  Generation(Disk disk, StoreFiles.GenerationFile name, ValueFile values) {
    this.disk = disk;
    this.name = name;
    this.values = values;
  }

  StoreFiles.GenerationFile name() {
    return name;
  }

  /** For the writer. */
  ValueFile values() {
    return values;
  }

  /**
   * Returns null if there is no value or the file was unmapped, {@link Value#VOID} if it is void.
   */
  Value read(byte[] key, long nowMillis) throws DamagedEntryException {
    long stamp = gate.enter();
    if (stamp == 0) {
      return null;
    }
    try {
      return values.read(key, nowMillis);
    } finally {
      gate.leave(stamp);
    }
  }

  /** Makes a value void, if there is one; for any thread. */
  void markVoid(byte[] key) {
    long stamp = gate.enter();
    if (stamp != 0) {
      try {
        values.markVoid(key);
      } finally {
        gate.leave(stamp);
      }
    }
  }

  /** Waits for the readers inside and unmaps the file. */
  void unmap() {
    gate.shut();
    values.file().close();
  }

  /** Opens the file a second time, for reading it past its mapping. */
  FileChannel openChannel() throws IOException {
    return disk.open(name.path(), Set.of(StandardOpenOption.READ));
  }

  /** Unmaps the file and says on disk that it is in order. */
  void closeCleanly() throws IOException {
    unmap();
    // A newer version of a plugin's cache may have removed the file of this one.
    if (disk.exists(name.path())) {
      CleanMarker.write(
          disk, name.path(), values.file().fileBytes(), values.entries(), values.liveBytes());
    }
  }
}
