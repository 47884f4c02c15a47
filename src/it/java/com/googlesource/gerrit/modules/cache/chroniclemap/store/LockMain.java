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

import java.nio.file.Path;

/** Says whether it can lock a folder, and keeps the lock until it is told a line. */
final class LockMain {
  private LockMain() {}

  public static void main(String[] args) throws Exception {
    try (StoreDirectory directory = StoreDirectory.open(Path.of(args[0]))) {
      System.out.println("locked " + directory.path);
      var unused = System.in.read();
    } catch (StoreUnavailableException e) {
      System.out.println("refused: " + e.getMessage());
    }
  }
}
