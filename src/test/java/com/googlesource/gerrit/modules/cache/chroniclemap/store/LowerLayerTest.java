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

import static com.google.common.truth.Truth.assertThat;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport.Kind;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Stores in a lower layer of an overlay file system, such as in the image of a container: a file is
 * copied to the upper layer, with another inode and time of creation, once it is opened for
 * writing.
 */
@Timeout(60)
class LowerLayerTest {
  private static final int VALUES = 300;
  private static final StoreSettings SETTINGS = settings("cache", 16 << 20);

  @TempDir Path temp;

  /** Files that are in the lower layer alone. */
  private final Set<Path> lower = ConcurrentHashMap.newKeySet();

  private final Disk overlay =
      new Disk() {
        @Override
        public FileChannel open(Path file, Set<? extends OpenOption> options) throws IOException {
          if (options.contains(StandardOpenOption.WRITE)) {
            lower.remove(file);
          }
          return super.open(file, options);
        }

        @Override
        public MappedByteBuffer map(Path file) throws IOException {
          lower.remove(file);
          return super.map(file);
        }

        @Override
        public void mapping(Path file) throws IOException {
          lower.remove(file);
        }

        @Override
        public String fileKey(Path file) throws IOException {
          return super.fileKey(file) + (lower.contains(file) ? " lower" : "");
        }
      };

  private Kind startAndFindAll(Disk disk) throws Exception {
    try (StoreDirectory directory = StoreDirectory.open(temp, disk, System::currentTimeMillis)) {
      Store store = TestStores.open(directory, SETTINGS);
      for (int i = 1; i <= VALUES; i++) {
        assertThat(TestValues.numberOf(store.read(key(i)))).isEqualTo(i);
      }
      assertThat(store.stats().counts().faults.sum()).isEqualTo(0);
      // The same again, from the upper layer.
      store.put(key(1), TestValues.of(1), System.currentTimeMillis());
      return store.stats().start().kind();
    }
  }

  @Test
  void allValuesAreFound() throws Exception {
    try (StoreDirectory directory = StoreDirectory.open(temp)) {
      Store store = TestStores.open(directory, SETTINGS);
      for (int i = 1; i <= VALUES; i++) {
        store.put(key(i), TestValues.of(i), System.currentTimeMillis());
      }
    }
    lower.addAll(TestStores.filesIn(temp));
    assertThat(startAndFindAll(overlay)).isEqualTo(Kind.CLEAN);
    assertThat(startAndFindAll(overlay)).isEqualTo(Kind.CLEAN);
  }
}
