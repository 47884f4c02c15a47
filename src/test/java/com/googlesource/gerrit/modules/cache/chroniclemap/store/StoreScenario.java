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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Answer;
import java.nio.file.Files;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;

/**
 * The operations from which Lincheck makes its scenarios; it makes an object of this class for each
 * run of one. They share a store, as making one takes longer than a run; each run begins without
 * values, in a file that has not all of its disk.
 */
@Param(name = "key", gen = IntGen.class, conf = "0:2")
public final class StoreScenario {
  /** Null before the first run. */
  private static CheckedStore shared;

  private static long growths;

  /** Begins a run. */
  public StoreScenario() throws Exception {
    begin();
  }

  private static void begin() throws Exception {
    if (shared == null || shared.isFullGrown()) {
      closeShared();
      shared = new CheckedStore(Files.createTempDirectory("lincheck").resolve("stores"));
    }
    for (int key = 0; key < CheckedStore.KEYS; key++) {
      var unused = shared.remove(key);
    }
  }

  /** Ends the last run. */
  static void closeShared() throws Exception {
    if (shared != null) {
      shared.flush();
      shared.checkNothingLost();
      growths += shared.growths();
      shared.close();
      shared = null;
    }
  }

  /** How often a file took disk in the runs that {@link #closeShared} has ended. */
  static long growths() {
    return growths;
  }

  @Operation
  public Answer put(@Param(name = "key") int key) {
    return shared.put(key);
  }

  @Operation
  public Answer read(@Param(name = "key") int key) {
    return shared.read(key);
  }

  @Operation
  public Answer remove(@Param(name = "key") int key) {
    return shared.remove(key);
  }

  @Operation
  public Answer load(@Param(name = "key") int key) {
    return shared.load(key);
  }

  @Operation
  public Answer clear() {
    return shared.clear();
  }

  @Operation
  public void fill() {
    shared.fill();
  }

  @Operation
  public void flush() {
    shared.flush();
  }
}
