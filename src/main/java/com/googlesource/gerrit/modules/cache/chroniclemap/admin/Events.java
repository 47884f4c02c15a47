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

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Streams;
import com.google.gerrit.common.Nullable;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * The last 200 events of the caches and ref lists since the server's start that an administrator
 * should know. An event is a rise of a figure since the last look at it, a file that was not found
 * as it was left, or work that has ended. Guarded by the {@link History}.
 */
final class Events {
  static final int MAX_EVENTS = 200;

  /** The subject of events of parsed ref lists, which is no name of a cache. */
  static final String REFS = "packed-refs";

  /** Rises of one figure at most this far apart are one event. */
  private static final long ONE_EVENT_MILLIS = Duration.ofMinutes(10).toMillis();

  /** The figures whose rises are events. */
  private static final ImmutableSet<String> RISES =
      ImmutableSet.copyOf(
          Splitter.on(' ')
              .split(
                  "failed evicted flushes damaged faults not_stored serializer_errors left_to_jgit"
                      + " no_memory failures"));

  /** Kinds of events that are ends of work. */
  private static final ImmutableSet<String> WORK = ImmutableSet.of("verify", "repair");

  /** How many of these stay when there are too many events. */
  static final int MAX_WORK = 100;

  /** Kinds of events in the course of normal work. */
  private static final ImmutableSet<String> NORMAL = ImmutableSet.of("evicted", "flushes");

  /**
   * An event. The names are also those in JSON, which are documented.
   *
   * @param from when the event was first seen, or work began, in milliseconds since the epoch
   * @param to when the event was last seen, or work ended
   * @param subject a cache, or {@link #REFS}
   * @param kind the name of the figure that rose, how a file was found, or the name of the work
   * @param text the kind, for people
   * @param count by how much the figure rose
   * @param by the user who started work; null for other events
   * @param result of work; null for other events
   * @param task the id of the work's task; null for other events
   */
  record Event(
      long from,
      long to,
      String subject,
      String kind,
      String text,
      long count,
      @Nullable String by,
      @Nullable JsonObject result,
      @Nullable String task) {
    /** An event that is no end of work. */
    Event(long from, long to, String subject, String kind, String text, long count) {
      this(from, to, subject, kind, text, count, null, null, null);
    }

    /** In JSON, names and texts are these; those that are null are left out. */
    JsonObject json() {
      JsonObject out = CachesJson.GSON.toJsonTree(this).getAsJsonObject();
      out.addProperty("from", CachesJson.timestamp(from));
      out.addProperty("to", CachesJson.timestamp(to));
      return out;
    }

    /** Returns this rise and a later one as one event. */
    Event and(Event later) {
      return new Event(from, later.to, subject, kind, text, count + later.count);
    }
  }

  private final Deque<Event> all = new ArrayDeque<>();
  private final Map<String, StartReport> starts = new HashMap<>();

  /** Adds the events between two looks at the figures. */
  void find(@Nullable Sample before, Sample now, List<CacheReport> reports) {
    for (CacheReport report : reports) {
      StartReport start = report.disk().start();
      if (!start.equals(starts.put(report.name(), start)) && !start.told().isEmpty()) {
        String kind = CachesJson.lower(start.kind());
        add(new Event(now.millis(), now.millis(), report.name(), kind, start.told(), 1));
      }
    }
    for (String name : now.caches().keySet()) {
      findRises(name, before, now, sample -> sample.caches().get(name));
    }
    if (now.refs() != null) {
      findRises(REFS, before, now, Sample::refs);
    }
  }

  private void findRises(
      String subject, @Nullable Sample before, Sample now, Function<Sample, Figures> figures) {
    @Nullable Figures last = before == null ? null : figures.apply(before);
    Figures current = figures.apply(now);
    for (String kind : RISES) {
      long value = current.get(kind);
      long old = last == null ? 0 : last.get(kind);
      // The figures of a plugin's cache start again at 0 when the plugin is loaded again.
      long rise = value < old ? value : value - old;
      if (rise > 0) {
        String text = current.meaning(kind);
        addRise(new Event(now.millis(), now.millis(), subject, kind, text, rise));
      }
    }
  }

  private void addRise(Event event) {
    Optional<Event> last =
        all.stream()
            .filter(old -> old.subject.equals(event.subject) && old.kind.equals(event.kind))
            .findFirst()
            .filter(old -> event.to - old.to <= ONE_EVENT_MILLIS);
    last.ifPresent(all::remove);
    add(last.map(old -> old.and(event)).orElse(event));
  }

  void add(Event event) {
    all.addFirst(event);
    if (all.size() > MAX_EVENTS) {
      // What comes by the hour is dropped first, but never the new one.
      boolean isMostlyWork = all.stream().filter(e -> WORK.contains(e.kind)).count() > MAX_WORK;
      ImmutableSet<String> first = isMostlyWork ? WORK : NORMAL;
      Event dropped =
          Streams.findLast(all.stream().skip(1).filter(e -> first.contains(e.kind)))
              .orElseGet(all::getLast);
      all.remove(dropped);
    }
  }

  /** Returns all events, the newest one first. */
  ImmutableList<Event> all() {
    return ImmutableList.copyOf(all);
  }
}
