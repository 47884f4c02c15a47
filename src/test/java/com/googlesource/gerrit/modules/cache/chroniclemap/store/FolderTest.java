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

import static com.google.common.truth.Truth.assertWithMessage;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.nio.file.Path;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.io.TempDir;

/** A folder of stores for each test, and the store that it uses. */
abstract class FolderTest {
  @TempDir Path temp;

  /** Closed after the test. */
  @AutoClose StoreDirectory directory;

  Store store;

  Path folder() {
    return temp.resolve("stores");
  }

  /** The clock of the stores. */
  long now() {
    return System.currentTimeMillis();
  }

  /** Opens the folder, which is closed before if it is open. */
  final void openFolder(Disk disk) throws Exception {
    if (directory != null) {
      directory.close();
    }
    directory = StoreDirectory.open(folder(), disk, this::now);
  }

  /** Opens the folder and begins to open a store in it. */
  final void begin(Disk disk, StoreSettings settings) throws Exception {
    openFolder(disk);
    store = directory.openStore(settings);
  }

  /** Opens the folder and a store in it, as a server does that starts, or starts again. */
  final void start(Disk disk, StoreSettings settings) throws Exception {
    begin(disk, settings);
    store.awaitOpened();
  }

  final void start(StoreSettings settings) throws Exception {
    start(Disk.REAL, settings);
  }

  /** How many of the values of some keys are found, each of which must be the right one. */
  static int found(Store store, int from, int to, IntFunction<byte[]> values) {
    int found = 0;
    for (int i = from; i < to; i++) {
      Value value = store.read(TestStores.key(i));
      if (value != null) {
        assertWithMessage("key %s", i).that(value.bytes()).isEqualTo(values.apply(i));
        found++;
      }
    }
    return found;
  }
}
