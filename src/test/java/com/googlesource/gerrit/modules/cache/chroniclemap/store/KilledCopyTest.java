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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A copy for another limit that was not completed costs no value, whatever is left of it. */
@Timeout(120)
class KilledCopyTest extends FolderTest {
  private static final int COUNT = 20;
  private static final byte[] VALUE = new byte[100];
  private static final long LIMIT = 4 << 20;
  private static final long LARGER = 8 << 20;

  /** A folder with a file, and a larger one that is not complete. */
  private Path killed;

  private static StoreSettings settings(long limit) {
    return TestStores.settings("cache", limit, OldValues.SECRET);
  }

  private void assertAllThere() {
    assertThat(found(store, 0, COUNT, i -> VALUE)).isEqualTo(COUNT);
  }

  @BeforeEach
  void killACopy() throws Exception {
    start(settings(LIMIT));
    for (int i = 0; i < COUNT; i++) {
      store.put(key(i), VALUE, now());
    }
    store.flush();
    killed = temp.resolve("killed");
    start(
        new TestDisk().before(Call.COMPLETE, file -> TestStores.copy(folder(), killed)),
        settings(LARGER));
    assertAllThere();
  }

  private void startIn(Path folder, Disk disk, long limit) throws Exception {
    directory.close();
    directory = StoreDirectory.open(folder, disk, this::now);
    store = TestStores.open(directory, settings(limit));
  }

  private static void failFor(Path file, long limit) throws IOException {
    if (file.toString().contains("-" + limit + "-") && file.toString().endsWith(".chm")) {
      throw new IOException("Input/output error (a test)");
    }
  }

  @Test
  void theNextStartIsKilledAsWell() throws Exception {
    List<Path> left = new ArrayList<>();
    TestDisk disk = TestStores.ofCopies();
    disk.before(
        Call.DELETE, file -> left.add(TestStores.copy(killed, temp.resolve("left" + left.size()))));
    startIn(killed, disk, LARGER);
    assertAllThere();
    assertThat(left).isNotEmpty();
    for (Path folder : left) {
      startIn(folder, TestStores.ofCopies(), LARGER);
      assertAllThere();
    }
  }

  @Test
  void itCannotBeDeleted() throws Exception {
    startIn(killed, TestStores.ofCopies().before(Call.DELETE, f -> failFor(f, LARGER)), LIMIT);
    assertAllThere();
    startIn(killed, TestStores.ofCopies(), LARGER);
    assertAllThere();
  }

  @Test
  void itCanNeitherBeMadeNorDeleted() throws Exception {
    boolean[] isMade = new boolean[1];
    TestDisk disk =
        new TestDisk()
            .before(
                Call.MAPPING,
                file -> {
                  isMade[0] |= file.toString().contains("-" + LIMIT + "-");
                  failFor(file, LIMIT);
                })
            .before(
                Call.DELETE,
                file -> {
                  if (isMade[0]) {
                    failFor(file, LIMIT);
                  }
                });
    start(disk, settings(LIMIT));
    assertAllThere();
    start(settings(LIMIT));
    assertAllThere();
  }
}
