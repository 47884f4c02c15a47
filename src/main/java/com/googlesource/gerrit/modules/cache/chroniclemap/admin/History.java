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

import com.google.common.collect.EvictingQueue;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.Lists;
import com.google.common.flogger.FluentLogger;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.RefsInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.transport.TransportCounts;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * The history of the figures over the last eight hours, for the page and the REST API. One thread
 * takes a sample every 30 seconds and keeps the last 960 of them on the heap. Safe for any thread.
 */
@Singleton
final class History implements LifecycleListener {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  static final Duration INTERVAL = Duration.ofSeconds(30);
  static final int MAX_SAMPLES = 960;

  private final Supplier<List<CacheReport>> caches;
  private final Supplier<Figures> refs;
  private final LongSupplier clock;
  private final ScheduledExecutorService executor =
      Executors.newSingleThreadScheduledExecutor(
          Thread.ofPlatform().daemon().name(AdminPlugin.NAME + "-history").factory());

  // All guarded by this.
  @Nullable private Sample seen;
  private final EvictingQueue<Sample> samples = EvictingQueue.create(MAX_SAMPLES);
  private final Events events = new Events();

  @Inject
  History(
      Optional<CacheInventory> caches, Optional<RefsInventory> refs, TransportCounts transport) {
    this(
        () -> caches.map(CacheInventory::reports).orElse(null),
        () ->
            refs.filter(RefsInventory::isEnabled)
                .map(installed -> RefsMetrics.read(installed.totals(), transport))
                .orElse(null),
        System::currentTimeMillis);
  }

  /** Takes suppliers of figures, which return null where a module is not installed. */
  History(Supplier<List<CacheReport>> caches, Supplier<Figures> refs, LongSupplier clock) {
    this.caches = caches;
    this.refs = refs;
    this.clock = clock;
  }

  @Override
  public void start() {
    var unused =
        executor.scheduleWithFixedDelay(
            () -> guard(this::sample), 0, INTERVAL.toMillis(), TimeUnit.MILLISECONDS);
  }

  @Override
  public void stop() {
    executor.shutdownNow();
  }

  private static void guard(Runnable work) {
    try {
      work.run();
    } catch (RuntimeException | Error e) {
      logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.MINUTES).log(
          "Cannot read the figures; the page and its history lack them");
    }
  }

  /** Takes a sample. */
  synchronized void sample() {
    samples.add(read());
  }

  /** Finds the events until now, which otherwise have the time of the next sample. */
  void look() {
    guard(
        () -> {
          var unused = read();
        });
  }

  /**
   * Reads and compares the figures, one at a time: older ones after newer ones look like a rise.
   */
  private synchronized Sample read() {
    @Nullable List<CacheReport> reports = caches.get();
    Sample now = Sample.of(clock.getAsLong(), reports, refs.get());
    events.find(seen, now, reports == null ? List.of() : reports);
    seen = now;
    return now;
  }

  synchronized void add(Events.Event event) {
    events.add(event);
  }

  /** Returns all events, the newest one first. */
  synchronized ImmutableList<Events.Event> events() {
    return events.all();
  }

  /** Returns all samples, the newest one last. */
  synchronized ImmutableList<Sample> samples() {
    return ImmutableList.copyOf(samples);
  }

  /**
   * When the samples of the last minutes begin, and the figures of each cache then, as JSON. An
   * empty object before the first sample.
   */
  JsonObject since(int minutes) {
    long from = clock.getAsLong() - Duration.ofMinutes(minutes).toMillis();
    JsonObject out = new JsonObject();
    samples().stream()
        .filter(sample -> sample.millis() >= from)
        .findFirst()
        .ifPresent(
            first -> {
              out.addProperty("from", CachesJson.timestamp(first.millis()));
              out.addProperty("to", CachesJson.timestamp(clock.getAsLong()));
              JsonObject caches = new JsonObject();
              first
                  .caches()
                  .forEach(
                      (name, all) ->
                          caches.add(name, all.addTo(new JsonObject(), CachesJson::nameOf)));
              out.add("caches", caches);
            });
    return out;
  }

  /** The history of all caches together, of ref lists and of the process, as JSON. */
  JsonObject json() {
    ImmutableList<Sample> all = samples();
    JsonObject out = json(all, Sample::all, event -> true);
    out.add("refs", figures(all, Sample::refs));
    out.add("process", figures(all, Sample::process));
    return out;
  }

  /** The history of one cache, as JSON. */
  JsonObject json(String cache) {
    return json(
        samples(), sample -> sample.caches().get(cache), event -> event.subject().equals(cache));
  }

  private JsonObject json(
      List<Sample> samples, Function<Sample, Figures> caches, Predicate<Events.Event> isShown) {
    look();
    JsonObject out = new JsonObject();
    out.addProperty("interval_millis", INTERVAL.toMillis());
    out.add(
        "times",
        CachesJson.GSON.toJsonTree(
            Lists.transform(samples, sample -> CachesJson.timestamp(sample.millis()))));
    out.add("caches", figures(samples, caches));
    List<Events.Event> happened = events().stream().filter(isShown).toList();
    out.add("events", CachesJson.array(happened, Events.Event::json));
    return out;
  }

  /** An array for each figure, with null for the times at which it did not exist. */
  private static JsonObject figures(List<Sample> samples, Function<Sample, Figures> subject) {
    JsonObject out = new JsonObject();
    Optional<Figures> some = samples.stream().map(subject).filter(Objects::nonNull).findFirst();
    for (Metric<?> metric : some.map(Figures::metrics).orElse(ImmutableList.of())) {
      JsonArray values = new JsonArray();
      for (Sample sample : samples) {
        Figures figures = subject.apply(sample);
        values.add(figures == null ? null : (Number) figures.get(metric.shortName()));
      }
      out.add(metric.shortName(), values);
    }
    return out;
  }
}
