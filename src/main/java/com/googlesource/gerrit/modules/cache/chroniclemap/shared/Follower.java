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

package com.googlesource.gerrit.modules.cache.chroniclemap.shared;

import com.google.common.collect.Maps;
import com.google.common.flogger.FluentLogger;
import com.google.gerrit.common.Nullable;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ImportResult;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The thread that reads the log and puts into the local stores what they lack. It starts where it
 * had got to, or at the beginning of the log if a store lacks what was read until then: because it
 * was empty when it was opened, or had no file for a while.
 *
 * <p>Its place is saved once a minute, as that of two minutes ago, because by then the stores have
 * been forced to disk. So after a crash of the machine nothing is left out.
 *
 * <p>Any thread may call, but for {@link #run}.
 */
final class Follower implements Runnable {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How many records to read at once: most have less than 64 KB, a few up to a megabyte. */
  private static final int RECORDS = 32;

  /** How long to wait for a record if there is none; less than a stop waits for this thread. */
  private static final Duration PATIENCE = Duration.ofMillis(250);

  /** How long to rest after all records were read, so that the next read finds several. */
  private static final long REST_MILLIS = 20;

  /** How often to ask for the state of the log. */
  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long SAVE_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** How long a value waits for its store to grow or to be opened, and how often it is tried. */
  private static final long GROWTH_NANOS = TimeUnit.SECONDS.toNanos(30);

  private static final long RETRY_MILLIS = 20;

  /** After so many values without room, only one of some is tried, as each try scans a segment. */
  private static final int FRUITLESS = 8;

  private static final int TRIED_ONE_IN = 32;

  /** A cache with what the follower knows of it. Used by its thread. */
  private static final class Target {
    final SharedCache cache;

    /** The opening that the place in the log is based on; null if there is none. */
    @Nullable StartReport start;

    /** The number of values in a row that found no room. */
    int withoutRoom;

    Target(SharedCache cache) {
      this.cache = cache;
    }
  }

  private final Seal seal;
  private final Reconnection connection;
  private final Bookmark bookmark;
  private final SharedCounts counts;
  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch stopped;
  private final Map<String, Target> targets = new ConcurrentHashMap<>();

  /** When caches were flushed. Older values are not taken in. */
  private final Map<String, Long> flushes = new ConcurrentHashMap<>();

  /** The caches that have what was in the log up to the position. */
  private final Set<String> upToDate = ConcurrentHashMap.newKeySet();

  private volatile Position position;

  /** How many records were appended up to the position; below 0 if that is not known. */
  private volatile long index;

  /** Own records are needed up to here, as a store lacks them; null if that is not known yet. */
  @Nullable private Position ownNeeded = Position.START;

  private volatile RecordLog.State state = new RecordLog.State(Position.START, 0, 0, 0);
  private long nextLook = System.nanoTime();
  private long nextSave = System.nanoTime() + SAVE_NANOS;

  /** Guarded by the bookmark, as is the next one. */
  private Bookmark.Place minuteAgo;

  private Bookmark.Place twoMinutesAgo;

  Follower(
      Seal seal,
      Reconnection connection,
      Bookmark bookmark,
      SharedCounts counts,
      CountDownLatch stopped) {
    this.seal = seal;
    this.connection = connection;
    this.bookmark = bookmark;
    this.counts = counts;
    this.stopped = stopped;
    Bookmark.Place place = bookmark.load();
    this.position = place.position();
    this.index = place.index();
    this.minuteAgo = place;
    this.twoMinutesAgo = place;
    flushes.putAll(place.caches());
    upToDate.addAll(place.caches().keySet());
  }

  void add(SharedCache cache) {
    targets.put(cache.name(), new Target(cache));
  }

  /** Notes that a cache was flushed, also for later processes. */
  void flushed(String cache) {
    flushes.put(cache, System.currentTimeMillis());
    upToDate.add(cache);
    save();
  }

  /** To be called once all caches were added. */
  void begin() {
    begun.countDown();
  }

  /** How many records there are to read; 0 if that is not known. */
  long behindRecords() {
    long read = index;
    return read < 0 ? 0 : Math.max(0, state.appended() - read);
  }

  /** How much newer the newest record of the log is than the last one read; 0 before the first. */
  long behindMillis() {
    Position last = state.last();
    Position read = position;
    return last.compareTo(read) <= 0 || read.equals(Position.START)
        ? 0
        : last.millis() - read.millis();
  }

  /** The size of the log on its server. */
  long logBytes() {
    return state.bytes();
  }

  // ---- the thread

  @Override
  public void run() {
    try {
      begun.await();
      while (stopped.getCount() > 0) {
        try {
          step();
        } catch (IOException e) {
          connection.failed(e);
          nextLook = System.nanoTime();
        } catch (RuntimeException | Error e) {
          // Such as a lack of memory. The place is as it was, so the records are read again.
          logger.atSevere().withCause(e).atMostEvery(10, TimeUnit.MINUTES).log(
              "Values of other servers could not be read");
          connection.failed(e);
          nextLook = System.nanoTime();
        }
      }
    } catch (InterruptedException e) {
      logger.atFine().withCause(e).log("The follower was interrupted");
    } finally {
      connection.close();
    }
  }

  private void step() throws IOException, InterruptedException {
    rereadIfAStoreLacksValues();
    RecordLog log = connection.get();
    boolean isIdle = state.last().compareTo(position) <= 0;
    look(log);
    List<RecordLog.Entry> entries = log.read(position, RECORDS, isIdle ? PATIENCE : Duration.ZERO);
    connection.succeeded();
    for (RecordLog.Entry entry : entries) {
      take(entry);
      if (stopped.getCount() == 0) {
        // Perhaps not all of the record was taken in.
        return;
      }
      position = entry.position();
      countRead();
    }
    if (entries.isEmpty()) {
      allRead(log);
    }
    saveIfDue();
    if (entries.size() < RECORDS) {
      var unused = stopped.await(REST_MILLIS, TimeUnit.MILLISECONDS);
    }
  }

  private void countRead() {
    long before = index;
    index = before < 0 ? before : before + 1;
  }

  /** Reads the log from its start if a store lacks what was read until now. */
  @SuppressWarnings("ReferenceEquality") // Each opening has a report, which may equal another one.
  private void rereadIfAStoreLacksValues() {
    boolean lacks = false;
    for (Target target : targets.values()) {
      StartReport start = target.cache.start();
      if (start != target.start && target.cache.isOpen()) {
        target.start = start;
        lacks |=
            upToDate.add(target.cache.name())
                || start.kind() == StartReport.Kind.NEW
                || start.kind() == StartReport.Kind.REPLACED;
      }
    }
    if (lacks && !position.equals(Position.START)) {
      reread();
    }
  }

  /** Notes that a cache misses values, as it has no file. Once it has one, all are read again. */
  private void lost(Target target) {
    target.start = null;
    upToDate.remove(target.cache.name());
  }

  private void reread() {
    counts.rereads.increment();
    position = Position.START;
    index = -1;
    ownNeeded = null;
    nextLook = System.nanoTime();
    synchronized (bookmark) {
      // A restart before all is read must begin at the start as well.
      minuteAgo = place();
      twoMinutesAgo = minuteAgo;
    }
    save();
  }

  /** Looks at the state of the log, if that is due. */
  private void look(RecordLog log) throws IOException {
    if (System.nanoTime() - nextLook < 0) {
      return;
    }
    RecordLog.State now = log.state();
    state = now;
    nextLook = System.nanoTime() + LOOK_NANOS;
    if (now.last().compareTo(position) < 0 || (now.isCounted() && now.appended() < index)) {
      // The server lost its data, or a copy that lagged took over. A read after a place that is not
      // there yet would find nothing for ever.
      reread();
    }
    if (ownNeeded == null) {
      ownNeeded = now.last();
    }
    if (!now.isCounted()) {
      index = -1;
    } else if (position.equals(Position.START)) {
      index = now.dropped();
    } else if (index >= 0 && index < now.dropped()) {
      counts.missed.add(now.dropped() - index);
      index = now.dropped();
    }
  }

  /** Corrects the index by the state, if that has no record after the position. */
  private void allRead(RecordLog log) throws IOException {
    look(log);
    RecordLog.State now = state;
    if (now.isCounted() && now.last().equals(position)) {
      if (index >= 0 && index < now.appended()) {
        counts.missed.add(now.appended() - index);
      }
      index = now.appended();
    }
  }

  // ---- the place

  private Bookmark.Place place() {
    return new Bookmark.Place(position, index, caches());
  }

  private Map<String, Long> caches() {
    return Maps.toMap(Set.copyOf(upToDate), cache -> flushes.getOrDefault(cache, 0L));
  }

  private void saveIfDue() {
    if (System.nanoTime() - nextSave >= 0) {
      nextSave = System.nanoTime() + SAVE_NANOS;
      synchronized (bookmark) {
        twoMinutesAgo = minuteAgo;
        minuteAgo = place();
      }
      save();
    }
  }

  private void save() {
    synchronized (bookmark) {
      bookmark.save(new Bookmark.Place(twoMinutesAgo.position(), twoMinutesAgo.index(), caches()));
    }
  }

  /**
   * Saves the place as it is. To be called when the thread has ended and the stores were closed,
   * and so forced to disk.
   */
  void saveAtStop() {
    synchronized (bookmark) {
      bookmark.save(place());
    }
  }

  // ---- a record

  private void take(RecordLog.Entry entry) throws InterruptedException {
    byte[] record = entry.bytes();
    counts.receivedBytes.add(record.length);
    if (seal.isOwn(record) && ownNeeded != null && entry.position().compareTo(ownNeeded) > 0) {
      return;
    }
    Optional<byte[]> content = seal.open(record);
    if (content.isEmpty()) {
      refuse("its seal is not that of this site's secret");
      return;
    }
    List<SharedValue> values;
    try {
      values = Batch.decode(content.get());
    } catch (IOException e) {
      refuse(e.getMessage());
      return;
    }
    for (SharedValue value : values) {
      counts.received.increment();
      take(value);
    }
  }

  private void refuse(String reason) {
    counts.refused.increment();
    logger.atWarning().atMostEvery(1, TimeUnit.HOURS).log(
        "A record of the log of shared values is ignored: %s. All servers of the site need the same"
            + " cache-chroniclemap.sharedSecret; other sites need another sharedSite",
        reason);
  }

  private void take(SharedValue value) throws InterruptedException {
    Target target = targets.get(value.cache());
    if (target == null || target.cache.version() != value.version() || isFlushed(value)) {
      counts.skipped.increment();
      return;
    }
    if (target.withoutRoom > FRUITLESS && ++target.withoutRoom % TRIED_ONE_IN != 0) {
      counts.noRoom.increment();
      return;
    }
    ImportResult result = takeIn(target.cache, value);
    switch (result) {
      case STORED -> counts.takenIn.increment();
      case KNOWN, TOO_OLD -> counts.skipped.increment();
      case OVER -> {
        counts.skipped.increment();
        if (!target.cache.isOpen()) {
          lost(target);
        }
      }
      case TOO_LARGE, LATER, NO_ROOM -> counts.noRoom.increment();
    }
    if (result == ImportResult.STORED) {
      target.withoutRoom = 0;
    } else if (result == ImportResult.NO_ROOM || result == ImportResult.LATER) {
      target.withoutRoom++;
    }
  }

  private boolean isFlushed(SharedValue value) {
    Long flushed = flushes.get(value.cache());
    if (flushed == null) {
      return false;
    }
    long now = System.currentTimeMillis();
    if (flushed > now) {
      // The clock was ahead at that time; without this, nothing would be taken in until then.
      flushes.replace(value.cache(), flushed, now);
      return value.created() <= now;
    }
    return value.created() <= flushed;
  }

  private ImportResult takeIn(SharedCache cache, SharedValue value) throws InterruptedException {
    long waiting = System.nanoTime();
    while (true) {
      ImportResult result =
          cache.takeIn(value.key(), value.value(), value.created(), () -> !isFlushed(value));
      boolean mayWork =
          result == ImportResult.LATER
              || (result == ImportResult.OVER && cache.start().kind() == StartReport.Kind.PENDING);
      if (!mayWork
          || System.nanoTime() - waiting > GROWTH_NANOS
          || stopped.await(RETRY_MILLIS, TimeUnit.MILLISECONDS)) {
        return result;
      }
    }
  }
}
