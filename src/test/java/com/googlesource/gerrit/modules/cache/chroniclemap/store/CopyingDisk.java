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
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Copies a folder before some calls of the disk: what is left if the process is killed there. */
final class CopyingDisk extends TestDisk {
  private final Path folder;
  private final Path temp;

  /** The copies, in their order. */
  final List<Path> copies = new CopyOnWriteArrayList<>();

  volatile boolean isOn;

  CopyingDisk(Path folder, Path temp, Call... calls) {
    this.folder = folder;
    this.temp = temp;
    for (Call call : calls) {
      before(call, file -> copy());
    }
  }

  synchronized void copy() throws IOException {
    if (isOn) {
      copies.add(TestStores.copy(folder, temp.resolve("copy" + copies.size())));
    }
  }
}
