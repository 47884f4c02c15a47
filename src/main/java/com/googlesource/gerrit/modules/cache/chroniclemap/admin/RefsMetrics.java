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
import com.google.gerrit.metrics.CallbackMetric0;
import com.google.gerrit.metrics.MetricMaker;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.RefsInventory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Publishes all {@link RefsMetric}s while the server runs. They are read when somebody looks. */
@Singleton
final class RefsMetrics implements LifecycleListener {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private final MetricMaker maker;
  private final RefsInventory inventory;
  private final List<RegistrationHandle> handles = new ArrayList<>();

  @Inject
  RefsMetrics(MetricMaker maker, RefsInventory inventory) {
    this.maker = maker;
    this.inventory = inventory;
  }

  @Override
  public void start() {
    try {
      if (inventory.isEnabled()) {
        publish();
      }
    } catch (RuntimeException e) {
      logger.atSevere().withCause(e).log("The metrics of parsed ref lists are not published");
    }
  }

  private void publish() {
    Map<RefsMetric, CallbackMetric0<Long>> metrics = new LinkedHashMap<>();
    for (RefsMetric metric : RefsMetric.ALL) {
      metrics.put(metric, maker.newCallbackMetric(metric.name(), Long.class, metric.description()));
    }
    ImmutableSet<CallbackMetric<?>> all = ImmutableSet.copyOf(metrics.values());
    handles.addAll(all);
    handles.add(
        maker.newTrigger(
            all,
            () -> {
              RefsTotals totals = inventory.totals();
              metrics.forEach((metric, gauge) -> gauge.set(metric.of(totals)));
            }));
  }

  @Override
  public void stop() {
    handles.forEach(RegistrationHandle::remove);
    handles.clear();
  }
}
