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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.values;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.ChunkRoot;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Envelope;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Envelope.NewRecord;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.PartList;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.SegmentReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredKey;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredValue;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.PrimitiveIterator.OfInt;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongPredicate;
import java.util.function.Predicate;

/**
 * A table of whole values in a {@link RecordMap}, with their number and bytes. A value that is too
 * large for one record is split into parts, to which a head record refers.
 *
 * <p>A split value is written in this order: the new parts, the head, the removal of the old parts.
 * A crash or a concurrent reader therefore finds the old value, the new one or none. Parts that a
 * crash left without a head are evicted like other records.
 *
 * <p>Any number of threads may read while one thread writes. {@link #invalidate} may be called by
 * any thread.
 */
public final class ValueTable {
  /**
   * Share of the file's data bytes in use above which a segment may be full. Segments fill
   * unevenly: at 70 % of the whole, the fullest of a hundred segments is about to overflow.
   */
  private static final double FULL = 0.7;

  /** How many ids are tried for a split value before it counts as not fitting. */
  private static final int MAX_SPLIT_ATTEMPTS = 8;

  /** How often a value is read again if it was replaced during the read. */
  private static final int MAX_READ_ATTEMPTS = 3;

  /** Share of a segment that is evicted at a time, doubled for each further attempt. */
  private static final double EVICTED_SHARE = 0.125;

  /** The share of {@link Evict#LEAST_USED_IN_HASTE} where that reads from disk. */
  private static final double COLD_EVICTED_SHARE = 0.25;

  public final RecordMap map;
  private final Rules rules;
  private final Eviction eviction;
  private final FileState state;

  private final SplitValues split;

  /** The salt of a value that had no version before. */
  private final long firstSalt = ThreadLocalRandom.current().nextLong();

  /** Tells of a stored key whether it belongs to a value that is being put, and must stay. */
  private Predicate<byte[]> inWriting = storedKey -> false;

  /** The head of the value that the last put replaced; null if it was not split. */
  private byte[] replaced;

  /** Which values may be evicted to make room for another one. */
  public enum Evict {
    /** None; the file may take more disk. */
    NONE,
    /** Those that were used least. */
    LEAST_USED,
    /**
     * The same, and more of them than needed if they have to be read from disk to be chosen, as
     * many values are queued. A segment is then read less often, but holds less.
     */
    LEAST_USED_IN_HASTE,
    /**
     * Those that nobody has asked for lately. Nothing can be evicted until usage has been counted
     * for a while, which begins when the file begins to fill.
     */
    NEVER_USED
  }

  /**
   * What holds for the values of a store, whatever file they are in.
   *
   * @param maxValue bytes of the largest value that may be put
   * @param oldValuesStayValid whether an older value of a key may still be found, as it is for keys
   *     that determine their values
   * @param evictions counts evicted values
   * @param moreDisk where full segments get disk
   */
  public record Rules(
      long maxValue,
      boolean oldValuesStayValid,
      Usage usage,
      LongAdder evictions,
      MoreDisk moreDisk) {}

  /** Gives segments more disk. */
  public interface MoreDisk {
    /** Returns whether a segment has got more; see {@link RecordMap#takeDisk}. */
    boolean take(RecordMap map, int segment, int bytes);
  }

  /** Takes over an open file. */
  public ValueTable(RecordMap map, Rules rules) {
    this.map = map;
    this.rules = rules;
    this.eviction = new Eviction(map, rules.usage());
    this.split = new SplitValues(map);
    this.state = map.state;
  }

  /** Counts uses if values may have to be evicted in a while, half of what fills the file. */
  public void expectEvictionIfDue() {
    if (!hasRoomFor(state.counts.bytes())) {
      rules.usage().count(Math.max(state.counts.records(), map.geometry.slots() / 4));
    }
  }

  /** The number of values in the file. */
  public long entries() {
    return state.counts.values();
  }

  /** The bytes of all keys and records. */
  public long liveBytes() {
    return state.counts.bytes();
  }

  /** Returns null if there is no value, and a marked one without content if it is invalidated. */
  public StoredValue read(byte[] key) throws DamagedEntryException {
    byte[] storedKey = StoredKey.ofValue(key);
    for (int attempt = 0; attempt < MAX_READ_ATTEMPTS; attempt++) {
      StoredValue stored = map.read(storedKey);
      if (stored == null || stored.isInvalidated() || stored.kind() == Envelope.WHOLE) {
        return stored;
      }
      byte[] joined = split.join(key, stored.payload());
      if (joined != null) {
        return new StoredValue(
            Envelope.WHOLE, stored.crc(), stored.created(), joined, joined.length);
      }
    }
    // The value was replaced during each attempt, or lacks a part. Only the writer can tell.
    throw new DamagedEntryException("a part of the value is missing");
  }

