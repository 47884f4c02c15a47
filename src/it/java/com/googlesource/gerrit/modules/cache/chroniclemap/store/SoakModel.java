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

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * What some stores may answer after what was done to them; in a file that is mapped, since a
 * SIGKILL does not lose what was written to mapped memory. Little is kept for each key, so that
 * asking it costs less than the store does.
 *
 * <p>Each beginning and each return of an operation has a moment: the next number of one clock. A
 * version that was put may be found until a change of its key has returned that began after the put
 * had returned: before that, nobody can tell which of the two was last. A version that was loaded
 * may be found until a change has returned that began after the load had: it was computed from
 * older data. A crash may lose any version, and so may a store that is full.
 *
 * <p>Safe for any thread, as long as each thread has its own number. Used by {@link SoakMain}, by
 * {@link Soak} while there is no such process, and by {@link PowerStoresMain}.
 */
final class SoakModel {
  /** Threads, and stores and keys of each at most. */
  static final int THREADS = 8;

  static final int STORES = 4;
  static final int KEYS = 512;

  /** Versions that a thread can use. */
  static final int VERSIONS = 1 << 20;

  /** What is counted over all processes. */
  enum Count {
    OPERATIONS(0),
    READS(1),
    FOUND(2),
    RESTARTS(3),
    CHECKED(4),
    EVICTIONS(6),
    EXPIRED(7),
    NOT_STORED(8),
    RECOVERED(9),
    RECOVERIES(10),
    REPLACED(11),
    SHRUNK(12),
    KEPT(13);

    private final int place;

    Count(int place) {
      this.place = place;
    }
  }

  /** What the trace says, for people. */
  enum What {
    PUT(0),
    LOAD(1),
    REMOVE(2),
    CLEAR(3),
    RETURNED(4),
    KILLED(5),
    OPENED(6),
    CLOSED(7),
    SEEN(8),
    MISSED(9);

    private final int code;

    What(int code) {
      this.code = code;
    }

    private static What of(int code) {
      return Arrays.stream(values()).filter(what -> what.code == code).findFirst().orElseThrow();
    }
  }

  private static final VarHandle LONGS =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private static final int TRACE = 1 << 20;

  // Where things are, as numbers of longs.
  private static final int CLOCK = 0;
  private static final int CLEAN = 1;
  private static final int COUNTS = 16;
  private static final int RUNNING = 64;
  private static final int NEXT_VERSION = RUNNING + THREADS;
  private static final int LAST_CLEAR = NEXT_VERSION + THREADS;
  private static final int LAST_CHANGE = 128;
  private static final int LAST_EMPTY = LAST_CHANGE + STORES * KEYS;
  private static final int GOOD_UNTIL = LAST_EMPTY + STORES * KEYS;
  private static final int TRACES = GOOD_UNTIL + THREADS * VERSIONS;
  private static final int END = TRACES + 2 * TRACE;

  /** What happened at a moment. */
  private record Event(What what, int thread, int store, int key, int version) {
    static Event of(long bits) {
      return new Event(
          What.of((int) (bits >>> 24) & 0xff),
          (int) (bits >>> 16) & 0xff,
          (int) (bits >>> 12) & 0xf,
          (int) bits & 0xfff,
          (int) (bits >>> 32));
    }

    long bits() {
      return ((long) version << 32) | (what.code << 24) | (thread << 16) | (store << 12) | key;
    }
  }

  private final ByteBuffer buffer;

  /** Where all events are written at once, if there is such a file. */
  private Optional<FileChannel> log = Optional.empty();

  private SoakModel(ByteBuffer buffer) {
    this.buffer = buffer;
  }

