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

import com.google.common.collect.ImmutableSet;
import com.google.common.flogger.FluentLogger;
import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.gerrit.extensions.registration.RegistrationHandle;
import com.google.gerrit.metrics.CallbackMetric;
import com.google.gerrit.metrics.CallbackMetric1;
import com.google.gerrit.metrics.Description;
import com.google.gerrit.metrics.Field;
import com.google.gerrit.metrics.MetricMaker;
import com.google.gerrit.server.logging.Metadata;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Publishes all {@link CacheMetric}s of all caches while the server runs. They are read when
 * somebody looks, all at once; caches of plugins come and go with their plugins.
 */
@Singleton
final class CacheMetrics implements LifecycleListener {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** The one that is not of a single cache: there are no others then. */
  static final String MEMORY_ONLY = "caches/chroniclemap/memory_only";

  private static final Field<String> CACHE =
      Field.ofString("cache_name", Metadata.Builder::cacheName)
          .description("The name of the cache.")
          .build();

  private final MetricMaker maker;
  private final CacheInventory inventory;
  private final List<RegistrationHandle> handles = new ArrayList<>();

  @Inject
  CacheMetrics(MetricMaker maker, CacheInventory inventory) {
    this.maker = maker;
    this.inventory = inventory;
  }

  /** Not earlier: metrics without a single cache would never be looked at again. */
  @Override
  public void start() {
    try {
      publish();
    } catch (RuntimeException e) {
      logger.atSevere().withCause(e).log("The metrics of the caches are not published");
    }
  }

  private void publish() {
    handles.add(
        maker.newCallbackMetric(
            MEMORY_ONLY,
            Long.class,
            new Description("1 if all caches are kept in memory only").setGauge().setUnit("flag"),
            () -> inventory.memoryOnlyReason().isPresent() ? 1L : 0L));
    Map<CacheMetric, CallbackMetric1<String, Long>> metrics = new LinkedHashMap<>();
    for (CacheMetric metric : CacheMetric.ALL) {
      metrics.put(
          metric, maker.newCallbackMetric(metric.name(), Long.class, metric.description(), CACHE));
    }
    ImmutableSet<CallbackMetric<?>> all = ImmutableSet.copyOf(metrics.values());
    handles.addAll(all);
    handles.add(
        maker.newTrigger(
            all,
            () -> {
              for (CacheReport report : inventory.reports()) {
                String cache = nameInGerrit(report.name());
                metrics.forEach((metric, gauge) -> gauge.set(cache, metric.of(report)));
              }
              all.forEach(CallbackMetric::prune);
            }));
  }

  @Override
  public void stop() {
    handles.forEach(RegistrationHandle::remove);
    handles.clear();
  }

  /** The name under which Gerrit's own metrics have a cache: a plugin's is otherwise there. */
  private static String nameInGerrit(String name) {
    int dot = name.lastIndexOf('.');
    return dot < 0 ? name : "plugin/" + name.substring(0, dot) + "/" + name.substring(dot + 1);
  }
}