  /**
   * Invalidates the value of a key, so that it is not found any more, even after a crash. For any
   * thread; the writer removes the value later.
   */
  public void invalidate(byte[] key) {
    map.invalidate(StoredKey.ofValue(key));
  }

  /**
   * Stores a value in place of any older one.
   *
   * @param evict what may be evicted to make room
   * @return false if there was no room; then the older value is gone as well
   */
  public boolean put(byte[] key, byte[] value, long created, Evict evict) {
    replaced = null;
    if (putOnce(key, value, created, evict)) {
      removeParts(key, replaced, replaced == null ? null : headOf(key));
      return true;
    }
    byte[] oldHead = replaced != null ? replaced : headOf(key);
    // The new value may fit in the room of the old one.
    if (contains(key)) {
      if (!rules.oldValuesStayValid()) {
        invalidate(key);
      }
      map.remove(StoredKey.ofValue(key));
    }
    removeParts(key, oldHead, null);
    return oldHead != null && putOnce(key, value, created, evict);
  }

  private boolean putOnce(byte[] key, byte[] value, long created, Evict evict) {
    if (value.length <= map.geometry.maxPayload()) {
      byte[] storedKey = StoredKey.ofValue(key);
      return putRecord(
          storedKey,
          Envelope.wrap(storedKey, Envelope.WHOLE, created, value, 0, value.length),
          evict,
          /* same= */ rules.oldValuesStayValid());
    }
    boolean byContent = value.length >= ContentChunks.MIN_VALUE && !rules.oldValuesStayValid();
    // The ids decide which segments the parts go to. If one is too full, other ids help.
    int attempts = evict != Evict.NONE || hasRoomFor(value.length) ? MAX_SPLIT_ATTEMPTS : 1;
    for (int i = 0; i < attempts; i++) {
      if (byContent
          ? putChunks(key, value, created, evict, i)
          : putParts(key, value, created, evict)) {
        return true;
      }
    }
    return false;
  }

  private boolean putParts(byte[] key, byte[] value, long created, Evict evict) {
    // The comparison, which costs a read, is only needed until the first change is noted.
    boolean same = rules.oldValuesStayValid() || (!state.isChangeNoted() && isThere(key, value));
    PartList list =
        new PartList(
            ThreadLocalRandom.current().nextLong(), value.length, map.geometry.maxPayload());
    inWriting =
        storedKey -> StoredKey.isPart(storedKey) && StoredKey.partId(storedKey) == list.id();
    try {
      int offset = 0;
      for (int i = 0; i < list.parts(); i++) {
        int length = list.lengthOf(i);
        byte[] partKey = StoredKey.ofPart(key, list.id(), i);
        NewRecord part = Envelope.wrap(partKey, Envelope.PART, created, value, offset, length);
        if (!putRecord(partKey, part, evict, same)) {
          removeParts(key, list.encode(), null);
          return false;
        }
        offset += length;
      }
      return putHead(key, list.encode(), created, evict, same);
    } finally {
      inWriting = storedKey -> false;
    }
  }

  /**
   * Puts the parts that are not there yet, and then the root. If it is interrupted, the next
   * attempt finds the parts that it has put.
   */
  private boolean putChunks(byte[] key, byte[] value, long created, Evict evict, int attempt) {
    byte[] before = headOf(key);
    ChunkRoot rootBefore = before == null ? null : ChunkRoot.decode(before);
    if (rootBefore == null && evict == Evict.NONE && !hasRoomFor(value.length)) {
      return false;
    }
    long salt = rootBefore == null || attempt > 0 ? firstSalt + attempt : rootBefore.salt();
    ContentChunks chunks = new ContentChunks(value, salt, map.geometry.maxPayload());
    byte[] head = chunks.root.encode();
    // To be put is a use: the parts that stay look old, and would be evicted before others.
    rules.usage().asked(key);
    inWriting = storedKey -> Arrays.equals(StoredKey.keyOf(storedKey), key);
    List<byte[]> added = new ArrayList<>();
    try {
      for (ContentChunks.Part part : chunks.parts) {
        byte[] partKey = StoredKey.ofPart(key, part.id(), 0);
        if (!isThere(partKey, part)) {
          NewRecord record =
              Envelope.wrap(
                  partKey, Envelope.PART, created, part.bytes(), part.offset(), part.length());
          if (!putRecord(partKey, record, evict, /* same= */ true)) {
            added.forEach(map::remove);
            return false;
          }
          added.add(partKey);
        }
      }
      return putHead(
          key, head, created, evict, rules.oldValuesStayValid() || Arrays.equals(before, head));
    } finally {
      inWriting = storedKey -> false;
    }
  }

