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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Envelope;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.PartList;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.SegmentReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredKey;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredValue;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongPredicate;

/**
 * Whole values in a {@link RecordMap}, split into parts where they are too large for one entry, and
 * their count and bytes.
 *
 * <p>Order of writes, so that a crash or a reader in between sees the old value, the new one or
 * none: the new parts, the head, then the old parts go. Parts that a crash left without a head
 * leave as others do, when there is no room.
 *
 * <p>Threads: as {@link RecordMap}, any number of readers and one writer; {@link #invalidate} is
 * for any.
 */
public final class ValueTable {
  /**
   * Share of the chunks in use above which a file is filling. Segments do not fill evenly: at 70 %
   * of the whole the fullest of a hundred is about to overflow.
   */
  private static final double FILLING = 0.7;

  /** Share of the records for which slots are laid out above which a file is short of them. */
  private static final double SHORT_OF_SLOTS = 0.8;

  /** How often a split value is put under another id before it counts as not fitting. */
  private static final int SPLIT_ATTEMPTS = 8;

  /** Of a value that is replaced while it is read, the new one is tried this often. */
  private static final int READ_ATTEMPTS = 3;

  /** Share of a segment that is freed at a time; twice that if it was not enough, and so on. */
  private static final double EVICTED_SHARE = 0.125;

  private final RecordMap map;
  private final long maxValue;
  private final boolean oldValuesStayValid;
  private final Usage usage;
  private final LongAdder evictions;
  private final Eviction eviction;
  private final FileState state;

  /** The id under which parts are being put; they have no head yet and must not be evicted. */
  private long partsInWriting;

  private boolean writingParts;

  /** The parts of the value that the last put has replaced; null if it had none. */
  private PartList replaced;

  /**
   * Takes over an open file.
   *
   * @param maxValue bytes of the largest value that may be put
   * @param oldValuesStayValid whether a value in place of another is no change: a key names what
   *     its value is made from
   * @param evictions counts values that leave to make room
   */
  public ValueTable(
      RecordMap map, long maxValue, boolean oldValuesStayValid, Usage usage, LongAdder evictions) {
    this.map = map;
    this.maxValue = maxValue;
    this.oldValuesStayValid = oldValuesStayValid;
    this.usage = usage;
    this.evictions = evictions;
    this.eviction = new Eviction(map, usage);
    this.state = map.state();
  }

  public RecordMap map() {
    return map;
  }

  /** Whether an older value must not be found any more once another one was put for its key. */
  public boolean invalidatesOldValues() {
    return !oldValuesStayValid;
  }

  /** Whether the file is so full that a larger one should be made. */
  public boolean isFilling() {
    return !hasRoomFor(0);
  }

  /**
   * Whether the slots are nearly all used while less than a third of the bytes is: a file of half
   * the size, with the slots that such values need, would hold them.
   */
  public boolean isShortOfSlots() {
    return state.records() > map.slots() * SHORT_OF_SLOTS
        && state.bytes() < map.dataBytes() * FILLING / 2;
  }

  /** Bytes of the average record. */
  public long averageRecordBytes() {
    long count = state.records();
    return count == 0 ? 0 : state.bytes() / count;
  }

  /** Says that no larger file will be made: values will have to leave when it is full. */
  public void expectEviction() {
    usage.count(Math.max(state.records(), map.slots() / 4));
  }

  /** Values in the file. */
  public long entries() {
    return state.values();
  }

  /** Bytes of all keys and records. */
  public long liveBytes() {
    return state.bytes();
  }

