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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FolderDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.LostContentException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Touches;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A file fails in the moment in which a larger one takes its place. */
@Timeout(60)
class GiveUpRaceTest {
  private static final StoreSettings SETTINGS =
      new StoreSettings("cache", 1, 16 << 20, Optional.empty());

  @TempDir Path temp;
  @AutoClose private StoreDirectory directory;
  private Store store;

  /** Finds that the file fails. */
  private final Thread reader = new Thread(() -> store.read(key(0)), "reader");

  /** The empty file gets its name when the reader waits to give the old one up. */
  private final class RacingDisk extends FolderDisk {
    RacingDisk() {
      super(Disk.REAL);
    }

    @Override
    public void move(Path from, Path to) throws IOException {
      if (from.toString().endsWith(".growing") && reader.getState() == Thread.State.NEW) {
        reader.start();
        while (reader.getState() != Thread.State.BLOCKED) {
          Thread.onSpinWait();
        }
      }
      super.move(from, to);
    }

    @Override
    public void mapping(Path file) throws IOException {
      super.mapping(file);
      Touches.tell(file, this::touching);
    }

    private void touching() {
      if (Thread.currentThread() == reader) {
        throw lost();
      }
    }
  }

  private static Error lost() {
    return new InternalError(Touches.failure().getMessage(), new LostContentException("a test"));
  }

  private void fill() throws Exception {
    store = TestStores.open(directory, SETTINGS);
    store.put(key(1), new byte[1000], System.currentTimeMillis());
    store.clear();
    store.put(key(1), new byte[1000], System.currentTimeMillis());
    store.put(key(2), new byte[1000], System.currentTimeMillis());
    store.flush();
    reader.join();
  }

  @Test
  void aValueRemovedAfterThatDoesNotComeBack() throws Exception {
    Path folder = temp.resolve("stores");
    directory = StoreDirectory.open(folder, new RacingDisk(), System::currentTimeMillis);
    fill();
    // The reader waited for the switch, so it found fault with a file that was replaced.
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(store.stats().counts().faults.sum()).isEqualTo(1);
    store.remove(key(1));
    directory.close();

    directory = StoreDirectory.open(folder);
    store = TestStores.open(directory, SETTINGS);
    assertThat(store.read(key(1))).isNull();
    assertThat(store.read(key(2))).isNotNull();
  }
}
