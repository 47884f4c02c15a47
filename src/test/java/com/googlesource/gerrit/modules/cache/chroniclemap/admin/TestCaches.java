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

import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.CheckReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Caches of which nothing is there but their figures. */
record TestCaches(
    Optional<Path> directory, Optional<String> memoryOnlyReason, List<CacheReport> reports)
    implements CacheInventory {
  @Override
  public Optional<SharedReport> shared() {
    return Optional.empty();
  }

  @Override
  public Optional<CheckReport> checkShared() {
    return Optional.empty();
  }

  @Override
  public VerifyReport verify(String name, boolean repair, Progress progress) {
    throw new AssertionError();
  }

  @Override
  public ImportReport importFromH2(String name, boolean dryRun, Progress progress) {
    throw new AssertionError();
  }
}
