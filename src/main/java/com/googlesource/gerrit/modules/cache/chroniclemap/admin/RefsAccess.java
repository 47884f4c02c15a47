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

package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import com.google.inject.Binding;
import com.google.inject.Inject;
import com.google.inject.Injector;
import com.google.inject.Key;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.RefsInventory;
import java.util.Optional;

/** The inventory of parsed ref lists, which is there if the other module is installed. */
@Singleton
final class RefsAccess {
  private final Optional<RefsInventory> inventory;

  /**
   * Looks for it.
   *
   * @param injector the server's, a child of the one that the other module is in
   */
  @Inject
  RefsAccess(Injector injector) {
    Binding<RefsInventory> binding = injector.getExistingBinding(Key.get(RefsInventory.class));
    this.inventory = Optional.ofNullable(binding).map(bound -> bound.getProvider().get());
  }

  Optional<RefsInventory> inventory() {
    return inventory;
  }
}