  private boolean isThere(byte[] partKey, ContentChunks.Part part) {
    try {
      StoredValue there = map.read(partKey);
      return there != null
          && !there.isInvalidated()
          && Arrays.equals(
              there.payload(),
              0,
              there.payload().length,
              part.bytes(),
              part.offset(),
              part.offset() + part.length());
    } catch (DamagedEntryException e) {
      return false;
    }
  }

  private boolean putHead(byte[] key, byte[] head, long created, Evict evict, boolean same) {
    byte[] storedKey = StoredKey.ofValue(key);
    NewRecord record = Envelope.wrap(storedKey, Envelope.HEAD, created, head, 0, head.length);
    if (putRecord(storedKey, record, evict, same)) {
      return true;
    }
    removeParts(key, head, null);
    return false;
  }

  private boolean isThere(byte[] key, byte[] value) {
    try {
      StoredValue there = read(key);
      return there != null && Arrays.equals(there.payload(), value);
    } catch (DamagedEntryException e) {
      return false;
    }
  }

  /** Whether there is a value, invalidated or not. */
  public boolean contains(byte[] key) {
    return map.contains(StoredKey.ofValue(key));
  }

  public void remove(byte[] key) {
    byte[] oldHead = headOf(key);
    map.remove(StoredKey.ofValue(key));
    removeParts(key, oldHead, null);
  }

  /**
   * Goes on to the next segment that is to be checked, or may hold values whose creation time is
   * too long ago; returns -1 if there is none. The caller holds the writer lock.
   *
   * @param segments those that are left
   */
  public int nextToSweep(OfInt segments, LongPredicate isTooOld) {
    while (segments.hasNext()) {
      int segment = segments.nextInt();
      if (state.counts.isUnchecked(segment) || state.counts.mayHoldOld(segment, isTooOld)) {
        return segment;
      }
    }
    return -1;
  }

  /**
   * Removes the values of a segment whose creation time is too long ago; returns how many. Reads
   * nothing if there can be none. The caller holds the writer lock.
   */
  public int removeOld(int segment, SegmentReader reader, LongPredicate isTooOld)
      throws IOException {
    if (!state.counts.mayHoldOld(segment, isTooOld)) {
      return 0;
    }
    map.check(segment);
    List<byte[]> old = new ArrayList<>();
    long[] oldest = {Long.MAX_VALUE};
    var unused =
        reader.read(
            segment,
            record -> {
              if (!isTooOld.test(record.created())) {
                oldest[0] = Math.min(oldest[0], record.created());
              } else if (!record.isPart()) {
                // A part goes with the head of its value, which may be in another segment.
                old.add(record.storedKey());
              }
            });
    old.forEach(storedKey -> remove(StoredKey.keyOf(storedKey)));
    state.counts.noteOldest(segment, oldest[0]);
    return old.size();
  }

  /** Whether a value is above the limit, or too many others would be evicted for it. */
  public boolean isTooLarge(byte[] value) {
    return value.length > Math.min(rules.maxValue(), map.geometry.dataBytes() / 2);
  }

  /** The counts of a check of a store. */
  public static final class VerifyCounts {
    public long values;
    public long bytes;
    public long damaged;

    /** How many of the damaged entries were dropped. */
    public long dropped;
  }

  /**
   * Checks a segment. The caller holds the writer lock, so that nothing changes meanwhile.
   *
   * @param repair whether to drop what is damaged
   */
  public void verifySegment(int segment, SegmentReader reader, VerifyCounts counts, boolean repair)
      throws IOException {
    map.check(segment);
    List<byte[]> heads = new ArrayList<>();
    long damaged =
        reader.read(
            segment,
            record -> {
              counts.bytes += record.isNote() ? 0 : record.length();
              if (record.kind() == Envelope.HEAD) {
                heads.add(record.storedKey());
              } else if (!record.isPart() && !record.isNote()) {
                counts.values++;
              }
            });
    if (repair && damaged > 0) {
      map.dropDamaged(segment);
    }
    for (byte[] head : heads) {
      try {
        counts.values += read(StoredKey.keyOf(head)) == null ? 0 : 1;
      } catch (DamagedEntryException e) {
        damaged++;
        if (repair) {
          remove(StoredKey.keyOf(head));
        }
      }
    }
    counts.damaged += damaged;
    counts.dropped += repair ? damaged : 0;
  }

