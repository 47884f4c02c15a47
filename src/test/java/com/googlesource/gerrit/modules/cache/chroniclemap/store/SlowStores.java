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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Stores on a disk that takes longer to make a file than a store lets its callers wait. */
public final class SlowStores {
  private static final long NANOS = TimeUnit.MILLISECONDS.toNanos(700);

  private SlowStores() {}

  /** Opens a folder of stores on such a disk. */
  public static StoreDirectory open(Path folder) throws StoreUnavailableException {
    return StoreDirectory.open(folder, new SlowDisk(), System::currentTimeMillis);
  }

  private static final class SlowDisk extends Disk {
    @Override
    public void mapping(Path file) {
      if (file.toString().endsWith(".growing")) {
        LockSupport.parkNanos(NANOS);
      }
    }
  }
}
