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

import static com.google.common.truth.Truth.assertThat;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What has to be on disk before anyone relies on it. */
@Timeout(60)
@Tag("locale")
class StoreFilesTest {
  @TempDir Path temp;

  private static final DiscardMarkers.Notes NO_NOTES =
      new DiscardMarkers.Notes() {
        @Override
        public boolean isNoted(String store, Object except) {
          return false;
        }

        @Override
        public void add(Object by, String store) throws IOException {
          throw new IOException("a test");
        }

        @Override
        public void remove(Object by, String store) {}
      };

  @Test
  void aMarkForDiscardStaysIfTheMachineStops() throws Exception {
    List<Call> calls = new ArrayList<>();
    TestDisk disk = new TestDisk();
    for (Call call : List.of(Call.CREATE, Call.DELETE, Call.SYNC, Call.MOVE, Call.OPEN)) {
      disk.before(call, file -> calls.add(call));
    }
    StoreFiles files = new StoreFiles(disk, temp, NO_NOTES, "cache", 1);
    files.markers.mark();
    files.markers.mark();
    assertThat(calls).containsExactly(Call.CREATE, Call.SYNC, Call.CREATE).inOrder();
  }
}