  /** Returns null if there is no value; of one that is invalidated no more is known than that. */
  public StoredValue read(byte[] key) throws DamagedEntryException {
    byte[] storedKey = StoredKey.ofValue(key);
    for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
      StoredValue stored = map.read(storedKey);
      if (stored == null || stored.isInvalidated() || stored.kind() == Envelope.WHOLE) {
        return stored;
      }
      byte[] joined = join(key, stored);
      if (joined != null) {
        return new StoredValue(Envelope.WHOLE, stored.created(), joined);
      }
    }
    // Replaced all the time, or damaged: the writer will tell.
    throw new DamagedEntryException("a part of the value is missing", /* certain= */ false);
  }

  private byte[] join(byte[] key, StoredValue head) throws DamagedEntryException {
    PartList list = partList(head);
    // Not by what may be put now: the store may have had a higher limit.
    if (list == null || list.length() > map.dataBytes()) {
      throw new DamagedEntryException("the head of a split value makes no sense");
    }
    byte[] out = new byte[list.length()];
    int position = 0;
    for (int i = 0; i < list.parts(); i++) {
      StoredValue part = map.read(StoredKey.ofPart(key, list.id(), i));
      if (part == null || part.isInvalidated()) {
        return null;
      }
      int length = list.lengthOf(i);
      if (part.payload().length != length) {
        throw new DamagedEntryException("a part of the value has the wrong length");
      }
      System.arraycopy(part.payload(), 0, out, position, length);
      position += length;
    }
    return out;
  }

  /**
   * Invalidates a key's value: from here on nobody finds it, and no crash brings it back. For any
   * thread; the writer takes the value away later.
   */
  public void invalidate(byte[] key) {
    map.invalidate(StoredKey.ofValue(key));
  }

  /**
   * Stores a value in place of any older one.
   *
   * @param evict whether values of less use may go to make room
   * @return false if there was no room; then the older one is gone as well
   */
  public boolean put(byte[] key, byte[] value, long created, boolean evict) {
    replaced = null;
    if (putOnce(key, value, created, evict)) {
      removeParts(key, replaced);
      return true;
    }
    PartList oldParts = replaced != null ? replaced : partListOf(key);
    // The old value's room may be what the new one lacks.
    if (contains(key)) {
      if (!oldValuesStayValid) {
        invalidate(key);
      }
      map.remove(StoredKey.ofValue(key));
    }
    removeParts(key, oldParts);
    return oldParts != null && putOnce(key, value, created, evict);
  }

  private boolean putOnce(byte[] key, byte[] value, long created, boolean evict) {
    if (value.length <= map.maxPayload()) {
      byte[] storedKey = StoredKey.ofValue(key);
      return putRecord(
          storedKey,
          Envelope.wrap(storedKey, Envelope.WHOLE, created, value, 0, value.length),
          evict,
          /* same= */ oldValuesStayValid);
    }
    // Where the parts go depends on their id: if one segment gets too many, another id helps.
    int attempts = evict || hasRoomFor(value.length) ? SPLIT_ATTEMPTS : 1;
    for (int i = 0; i < attempts; i++) {
      if (putParts(key, value, created, evict)) {
        return true;
      }
    }
    return false;
  }

  private boolean putParts(byte[] key, byte[] value, long created, boolean evict) {
    // Only as long as it makes a difference: to look costs a read.
    boolean same = oldValuesStayValid || (!state.isNoted() && isThere(key, value));
    PartList list =
        new PartList(ThreadLocalRandom.current().nextLong(), value.length, map.maxPayload());
    partsInWriting = list.id();
    writingParts = true;
    try {
      int offset = 0;
      for (int i = 0; i < list.parts(); i++) {
        int length = list.lengthOf(i);
        byte[] partKey = StoredKey.ofPart(key, list.id(), i);
        byte[] part = Envelope.wrap(partKey, Envelope.PART, created, value, offset, length);
        if (!putRecord(partKey, part, evict, same)) {
          removeParts(key, list);
          return false;
        }
        offset += length;
      }
      byte[] storedKey = StoredKey.ofValue(key);
      byte[] parts = list.encode();
      byte[] head = Envelope.wrap(storedKey, Envelope.HEAD, created, parts, 0, parts.length);
      if (!putRecord(storedKey, head, evict, same)) {
        removeParts(key, list);
        return false;
      }
      return true;
    } finally {
      writingParts = false;
    }
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

  /** Removes a value. */
  public void remove(byte[] key) {
    PartList oldParts = partListOf(key);
    map.remove(StoredKey.ofValue(key));
    removeParts(key, oldParts);
  }

  /** Removes the values of a segment that were made too long ago; returns how many. */
  public int removeOld(int segment, LongPredicate isTooOld) {
    List<byte[]> old = new ArrayList<>();
    map.scanSegment(
        segment,
        (storedKey, created, bytes) -> {
          if (isTooOld.test(created) && !StoredKey.isPart(storedKey)) {
            old.add(storedKey.clone());
          }
        });
    old.forEach(storedKey -> remove(StoredKey.keyOf(storedKey)));
    return old.size();
  }

  /** Whether a value is so large that too much would have to go for it. */
  boolean isTooLarge(byte[] value) {
    return value.length > Math.min(maxValue, map.dataBytes() / 2);
  }

  /**
   * Stores a value that stands in one record of another file; values of less use may go for it. It
   * is split where the other file has larger segments than this one.
   */
  boolean putCopy(byte[] storedKey, byte[] record) {
    return record.length - Envelope.HEADER_LENGTH > map.maxPayload()
        ? put(
            StoredKey.keyOf(storedKey),
            Arrays.copyOfRange(record, Envelope.HEADER_LENGTH, record.length),
            Envelope.createdOf(record),
            /* evict= */ true)
        : putRecord(storedKey, record, /* evict= */ true, oldValuesStayValid);
  }

  /** Counts while a store is checked. */
  public static final class VerifyCounts {
    public long values;
    public long bytes;
    public long damaged;
  }

  /** Checks a segment; the writer's lock keeps it as it is meanwhile. */
  public void verifySegment(int segment, SegmentReader reader, VerifyCounts counts)
      throws IOException {
    map.check(segment);
    List<byte[]> heads = new ArrayList<>();
    counts.damaged +=
        reader.read(
            segment,
            record -> {
              counts.bytes += record.length();
              if (record.kind() == Envelope.HEAD) {
                heads.add(record.storedKey());
              } else if (!record.isPart()) {
                counts.values++;
              }
            });
    for (byte[] head : heads) {
      try {
        counts.values += read(StoredKey.keyOf(head)) == null ? 0 : 1;
      } catch (DamagedEntryException e) {
        counts.damaged++;
      }
    }
  }

  /** Whether there would be room for that many bytes more without filling the file. */
  public boolean hasRoomFor(long bytes) {
    return state.bytes() + bytes <= map.dataBytes() * FILLING;
  }

  /**
   * Stores a record.
   *
   * @param evict whether values of less use may go to make room
   * @param same whether it takes the place of the same value, if of any
   * @return false if there was no room; then any older record of the key is gone as well
   */
  private boolean putRecord(byte[] storedKey, byte[] record, boolean evict, boolean same) {
    if (putAsItIs(storedKey, record, same)) {
      return true;
    }
    if (!evict) {
      return false;
    }
    int segment = map.segmentOf(storedKey);
    double share = EVICTED_SHARE;
    while (evict(segment, share)) {
      if (putAsItIs(storedKey, record, same)) {
        return true;
      }
      share = Math.min(1, share * 2);
    }
    return false;
  }

  private boolean putAsItIs(byte[] storedKey, byte[] record, boolean same) {
    RecordMap.Put put = map.put(storedKey, record, same);
    if (put.replaced() != null) {
      replaced = partList(storedKey, put.replaced());
    }
    return put.fitted();
  }

  /** Returns whether anything went, or may go when more of the segment should. */
  private boolean evict(int segment, double share) {
    long before = state.records();
    List<byte[]> victims =
        eviction.victims(
            segment,
            share,
            state.records(),
            storedKey ->
                writingParts
                    && StoredKey.isPart(storedKey)
                    && StoredKey.partId(storedKey) == partsInWriting);
    for (byte[] victim : victims) {
      if (StoredKey.isPart(victim)) {
        evictPart(victim);
      } else {
        evictions.increment();
        remove(StoredKey.keyOf(victim));
      }
    }
    // What is not where its key belongs can't be removed: asked for it all, that would never end.
    return !victims.isEmpty() && (share < 1 || state.records() < before);
  }

  /** A value is of no use without one of its parts. */
  private void evictPart(byte[] partKey) {
    byte[] key = StoredKey.keyOf(partKey);
    PartList list = partListOf(key);
    if (list != null && list.id() == StoredKey.partId(partKey)) {
      evictions.increment();
      remove(key);
    }
    // Even so: of an invalidated head nothing is known, and a part may have been left behind.
    map.remove(partKey);
  }

  private void removeParts(byte[] key, PartList list) {
    // By what a file can hold, not by the longest value: that may be less than when it was put.
    if (list != null && list.parts() <= map.slots()) {
      for (int i = 0; i < list.parts(); i++) {
        map.remove(StoredKey.ofPart(key, list.id(), i));
      }
    }
  }

  /** The parts of the stored value of a key, invalidated or not; null if it has none. */
  private PartList partListOf(byte[] key) {
    byte[] storedKey = StoredKey.ofValue(key);
    byte[] head = map.headOf(storedKey);
    return head == null ? null : partList(storedKey, head);
  }

  private static PartList partList(byte[] storedKey, byte[] head) {
    return Envelope.isValid(storedKey, head)
        ? PartList.decode(Arrays.copyOfRange(head, Envelope.HEADER_LENGTH, head.length))
        : null;
  }

  private static PartList partList(StoredValue head) {
    return PartList.decode(head.payload());
  }
}
