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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Whole values in a {@link ChronicleFile}, split into parts where they are too large for one entry,
 * and their count and bytes.
 *
 * <p>Order of writes, so that a crash or a reader in between sees the old value, the new one or
 * none: the new parts, the head, then the old parts go. Parts that a crash left without a head are
 * removed by {@link #sweep}.
 *
 * <p>Threads: as {@link ChronicleFile}, any number of readers and one writer; {@link #markVoid} is
 * for any.
 */
final class ValueFile {
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

  private final ChronicleFile file;
  private final long maxValue;
  private final Usage usage;
  private final StoreCounters counters;
  private final Eviction eviction;
  private final AtomicLong entries = new AtomicLong();
  private final AtomicLong liveBytes = new AtomicLong();

  /** Values, and parts of values. */
  private final AtomicLong records = new AtomicLong();

  /** The id under which parts are being put; they have no head yet and must not be evicted. */
  private long partsInWriting;

  private boolean writingParts;

  /**
   * Takes over an open file.
   *
   * @param maxValue bytes of the largest value there can be; a longer one on disk is damaged
   */
  ValueFile(
      ChronicleFile file,
      long maxValue,
      Usage usage,
      StoreCounters counters,
      long entries,
      long liveBytes) {
    this.file = file;
    this.maxValue = maxValue;
    this.usage = usage;
    this.counters = counters;
    this.eviction = new Eviction(file, usage);
    this.entries.set(entries);
    this.liveBytes.set(liveBytes);
    this.records.set(file.records());
  }

  ChronicleFile file() {
    return file;
  }

  /** Whether the file is so full that a larger one should be made. */
  boolean isFilling() {
    return !hasRoomFor(0);
  }

  /**
   * Whether the slots are nearly all used while less than a third of the bytes is: a file of half
   * the size, with the slots that such values need, would hold them.
   */
  boolean isShortOfSlots() {
    return records.get() > file.slots() * SHORT_OF_SLOTS
        && liveBytes.get() < file.dataBytes() * FILLING / 2;
  }

  /** Bytes of the average record. */
  long averageRecordBytes() {
    long count = records.get();
    return count == 0 ? 0 : liveBytes.get() / count;
  }

  /** Values in the file. */
  long entries() {
    return entries.get();
  }

  /** Bytes of all keys and records. */
  long liveBytes() {
    return liveBytes.get();
  }

  /** Returns null if there is no value, {@link Value#VOID} if it is void. */
  Value read(byte[] key, long nowMillis) throws DamagedEntryException {
    byte[] storedKey = StoredKey.ofValue(key);
    for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
      StoredValue stored = file.read(storedKey, nowMillis, usage.touchMillis());
      if (stored == null) {
        return null;
      }
      if (stored.isVoid()) {
        return Value.VOID;
      }
      if (stored.kind() == Envelope.WHOLE) {
        return new Value(stored.payload(), stored.created());
      }
      byte[] joined = join(key, stored, nowMillis);
      if (joined != null) {
        return new Value(joined, stored.created());
      }
    }
    // Replaced all the time, or damaged: the writer will tell.
    throw new DamagedEntryException("a part of the value is missing", /* certain= */ false);
  }

  private byte[] join(byte[] key, StoredValue head, long nowMillis) throws DamagedEntryException {
    PartList list = partList(head);
    if (list == null || list.length() > maxValue) {
      throw new DamagedEntryException("the head of a split value makes no sense");
    }
    byte[] out = new byte[list.length()];
    int position = 0;
    for (int i = 0; i < list.parts(); i++) {
      StoredValue part =
          file.read(StoredKey.ofPart(key, list.id(), i), nowMillis, usage.touchMillis());
      if (part == null || part.isVoid()) {
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
   * Makes a key's value void: from here on nobody finds it, and no crash brings it back. For any
   * thread; the writer takes the value away later.
   */
  void markVoid(byte[] key) {
    file.markVoid(StoredKey.ofValue(key));
  }

  /**
   * Stores a value in place of any older one.
   *
   * @param evict whether values of less use may go to make room
   * @return false if there was no room; then the older one is gone as well
   */
  boolean put(byte[] key, byte[] value, long created, boolean evict) {
    return put(key, value, created, usage.now(), evict);
  }

  /** As above, of a value whose last access is known: milliseconds since the epoch. */
  boolean put(byte[] key, byte[] value, long created, long accessed, boolean evict) {
    PartList oldParts = partListOf(key);
    if (putOnce(key, value, created, accessed, evict)) {
      removeParts(key, oldParts);
      return true;
    }
    // The old value's room may be what the new one lacks.
    removeRecord(StoredKey.ofValue(key));
    removeParts(key, oldParts);
    return oldParts != null && putOnce(key, value, created, accessed, evict);
  }

  private boolean putOnce(byte[] key, byte[] value, long created, long accessed, boolean evict) {
    if (value.length <= file.maxPayload()) {
      byte[] storedKey = StoredKey.ofValue(key);
      return putRecord(
          storedKey,
          Envelope.wrap(storedKey, Envelope.WHOLE, created, accessed, value, 0, value.length),
          evict);
    }
    // Where the parts go depends on their id: if one segment gets too many, another id helps.
    int attempts = evict || hasRoomFor(value.length) ? SPLIT_ATTEMPTS : 1;
    for (int i = 0; i < attempts; i++) {
      if (putParts(key, value, created, accessed, evict)) {
        return true;
      }
    }
    return false;
  }

  private boolean putParts(byte[] key, byte[] value, long created, long accessed, boolean evict) {
    PartList list =
        new PartList(ThreadLocalRandom.current().nextLong(), value.length, file.maxPayload());
    partsInWriting = list.id();
    writingParts = true;
    try {
      int offset = 0;
      for (int i = 0; i < list.parts(); i++) {
        int length = list.lengthOf(i);
        byte[] partKey = StoredKey.ofPart(key, list.id(), i);
        byte[] part =
            Envelope.wrap(partKey, Envelope.PART, created, accessed, value, offset, length);
        if (!putRecord(partKey, part, evict)) {
          removeParts(key, list);
          return false;
        }
        offset += length;
      }
      byte[] storedKey = StoredKey.ofValue(key);
      byte[] parts = list.encode();
      byte[] head =
          Envelope.wrap(storedKey, Envelope.HEAD, created, accessed, parts, 0, parts.length);
      if (!putRecord(storedKey, head, evict)) {
        removeParts(key, list);
        return false;
      }
      return true;
    } finally {
      writingParts = false;
    }
  }

  /** Removes a value. */
  void remove(byte[] key) {
    PartList oldParts = partListOf(key);
    removeRecord(StoredKey.ofValue(key));
    removeParts(key, oldParts);
  }

  /** Removes the values of a segment that were made before; returns how many. */
  int removeOlder(int segment, long minCreated) {
    List<byte[]> old = new ArrayList<>();
    file.scanSegment(
        segment,
        (storedKey, created, accessed, bytes) -> {
          if (created < minCreated && !StoredKey.isPart(storedKey)) {
            old.add(storedKey.clone());
          }
        });
    old.forEach(storedKey -> remove(StoredKey.keyOf(storedKey)));
    return old.size();
  }

  /** Whether a record of a larger file has to be split in this one. */
  boolean isTooLong(byte[] record) {
    return record.length - Envelope.HEADER_LENGTH > file.maxPayload();
  }

  /** Stores the value that stands in one record of a larger file. */
  boolean putWhole(byte[] storedKey, byte[] record) {
    return put(
        StoredKey.keyOf(storedKey),
        Arrays.copyOfRange(record, Envelope.HEADER_LENGTH, record.length),
        Envelope.createdOf(record),
        Envelope.accessedOf(record),
        /* evict= */ true);
  }

  /** Checks a segment; the writer's lock keeps it as it is meanwhile. */
  void verifySegment(int segment, SegmentReader reader, VerifyCounts counts) throws IOException {
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
        counts.values += read(StoredKey.keyOf(head), 0) == null ? 0 : 1;
      } catch (DamagedEntryException e) {
        counts.damaged++;
      }
    }
  }

  /** Whether there would be room for that many bytes more without filling the file. */
  boolean hasRoomFor(long bytes) {
    return liveBytes.get() + bytes <= file.dataBytes() * FILLING;
  }

  void clear() {
    file.clear();
    entries.set(0);
    liveBytes.set(0);
    records.set(0);
  }

  /**
   * Takes a record as it was read from another file, and counts it only later, in {@link #sweep}.
   */
  void putUncounted(RecordView view) {
    byte[] storedKey = view.storedKey();
    byte[] record = view.record();
    if (!isTooLong(record)) {
      var unused = store(storedKey, record, /* evict= */ true);
    } else if (Envelope.kindOf(record) == Envelope.WHOLE) {
      var unused = putWhole(storedKey, record);
    }
    // Too long a part of a value: without it the others go.
  }

  /** What {@link #sweep} found. */
  record Sweep(long kept, long damaged) {}

  /**
   * Reads everything after a recovery, removes what is damaged, the parts no value needs and the
   * values that lack a part, and counts the rest.
   */
  Sweep sweep() throws IOException {
    Census census = new Census();
    SegmentReader reader = file.reader();
    long damaged = 0;
    for (int i = 0; i < file.segments(); i++) {
      damaged += reader.read(i, census::add);
    }
    return settle(census, damaged);
  }

  /** As {@link #sweep}, after everything has been read. */
  Sweep settle(Census census, long damaged) {
    entries.set(census.values());
    liveBytes.set(census.bytes());
    census.misplaced().forEach(file::remove);
    records.set(file.records());
    census.orphans(this::removeRecord);
    return new Sweep(entries.get(), damaged + census.misplaced().size());
  }

  /** Stores a record and counts it; returns false if there was no room. */
  boolean putRecord(byte[] storedKey, byte[] record, boolean evict) {
    long before = store(storedKey, record, evict);
    boolean stored = before >= 0;
    account(
        storedKey, stored ? before : ~before, stored ? storedKey.length + (long) record.length : 0);
    return stored;
  }

  /** As {@link ChronicleFile#put}, but makes room where it must and may. */
  private long store(byte[] storedKey, byte[] record, boolean evict) {
    long before = file.put(storedKey, record);
    if (before >= 0 || !evict) {
      return before;
    }
    int segment = file.segmentOf(storedKey);
    double share = EVICTED_SHARE;
    while (evict(segment, share)) {
      if (file.put(storedKey, record) >= 0) {
        return ~before;
      }
      share = Math.min(1, share * 2);
    }
    return before;
  }

  /** Returns whether anything went, or may go when more of the segment should. */
  private boolean evict(int segment, double share) {
    long before = records.get();
    List<byte[]> victims =
        eviction.victims(
            segment,
            share,
            storedKey ->
                writingParts
                    && StoredKey.isPart(storedKey)
                    && StoredKey.partId(storedKey) == partsInWriting);
    for (byte[] victim : victims) {
      if (StoredKey.isPart(victim)) {
        evictPart(victim);
      } else {
        counters.evictions.increment();
        remove(StoredKey.keyOf(victim));
      }
    }
    // What is not where its key belongs can't be removed: asked for it all, that would never end.
    return !victims.isEmpty() && (share < 1 || records.get() < before);
  }

  /** A value is of no use without one of its parts. */
  private void evictPart(byte[] partKey) {
    byte[] key = StoredKey.keyOf(partKey);
    PartList list = partListOf(key);
    if (list != null && list.id() == StoredKey.partId(partKey)) {
      counters.evictions.increment();
      remove(key);
    }
    // Even so: of a void head nothing is known, and a part may have been left behind.
    removeRecord(partKey);
  }

  private void removeRecord(byte[] storedKey) {
    long before = file.remove(storedKey);
    if (before > 0) {
      account(storedKey, before, 0);
    }
  }

  private void account(byte[] storedKey, long before, long after) {
    liveBytes.addAndGet(after - before);
    records.addAndGet((after > 0 ? 1 : 0) - (before > 0 ? 1 : 0));
    if (!StoredKey.isPart(storedKey)) {
      entries.addAndGet((after > 0 ? 1 : 0) - (before > 0 ? 1 : 0));
    }
  }

  private void removeParts(byte[] key, PartList list) {
    // By what a file can hold, not by the longest value: that may be less than when it was put.
    if (list != null && list.parts() <= file.slots()) {
      for (int i = 0; i < list.parts(); i++) {
        removeRecord(StoredKey.ofPart(key, list.id(), i));
      }
    }
  }

  /** The parts of the stored value of a key, void or not; null if it has none. */
  private PartList partListOf(byte[] key) {
    byte[] storedKey = StoredKey.ofValue(key);
    byte[] record = file.headOf(storedKey, PartList.ENCODED_LENGTH);
    return record != null
            && Envelope.isValid(storedKey, record)
            && Envelope.kindOf(record) == Envelope.HEAD
        ? partList(record)
        : null;
  }

  private static PartList partList(byte[] headRecord) {
    return PartList.decode(
        Arrays.copyOfRange(headRecord, Envelope.HEADER_LENGTH, headRecord.length));
  }

  private static PartList partList(StoredValue head) {
    return PartList.decode(head.payload());
  }
}
