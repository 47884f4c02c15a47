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
import com.google.common.collect.Maps;
import com.google.common.flogger.FluentLogger;
import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.gerrit.extensions.registration.RegistrationHandle;
import com.google.gerrit.metrics.CallbackMetric;
import com.google.gerrit.metrics.CallbackMetric0;
import com.google.gerrit.metrics.MetricMaker;
import com.google.inject.Inject;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** A publisher of metrics, which exist while the server runs. */
abstract class PublishedMetrics implements LifecycleListener {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  @Inject MetricMaker maker;

  /** The registrations that are removed when the server stops. */
  final List<RegistrationHandle> handles = new ArrayList<>();

  /** Publishes no earlier, as reporters ignore a metric that had no value when they found it. */
  @Override
  public final void start() {
    try {
      publish();
    } catch (RuntimeException e) {
      logger.atSevere().withCause(e).log(
          "Cannot publish the metrics of %s; a restart of the server tries again",
          getClass().getSimpleName());
    }
  }

  /** Makes all metrics, and adds each of them to {@link #handles}. */
  abstract void publish();

  /** Has all of these metrics updated at once when one is read, and removed at the end. */
  final void updateTogether(Collection<? extends CallbackMetric<?>> metrics, Runnable trigger) {
    handles.addAll(metrics);
    handles.add(maker.newTrigger(ImmutableSet.copyOf(metrics), trigger));
  }

  /** Publishes figures of a report, all of which are read at once. */
  final <R> void publishAll(List<Metric<R>> all, Supplier<R> report) {
    Map<Metric<R>, CallbackMetric0<Long>> metrics =
        Maps.toMap(all, m -> maker.newCallbackMetric(m.name(), Long.class, m.description()));
    updateTogether(
        metrics.values(),
        () -> {
          R figures = report.get();
          metrics.forEach((metric, gauge) -> gauge.set(metric.of(figures)));
        });
  }

  @Override
  public final void stop() {
    handles.forEach(RegistrationHandle::remove);
    handles.clear();
  }
}
