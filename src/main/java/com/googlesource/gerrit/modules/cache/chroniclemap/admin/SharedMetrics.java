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

import static com.google.gerrit.metrics.Description.Units.BYTES;

import com.google.common.collect.ImmutableList;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedCounts;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedReport;
import java.util.function.ToLongFunction;

/**
 * The publisher of the metrics of values that are shared with other servers. There are none if no
 * values are.
 */
@Singleton
public final class SharedMetrics extends PublishedMetrics {
  /** All metrics. Their names are documented and never change. */
  static final ImmutableList<Metric<SharedReport>> ALL = all();

  @Inject private CacheInventory inventory;

  private static ImmutableList<Metric<SharedReport>> all() {
    Metric.Table<SharedReport> t = new Metric.Table<>("shared/chroniclemap/", "Shared values: ");
    ToLongFunction<SharedReport> unreachable = r -> r.failure().isEmpty() ? 0 : 1;
    String behind = "how much newer the newest record is than the last one read";
    t.gauge("unreachable", "1 if there is no connection to the server", "flag", unreachable);
    t.gauge("full", "1 if the server has no room", "flag", r -> r.isFull() ? 1 : 0);
    t.gauge("behind_records", "records yet to be read", "records", SharedReport::behindRecords);
    t.gauge("behind_millis", behind, "millis", SharedReport::behindMillis);
    t.gauge("log_bytes", "size of the log on its server", BYTES, SharedReport::logBytes);
    t.gauge("queued", "values yet to be published", "values", SharedReport::queued);
    t.counts(new SharedCounts(), SharedReport::counts);
    return t.all();
  }

  @Override
  void publish() {
    if (inventory.shared().isPresent()) {
      publishAll(ALL, () -> inventory.shared().orElseThrow());
    }
  }
}