  /** Makes it, or goes on with what is there. */
  static SoakModel open(Path path) throws IOException {
    try (FileChannel channel =
        FileChannel.open(
            path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return new SoakModel(
          channel
              .map(FileChannel.MapMode.READ_WRITE, 0, (long) END * Long.BYTES)
              .order(ByteOrder.nativeOrder()));
    }
  }

  private long get(int at) {
    return (long) LONGS.getVolatile(buffer, at * Long.BYTES);
  }

  private void set(int at, long value) {
    LONGS.setVolatile(buffer, at * Long.BYTES, value);
  }

  private void raise(int at, long value) {
    long before = get(at);
    while (before < value && !LONGS.compareAndSet(buffer, at * Long.BYTES, before, value)) {
      before = get(at);
    }
  }

  // ---- figures

  void add(Count count, long n) {
    var unused = (long) LONGS.getAndAdd(buffer, (COUNTS + count.place) * Long.BYTES, n);
  }

  long count(Count count) {
    return get(COUNTS + count.place);
  }

  /** Whether the last process that opened the stores closed them. */
  boolean wasClosed() {
    return get(CLEAN) != 0;
  }

  void opening() {
    set(CLEAN, 0);
  }

  void closed() {
    set(CLEAN, 1);
    var unused = stamp(What.CLOSED, 0, 0, 0, 0);
  }

  void opened() {
    var unused = stamp(What.OPENED, 0, 0, 0, 0);
  }

  // ---- operations

  /** The number of events until now. */
  long now() {
    return get(CLOCK);
  }

  /** A version that was never used; 0 if the thread has none left. */
  int newVersion(int thread) {
    long next = get(NEXT_VERSION + thread) + 1;
    if (next >= VERSIONS) {
      return 0;
    }
    set(NEXT_VERSION + thread, next);
    return thread * VERSIONS + (int) next;
  }

  long beginPut(int thread, int store, int key, int version, boolean empty) {
    long begun = stamp(What.PUT, thread, store, key, version);
    set(GOOD_UNTIL + version, Long.MAX_VALUE);
    set(RUNNING + thread, version);
    if (empty) {
      set(LAST_EMPTY + store * KEYS + key, version);
    }
    return begun;
  }

  void endPut(int thread, int store, int key, int version, long begun) {
    long ended = stamp(What.RETURNED, thread, store, key, version);
    set(GOOD_UNTIL + version, ended);
    set(RUNNING + thread, 0);
    raise(LAST_CHANGE + store * KEYS + key, begun);
  }

  /** Before the ticket is taken. */
  void beginLoad(int thread, int store, int key, int version) {
    long begun = stamp(What.LOAD, thread, store, key, version);
    set(GOOD_UNTIL + version, begun);
  }

  void endLoad(int thread, int store, int key, int version) {
    var unused = stamp(What.RETURNED, thread, store, key, version);
  }

  long beginRemove(int thread, int store, int key) {
    return stamp(What.REMOVE, thread, store, key, 0);
  }

  void endRemove(int thread, int store, int key, long begun) {
    var unused = stamp(What.RETURNED, thread, store, key, 0);
    raise(LAST_CHANGE + store * KEYS + key, begun);
  }

  long beginClear(int thread, int store) {
    return stamp(What.CLEAR, thread, store, 0, 0);
  }

  void endClear(int thread, int store, long begun) {
    var unused = stamp(What.RETURNED, thread, store, 0, 0);
    raise(LAST_CLEAR + store, begun);
  }

  /** The process was killed: what had not returned will not go on. */
  void killed() {
    long now = stamp(What.KILLED, 0, 0, 0, 0);
    for (int thread = 0; thread < THREADS; thread++) {
      int version = (int) get(RUNNING + thread);
      if (version != 0) {
        set(GOOD_UNTIL + version, now);
        set(RUNNING + thread, 0);
      }
    }
  }

  // ---- answers

  /** To ask before a read: what {@link #isAllowed} wants to know. */
  long lastChange(int store, int key) {
    return Math.max(get(LAST_CHANGE + store * KEYS + key), get(LAST_CLEAR + store));
  }

  /** Whether a read may find that version, if {@link #lastChange} said so before it. */
  boolean isAllowed(int version, long lastChange) {
    if (version <= 0 || version >= THREADS * VERSIONS) {
      return false;
    }
    // 0: there never was such a version.
    return lastChange < get(GOOD_UNTIL + version);
  }

  /** The last version without bytes that was put, of which there is one at a time; 0 if none. */
  int lastEmpty(int store, int key) {
    return (int) get(LAST_EMPTY + store * KEYS + key);
  }

  /**
   * What was found when nobody else used the stores: from then on no other version is there.
   *
   * @param version 0 for none
   */
  void seen(int store, int key, int version) {
    long now = stamp(version == 0 ? What.MISSED : What.SEEN, 0, store, key, version);
    if (version != 0) {
      set(GOOD_UNTIL + version, now + 1);
    }
    raise(LAST_CHANGE + store * KEYS + key, now);
  }

  // ---- a log for a machine that is killed, with what is mapped there

  /** How many events a log of so many bytes has. */
  static long events(long bytes) {
    return Math.max(0, bytes / Long.BYTES - 1);
  }

  /** From now on each event is in a file as well, on a disk of another machine. */
  void writeThrough(Path file) throws IOException {
    log = Optional.of(FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE));
  }

