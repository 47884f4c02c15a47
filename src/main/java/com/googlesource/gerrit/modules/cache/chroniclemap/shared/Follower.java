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

import com.google.common.flogger.FluentLogger;
import com.google.gerrit.common.Nullable;
import com.googlesource.gerrit.modules.cache.chroniclemap.counting.Counter;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * The thread that reads the log and puts into the local stores what they lack.
 *
 * <p>Each store has a note of the place in the log up to which it has what was there, within its
 * own file: so a file that is lost, emptied or replaced by an older one takes its note along. The
 * thread starts at the lowest of these places, and goes back to that of a store that is opened
 * later, or again.
 *
 * <p>What a store cannot take in is left out there: for want of room, or as its disk is busy. What
 * it missed while it had no file it gets once it is open again, as its note is from before.
 *
 * <p>Notes are written once a minute, and are then two minutes old, because stores are forced to
 * disk once a minute. If a slow disk needs longer, a crash of the machine may leave a note of what
 * the file lacks; such values are computed again.
 *
 * <p>Any thread may call, but for {@link #run}.
 */
final class Follower implements Runnable {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How many records to read at once: most have less than 64 KB, a few up to a megabyte. */
  private static final int RECORDS = 32;

  /** How long to rest after all records were read, so that the next read finds several. */
  private static final long REST_MILLIS = 20;

  /** How often to ask for the state of the log. */
  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** How long stores may take to be opened before the first record is read. */
  private static final long OPENING_NANOS = TimeUnit.SECONDS.toNanos(30);

  /** For how long a record with a wrong seal is reported. */
  private static final long REFUSAL_NANOS = TimeUnit.HOURS.toNanos(1);

  /** How often a record is tried whose values cannot be handled, for lack of memory perhaps. */
  private static final int MAX_TRIES = 3;

  /** After records that could not be read, at first so many milliseconds of the log are passed. */
  private static final long FIRST_PASSED_MILLIS = 1000;

  private static final long OPENING_MILLIS = 20;

  private static final long TROUBLE_MILLIS = 1000;

  /** After so many values without room, only one of some is tried, as each try scans a segment. */
  private static final int FRUITLESS = 8;

  private static final int TRIED_ONE_IN = 32;

  /** A cache with what the follower knows of it. Used by the follower's thread. */
  private static final class Target {
    final SharedCache cache;

    /** The opening that the note was read after; null if it was not opened yet. */
    @Nullable StartReport start;

    /** The number of values in a row that found no room. */
    int withoutRoom;

    Target(SharedCache cache) {
      this.cache = cache;
    }
  }

  private final Seal seal;

  /** Names the log and the secret, for notes. */
  private final String log;

  private final Reconnection connection;
  private final Flushes flushes;
  private final SharedCounts counts;
  private final CountDownLatch stopped;
  private final Map<String, Target> targets = new ConcurrentHashMap<>();
  private final long noteNanos;

  /** How far the log was read; null until the first stores are open. */
  @Nullable private volatile Checkpoint reached;

  /** Own records are needed up to here, as a store lacks them; null if that is not known yet. */
  @Nullable private StreamId rereadOwnUpTo = StreamId.START;

  private volatile RecordLog.State state = new RecordLog.State(StreamId.START, 0, 0, 0);
  private long nextLook = System.nanoTime();

  /** The connection on which the state was asked for last. */
  @Nullable private RecordLog looked;

  private volatile long refusedAt;

  /** Whether a record of another server was opened, or one of an earlier run of this one. */
  private volatile boolean hasOpenedOthers;

  private volatile String ignored = "";

  /** By which state the index was last set. */
  @Nullable private RecordLog.State counted;

  /** How many records to read at once: fewer after some that could not be read. */
  private int most = RECORDS;

  /** How often the records after the position could not be read, one at a time. */
  private int unreadable;

  /** How much of the log was passed because of the last ones. */
  private long passedMillis = FIRST_PASSED_MILLIS;

  private long nextNote;
  private Checkpoint minuteAgo = Checkpoint.START;
  private Checkpoint twoMinutesAgo = Checkpoint.START;

  /** The record that is being taken in, and how often that has failed. */
  private StreamId taking = StreamId.START;

  private int tries;

  /**
   * Makes one that has not begun.
   *
   * @param log names the log and the secret by which its records are opened
   * @param noteEvery how often to write notes; in that time, the stores are forced to disk
   */
  Follower(
      Seal seal,
      String log,
      Reconnection connection,
      Flushes flushes,
      SharedCounts counts,
      Duration noteEvery,
      CountDownLatch stopped) {
    this.seal = seal;
    this.log = log;
    this.connection = connection;
    this.flushes = flushes;
    this.counts = counts;
    this.noteNanos = noteEvery.toNanos();
    this.nextNote = System.nanoTime() + noteNanos;
    this.stopped = stopped;
  }

  void add(SharedCache cache) {
    targets.put(cache.name(), new Target(cache));
  }

  /** How many records there are to read; 0 if that is not known. */
  long behindRecords() {
    Checkpoint place = reached;
    boolean isKnown = place != null && place.index() >= 0;
    return isKnown ? Math.max(0, state.appended() - place.index()) : 0;
  }

  /** How much newer the newest record of the log is than the last one read; 0 before the first. */
  long behindMillis() {
    StreamId last = state.last();
    Checkpoint now = reached;
    StreamId place = now == null ? StreamId.START : now.position();
    return place.equals(StreamId.START) || last.compareTo(place) <= 0
        ? 0
        : Math.max(0, last.millis() - place.millis());
  }

  /** Whether a record had a wrong seal lately. */
  boolean isRefusing() {
    return counts.refused.sum() > 0 && System.nanoTime() - refusedAt < REFUSAL_NANOS;
  }

  /** Whether the secret of others, or of an earlier run, is this one. */
  boolean hasOpenedOthers() {
    return hasOpenedOthers;
  }

  /** The place of the record that was ignored last, and why, for people; empty if none was. */
  String ignored() {
    return ignored;
  }

  /** The size of the log on its server. */
  long logBytes() {
    return state.bytes();
  }

  // ---- the thread

  @Override
  public void run() {
    try {
      awaitStores();
      connection.repeat(this::step);
    } catch (InterruptedException e) {
      logger.atFine().withCause(e).log("The follower was interrupted");
    }
  }

  /** Stores are opened in the background, and each that comes later costs a way back. */
  private void awaitStores() throws InterruptedException {
    long begin = System.nanoTime();
    while (targets.values().stream()
            .anyMatch(target -> target.cache.start().kind() == StartReport.Kind.PENDING)
        && System.nanoTime() - begin < OPENING_NANOS
        && !stopped.await(OPENING_MILLIS, TimeUnit.MILLISECONDS)) {}
  }

  private void step() throws IOException, InterruptedException {
    goBackForStores();
    if (reached == null) {
      // No store has a file.
      var unused = stopped.await(TROUBLE_MILLIS, TimeUnit.MILLISECONDS);
      return;
    }
    RecordLog open = connection.get();
    look(open);
    RecordLog.State seen = state;
    List<RecordLog.Entry> entries = read(open);
    connection.succeeded();
    for (RecordLog.Entry entry : entries) {
      count(seen, entry.position().compareTo(seen.last()) > 0);
      tries = entry.position().equals(taking) ? tries + 1 : 1;
      taking = entry.position();
      if (tries <= MAX_TRIES) {
        take(entry);
      } else {
        logger.atWarning().atMostEvery(10, TimeUnit.MINUTES).log(
            "The values of a record that cannot be handled are computed here");
        counts.skipped.increment();
      }
      if (stopped.getCount() == 0) {
        // Perhaps not all of the record was taken in.
        return;
      }
      moveTo(entry.position());
    }
    if (entries.isEmpty()) {
      allRead(seen);
    }
    writeNotesIfDue();
    if (entries.size() < most) {
      var unused = stopped.await(REST_MILLIS, TimeUnit.MILLISECONDS);
    }
  }

  /**
   * Reads records, one at a time after some that could not be read. Those that can't be read alone
   * either are passed: nothing but their content tells their places, so a span of the log's time is
   * passed that doubles until a read succeeds; from the start, all of it, as nothing tells when it
   * begins.
   */
  private List<RecordLog.Entry> read(RecordLog open) throws IOException {
    int now = most;
    try {
      List<RecordLog.Entry> entries = open.read(reached.position(), now);
      most = Math.min(RECORDS, 2 * now);
      unreadable = 0;
      passedMillis = FIRST_PASSED_MILLIS;
      return entries;
    } catch (RecordLog.TooLargeException e) {
      most = 1;
      unreadable += now == 1 ? 1 : 0;
      if (unreadable >= MAX_TRIES) {
        StreamId from = reached.position();
        StreamId end = new StreamId(from.millis() + passedMillis, 0);
        boolean isKnown = !from.equals(StreamId.START) && end.compareTo(from) > 0;
        StreamId to = isKnown && end.compareTo(state.last()) < 0 ? end : state.last();
        reached = new Checkpoint(to, -1);
        passedMillis *= 2;
        ignore(counts.missed, from + " to " + to + " could not be read: " + e.getMessage());
      }
      throw e;
    }
  }

  private void moveTo(StreamId next) {
    tries = 0;
    long before = reached.index();
    reached = new Checkpoint(next, before < 0 ? before : before + 1);
  }

  /**
   * Corrects the index.
   *
   * @param index at least what it is, unless that is not known; what is between them was missed
   */
  private void setIndex(long index) {
    if (reached.index() >= 0) {
      counts.missed.add(Math.max(0, index - reached.index()));
    }
    reached = new Checkpoint(reached.position(), index);
  }

  /** Corrects the place by a state from before a read that has found nothing. */
  private void allRead(RecordLog.State seen) {
    if (seen.last().compareTo(reached.position()) > 0) {
      // The newest record was deleted.
      reached = new Checkpoint(seen.last(), reached.index());
    }
    count(seen, seen.last().equals(reached.position()));
  }

  /** Corrects the index by a state, once the records of that state were read. */
  @SuppressWarnings("ReferenceEquality") // Each look has its own.
  private void count(RecordLog.State seen, boolean areRead) {
    if (areRead && seen.isCounted() && seen != counted) {
      counted = seen;
      setIndex(seen.appended());
    }
  }

  /** Compares the state of the log with what was read of it, if that is due. */
  private void look(RecordLog open) throws IOException {
    if (open == looked && System.nanoTime() - nextLook < 0) {
      return;
    }
    RecordLog.State now = open.state();
    state = now;
    looked = open;
    nextLook = System.nanoTime() + LOOK_NANOS;
    if (now.isCounted()
        && (now.last().compareTo(reached.position()) < 0 || now.appended() < reached.index())) {
      // The server lost its data, or a copy that lagged took over. A read after a place that is not
      // there yet would find nothing for ever.
      goBackTo(Checkpoint.START);
    }
    if (rereadOwnUpTo == null) {
      rereadOwnUpTo = now.last();
    }
    if (!now.isCounted()) {
      reached = new Checkpoint(reached.position(), -1);
    } else if (reached.position().equals(StreamId.START)
        || (reached.index() >= 0 && reached.index() < now.dropped())) {
      // The next record is the oldest that is left.
      setIndex(now.dropped());
    }
  }

  // ---- places of stores

  /** Goes back to the place of a store that was opened since. */
  @SuppressWarnings("ReferenceEquality") // Each opening has a report, which may equal another one.
  private void goBackForStores() {
    for (Target target : targets.values()) {
      StartReport start = target.cache.start();
      if (start != target.start && target.cache.isOpen()) {
        target.start = start;
        target.withoutRoom = 0;
        if (start.kind() == StartReport.Kind.NEW || start.kind() == StartReport.Kind.REPLACED) {
          // A note that was being written meanwhile would be that of the file before.
          target.cache.setResumePoint(Checkpoint.START.toText(log));
          goBackTo(Checkpoint.START);
        } else {
          goBackTo(Checkpoint.ofText(target.cache.resumePoint(), log));
        }
      }
    }
  }

  private void goBackTo(Checkpoint place) {
    if (reached != null && place.position().compareTo(reached.position()) >= 0) {
      return;
    }
    if (reached != null) {
      counts.rereads.increment();
      // Perhaps what this run has published itself is missing, too.
      rereadOwnUpTo = null;
    }
    reached = place;
    minuteAgo = place;
    twoMinutesAgo = place;
    nextLook = System.nanoTime();
  }

  @SuppressWarnings("ReferenceEquality") // As above: each opening has its own.
  private void writeNotesIfDue() {
    if (System.nanoTime() - nextNote < 0) {
      return;
    }
    nextNote = System.nanoTime() + noteNanos;
    byte[] note = twoMinutesAgo.toText(log);
    for (Target target : targets.values()) {
      // Without a file, a store misses values that it is to get when it has one again.
      if (target.start == target.cache.start() && target.cache.isOpen()) {
        target.cache.setResumePoint(note);
      }
    }
    twoMinutesAgo = minuteAgo;
    minuteAgo = reached;
  }

  // ---- a record

  private void take(RecordLog.Entry entry) throws InterruptedException {
    byte[] record = entry.bytes();
    counts.receivedBytes.add(record.length);
    if (record.length > 2 * Batch.MAX_BYTES) {
      ignore(counts.missed, entry.position() + " is larger than any record of this module");
      return;
    }
    boolean isOwn = seal.isOwn(record);
    if (isOwn && rereadOwnUpTo != null && entry.position().compareTo(rereadOwnUpTo) > 0) {
      return;
    }
    Optional<byte[]> content = seal.open(record);
    if (content.isEmpty()) {
      refusedAt = System.nanoTime();
      ignore(
          counts.refused,
          entry.position()
              + " has not the seal of this site's secret: all servers of the site need the same"
              + " sharedSecret, other sites another sharedSite");
      return;
    }
    List<SharedValue> values;
    try {
      values = Batch.decode(content.get());
    } catch (IOException e) {
      ignore(counts.missed, entry.position() + " can't be read: " + e.getMessage());
      return;
    }
    hasOpenedOthers |= !isOwn;
    for (SharedValue value : values) {
      counts.received.increment();
      take(value);
    }
  }

  /** Counts and names records that are not taken in. */
  private void ignore(Counter reason, String which) {
    ignored = which;
    reason.increment();
    logger.atWarning().atMostEvery(1, TimeUnit.HOURS).log(
        "Ignored in the log of shared values: %s", which);
  }

  private void take(SharedValue value) throws InterruptedException {
    Target target = targets.get(value.cache());
    if (target == null || target.cache.version() != value.version() || flushes.covers(value)) {
      counts.skipped.increment();
      return;
    }
    if (target.withoutRoom > FRUITLESS && ++target.withoutRoom % TRIED_ONE_IN != 0) {
      counts.noRoom.increment();
      return;
    }
    BooleanSupplier isWanted = () -> !flushes.covers(value);
    switch (target.cache.putIfAbsent(value.key(), value.value(), value.created(), isWanted)) {
      case STORED -> {
        counts.takenIn.increment();
        target.withoutRoom = 0;
      }
      case TOO_LARGE -> counts.noRoom.increment();
      case NO_ROOM -> {
        counts.noRoom.increment();
        target.withoutRoom++;
      }
      case KNOWN, TOO_OLD, OVER -> counts.skipped.increment();
    }
  }
}