  /** Whether the file would hold this many more bytes before a segment may be full. */
  private boolean hasRoomFor(long bytes) {
    return state.counts.bytes() + bytes <= map.geometry.dataBytes() * FULL;
  }

  /**
   * Stores a record.
   *
   * @param evict what may be evicted to make room
   * @param same whether a record that is replaced counts as the same value
   * @return false if there was no room; then any older record of the key is gone as well
   */
  private boolean putRecord(byte[] storedKey, NewRecord record, Evict evict, boolean same) {
    double share = 0;
    while (true) {
      RecordMap.Put put = map.put(storedKey, record, same);
      if (put.replaced() != null) {
        replaced = payload(storedKey, put.replaced());
      }
      if (put.fitted()) {
        return true;
      }
      int segment = map.segmentOf(storedKey);
      if (share == 0 && rules.moreDisk().take(map, segment, storedKey.length + record.length())) {
        continue;
      }
      share = share == 0 ? firstShare(evict) : Math.min(1, share * 2);
      if (evict == Evict.NONE || !evict(segment, share, evict)) {
        return false;
      }
    }
  }

  private double firstShare(Evict evict) {
    boolean more = evict == Evict.LEAST_USED_IN_HASTE && map.advice.isCold();
    return more ? COLD_EVICTED_SHARE : EVICTED_SHARE;
  }

  /** Returns whether anything was evicted, or could be if a larger share were asked for. */
  private boolean evict(int segment, double share, Evict evict) {
    long before = state.counts.records();
    List<byte[]> victims =
        map.repairing(
            segment,
            () ->
                eviction.victims(
                    segment,
                    share,
                    before,
                    storedKey ->
                        inWriting.test(storedKey)
                            || StoredKey.isNote(storedKey, 0, storedKey.length)
                            || (evict == Evict.NEVER_USED && rules.usage().mayBeUsed(storedKey))));
    for (byte[] victim : victims) {
      if (StoredKey.isPart(victim)) {
        evictPart(victim);
      } else {
        rules.evictions().increment();
        remove(StoredKey.keyOf(victim));
      }
    }
    map.advice.evicted(segment);
    if (!victims.isEmpty() && state.counts.records() >= before) {
      // A damaged record whose key belongs elsewhere cannot be removed.
      map.repair(segment, new IllegalStateException("the file is damaged: key of a record"));
    }
    return !victims.isEmpty() && (share < 1 || state.counts.records() < before);
  }

  /** Evicts a part together with its whole value, which is useless without the part. */
  private void evictPart(byte[] partKey) {
    byte[] key = StoredKey.keyOf(partKey);
    if (split.parts(key, headOf(key)).stream().anyMatch(part -> Arrays.equals(part, partKey))) {
      rules.evictions().increment();
      remove(key);
    }
    // The part may have no head, for example after a crash.
    map.remove(partKey);
  }

  /**
   * Removes the parts of a value.
   *
   * @param head of the value; null if it is not split
   * @param kept the head of a value that may share parts; null if there is none
   */
  private void removeParts(byte[] key, byte[] head, byte[] kept) {
    if (head == null) {
      return;
    }
    Set<ByteBuffer> shared = new HashSet<>();
    split.parts(key, kept).forEach(partKey -> shared.add(ByteBuffer.wrap(partKey)));
    for (byte[] partKey : split.parts(key, head)) {
      if (!shared.contains(ByteBuffer.wrap(partKey))) {
        map.remove(partKey);
      }
    }
  }

  /** The payload of a key's head, invalidated or not; null if it has none. */
  private byte[] headOf(byte[] key) {
    byte[] storedKey = StoredKey.ofValue(key);
    byte[] head = map.headOf(storedKey);
    return head == null ? null : payload(storedKey, head);
  }

  private static byte[] payload(byte[] storedKey, byte[] record) {
    return Envelope.isValid(storedKey, record)
        ? Arrays.copyOfRange(record, Envelope.HEADER_LENGTH, record.length)
        : null;
  }
}
