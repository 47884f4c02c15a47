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

/** Stores for tests that must not depend on how fast the machine is. */
final class TestStores {
  private TestStores() {}

  /** Opens a store and waits until that is done, however long it takes. */
  static Store open(StoreDirectory directory, StoreSettings settings) throws Exception {
    Store store = directory.openStore(settings);
    store.awaitOpened();
    return store;
  }
}
