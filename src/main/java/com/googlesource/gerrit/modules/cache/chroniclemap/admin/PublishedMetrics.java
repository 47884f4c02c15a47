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
import com.google.gerrit.metrics.MetricMaker;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** Metrics that are there while the server runs. */
abstract class PublishedMetrics implements LifecycleListener {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  final MetricMaker maker;
  private final List<RegistrationHandle> handles = new ArrayList<>();

  PublishedMetrics(MetricMaker maker) {
    this.maker = maker;
  }

  /** Not earlier: metrics without a single value would never be looked at again. */
  @Override
  public final void start() {
    try {
      publish();
    } catch (RuntimeException e) {
      logger.atSevere().withCause(e).log("%s: not published", getClass().getSimpleName());
    }
  }

  /** Makes all metrics, and has each {@link #remove removed} at the end. */
  abstract void publish();

  final void remove(RegistrationHandle handle) {
    handles.add(handle);
  }

  /** Has all of these read at once when somebody looks at one. */
  final void read(Collection<? extends CallbackMetric<?>> metrics, Runnable trigger) {
    metrics.forEach(this::remove);
    remove(maker.newTrigger(ImmutableSet.copyOf(metrics), trigger));
  }

  @Override
  public final void stop() {
    handles.forEach(RegistrationHandle::remove);
    handles.clear();
  }
}
