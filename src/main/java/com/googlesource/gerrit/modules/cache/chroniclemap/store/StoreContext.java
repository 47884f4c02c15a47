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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FaultLog;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.FilesOnDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.pending.PendingWrites;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.pending.Tickets;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.Usage;
import java.util.function.LongSupplier;

/** What all parts of one store share. */
final class StoreContext {
  final StoreSettings settings;
  final FilesOnDisk files;
  final StoreThreads threads;
  final DiskBudget budget;

  /** Milliseconds since the epoch. */
  final LongSupplier clock;

  final StoreCounters counters = new StoreCounters();
  final Tickets tickets = new Tickets();
  final PendingWrites pending = new PendingWrites();
  final WriterLock lock = new WriterLock();
  final FaultLog faults;
  final MaxAge maxAge;
  final Usage usage;

  StoreContext(
      StoreSettings settings,
      FilesOnDisk files,
      StoreThreads threads,
      DiskBudget budget,
      LongSupplier clock) {
    this.settings = settings;
    this.files = files;
    this.threads = threads;
    this.budget = budget;
    this.clock = clock;
    this.faults = new FaultLog(settings.name());
    this.maxAge = new MaxAge(settings.maxAge(), clock);
    this.usage = new Usage(clock, threads::maintain, files.disk(), files.usage(), faults);
  }
}