  /**
   * Goes through the first events of a log once more.
   *
   * @param returned what returned after so many events may not have
   */
  void replay(Path file, long returned, long events) throws IOException {
    ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.nativeOrder());
    Map<Integer, Event> running = new HashMap<>();
    long[] begun = new long[THREADS];
    for (long moment = 1; moment <= events; moment++) {
      long bits = all.getLong((int) moment * Long.BYTES);
      Event event = Event.of(bits);
      set(CLOCK, moment - 1);
      // The machine may have stopped before an event was written whose moment was taken.
      if (bits != 0 && (moment <= returned || event.what != What.RETURNED)) {
        replay(event, running, begun);
      }
    }
    set(CLOCK, events);
  }

  private void replay(Event event, Map<Integer, Event> running, long[] begun) {
    int thread = event.thread;
    raise(NEXT_VERSION + thread, event.version % VERSIONS);
    switch (event.what) {
      case PUT -> begun[thread] = beginPut(thread, event.store, event.key, event.version, false);
      case LOAD -> beginLoad(thread, event.store, event.key, event.version);
      case REMOVE -> begun[thread] = beginRemove(thread, event.store, event.key);
      case CLEAR -> begun[thread] = beginClear(thread, event.store);
      case RETURNED -> {
        switch (running.get(thread).what) {
          case PUT -> endPut(thread, event.store, event.key, event.version, begun[thread]);
          case REMOVE -> endRemove(thread, event.store, event.key, begun[thread]);
          case CLEAR -> endClear(thread, event.store, begun[thread]);
          default -> endLoad(thread, event.store, event.key, event.version);
        }
      }
      case KILLED -> killed();
      case SEEN, MISSED -> seen(event.store, event.key, event.version);
      case OPENED, CLOSED -> {}
    }
    running.put(thread, event);
  }

  // ---- for people

  private long stamp(What what, int thread, int store, int key, int version) {
    long bits = new Event(what, thread, store, key, version).bits();
    long now = (long) LONGS.getAndAdd(buffer, CLOCK * Long.BYTES, 1L) + 1;
    int at = TRACES + 2 * (int) (now & (TRACE - 1));
    set(at, 0);
    set(at + 1, bits);
    set(at, now);
    if (log.isPresent()) {
      ByteBuffer event = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
      try {
        int unused = log.get().write(event.putLong(0, bits), now * Long.BYTES);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return now;
  }

  /** What was done to a key lately, and to all keys. */
  String describe(int store, int key) {
    StringBuilder out = new StringBuilder();
    long now = get(CLOCK);
    for (long moment = Math.max(1, now - TRACE + 1); moment <= now; moment++) {
      int at = TRACES + 2 * (int) (moment & (TRACE - 1));
      Event event = Event.of(get(at + 1));
      boolean isOfKey =
          switch (event.what) {
            case KILLED, OPENED, CLOSED -> true;
            case CLEAR -> event.store == store;
            case RETURNED -> event.store == store && (event.key == key || event.key == 0);
            default -> event.store == store && event.key == key;
          };
      if (get(at) == moment && isOfKey) {
        out.append("  ").append(moment).append(' ').append(event).append('\n');
      }
    }
    return out.substring(Math.max(0, out.length() - 6000));
  }

  /** What is known of a version, for a message. */
  String describeVersion(int version) {
    return String.format(
        Locale.ROOT,
        "version %d of thread %d, good until %d",
        version,
        version / VERSIONS,
        version > 0 && version < THREADS * VERSIONS ? get(GOOD_UNTIL + version) : -1);
  }
}
