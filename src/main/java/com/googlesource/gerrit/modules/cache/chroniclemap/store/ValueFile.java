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

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Whole values in a {@link ChronicleFile}, split into parts where they are too large for one entry,
 * and their count and bytes.
 *
 * <p>Order of writes, so that a crash or a reader in between sees the old value, the new one or
 * none: the new parts, the head, then the old parts go. Parts that a crash left without a head are
 * removed by {@link #sweep}.
 *
 * <p>Threads: as {@link ChronicleFile}, any number of readers and one writer.
 */
final class ValueFile {
  /**
   * Share of the chunks in use above which a file is filling. Segments do not fill evenly: at 70 %
   * of the whole the fullest of a hundred is about to overflow.
   */
  private static final double FILLING = 0.7;

  /** How often a split value is put under another id before it counts as not fitting. */
  private static final int SPLIT_ATTEMPTS = 8;

  /** Of a value that is replaced while it is read, the new one is tried this often. */
  private static final int READ_ATTEMPTS = 3;

  private final ChronicleFile file;
  private final long maxValue;
  private final AtomicLong entries = new AtomicLong();
  private final AtomicLong liveBytes = new AtomicLong();

  /** Counts each beginning and each end of a {@link #clear}: odd while there is one. */
  private final AtomicInteger clears = new AtomicInteger();

  /**
   * Takes over an open file.
   *
   * @param maxValue bytes of the largest value there can be; a longer one on disk is damaged
   */
  ValueFile(ChronicleFile file, long maxValue, long entries, long liveBytes) {
    this.file = file;
    this.maxValue = maxValue;
    this.entries.set(entries);
    this.liveBytes.set(liveBytes);
  }

  ChronicleFile file() {
    return file;
  }

  /** Whether the file is so full that a larger one should be made. */
  boolean isFilling() {
    return !hasRoomFor(0);
  }

  /** Bytes of the average record. */
  long averageRecordBytes() {
    long count = file.records();
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

  /** Returns null if there is no value. */
  Value read(byte[] key, long nowMillis) throws DamagedEntryException {
    byte[] storedKey = StoredKey.ofValue(key);
    int clearsBefore = clears.get();
    for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
      StoredValue stored = file.read(storedKey, nowMillis);
      if (stored == null) {
        return null;
      }
      if (stored.kind() == Envelope.WHOLE) {
        return new Value(stored.payload(), stored.created());
      }
      byte[] joined = join(key, stored, nowMillis);
      if (joined != null) {
        return new Value(joined, stored.created());
      }
    }
    if (clears.get() != clearsBefore || isClearing(clearsBefore)) {
      // Parts may go before their head.
      return null;
    }
    throw new DamagedEntryException("a part of the value is missing");
  }

  private static boolean isClearing(int count) {
    return count % 2 != 0;
  }

  private byte[] join(byte[] key, StoredValue head, long nowMillis) throws DamagedEntryException {
    PartList list = partList(head);
    if (list == null || list.length() > maxValue) {
      throw new DamagedEntryException("the head of a split value makes no sense");
    }
    byte[] out = new byte[list.length()];
    int position = 0;
    for (int i = 0; i < list.parts(); i++) {
      StoredValue part = file.read(StoredKey.ofPart(key, list.id(), i), nowMillis);
      if (part == null) {
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

  boolean contains(byte[] key) {
    return file.sizeOf(StoredKey.ofValue(key)) > 0;
  }

  /**
   * Stores a value in place of any older one.
   *
   * @return false if there was no room; then the older one is gone as well
   */
  boolean put(byte[] key, byte[] value, long created) {
    PartList oldParts = partListOf(key);
    if (putOnce(key, value, created)) {
      removeParts(key, oldParts);
      return true;
    }
    // The old value's room may be what the new one lacks.
    removeRecord(StoredKey.ofValue(key));
    removeParts(key, oldParts);
    return oldParts != null && putOnce(key, value, created);
  }

  private boolean putOnce(byte[] key, byte[] value, long created) {
    if (value.length <= file.maxPayload()) {
      return putRecord(StoredKey.ofValue(key), Envelope.WHOLE, created, value, 0, value.length);
    }
    // Where the parts go depends on their id: if one segment gets too many, another id helps.
    int attempts = hasRoomFor(value.length) ? SPLIT_ATTEMPTS : 1;
    for (int i = 0; i < attempts; i++) {
      if (putParts(key, value, created)) {
        return true;
      }
    }
    return false;
  }

  private boolean putParts(byte[] key, byte[] value, long created) {
    PartList list =
        new PartList(ThreadLocalRandom.current().nextLong(), value.length, file.maxPayload());
    int offset = 0;
    for (int i = 0; i < list.parts(); i++) {
      int length = list.lengthOf(i);
      byte[] partKey = StoredKey.ofPart(key, list.id(), i);
      if (!putRecord(partKey, Envelope.PART, created, value, offset, length)) {
        removeParts(key, list);
        return false;
      }
      offset += length;
    }
    byte[] head = list.encode();
    if (!putRecord(StoredKey.ofValue(key), Envelope.HEAD, created, head, 0, head.length)) {
      removeParts(key, list);
      return false;
    }
    return true;
  }

  /** Removes a value. */
  void remove(byte[] key) {
    PartList oldParts = partListOf(key);
    removeRecord(StoredKey.ofValue(key));
    removeParts(key, oldParts);
  }

  /**
   * Copies the values of one segment of another file, but for those that are here already: they are
   * newer. A split value is copied with its head, wherever its parts are.
   *
   * @return how many values did not fit
   */
  int copySegment(ValueFile source, int segment) {
    List<byte[]> heads = new ArrayList<>();
    int[] lost = {0};
    source.file.copySegment(
        segment,
        (storedKey, record) -> {
          if (StoredKey.isPart(storedKey)) {
            return;
          }
          if (Envelope.kindOf(record) == Envelope.HEAD) {
            heads.add(storedKey);
          } else if (!copyRecord(storedKey, record)) {
            lost[0]++;
          }
        });
    for (byte[] head : heads) {
      if (!file.contains(head) && !copySplit(source, StoredKey.keyOf(head))) {
        lost[0]++;
      }
    }
    return lost[0];
  }

  private boolean copyRecord(byte[] storedKey, byte[] record) {
    if (file.contains(storedKey)) {
      return true;
    }
    boolean fitted = file.put(storedKey, record);
    if (fitted) {
      account(storedKey, 0, storedKey.length + (long) record.length);
    }
    return fitted;
  }

  private boolean copySplit(ValueFile source, byte[] key) {
    try {
      Value value = source.read(key, 0);
      return value == null || put(key, value.bytes(), value.created());
    } catch (DamagedEntryException e) {
      return false;
    }
  }

  /** Whether there would be room for that many bytes more without filling the file. */
  boolean hasRoomFor(long bytes) {
    return liveBytes.get() + bytes <= file.dataBytes() * FILLING;
  }

  void clear() {
    clears.incrementAndGet();
    try {
      file.clear();
      entries.set(0);
      liveBytes.set(0);
    } finally {
      clears.incrementAndGet();
    }
  }

  /** What {@link #sweep} found. */
  record Sweep(long kept, long damaged) {}

  /**
   * Reads everything after a recovery, removes what is damaged, the parts no value needs and the
   * values that lack a part, and counts the rest.
   */
  Sweep sweep() {
    List<byte[]> drop = new ArrayList<>();
    List<byte[]> parts = new ArrayList<>();
    Map<Long, PartList> heads = new HashMap<>();
    Map<Long, byte[]> headKeys = new HashMap<>();
    long[] counts = new long[3]; // values, bytes, damaged
    file.forEach(
        (storedKey, value, valid) -> {
          boolean part = StoredKey.isPart(storedKey);
          PartList list = valid && value.kind() == Envelope.HEAD ? partList(value) : null;
          if (!valid
              || part != (value.kind() == Envelope.PART)
              || (value.kind() == Envelope.HEAD && list == null)) {
            drop.add(storedKey);
            counts[2]++;
            return;
          }
          counts[1] += recordBytes(storedKey, value.payload().length);
          if (part) {
            parts.add(storedKey);
            return;
          }
          counts[0]++;
          if (list != null) {
            heads.put(list.id(), list);
            headKeys.put(list.id(), storedKey);
          }
        });
    entries.set(counts[0]);
    liveBytes.set(counts[1]);
    drop.forEach(file::remove);
    dropOrphans(parts, heads, headKeys);
    return new Sweep(entries.get(), counts[2]);
  }

  private void dropOrphans(
      List<byte[]> parts, Map<Long, PartList> heads, Map<Long, byte[]> headKeys) {
    Map<Long, Integer> found = new HashMap<>();
    for (byte[] partKey : parts) {
      found.merge(StoredKey.partId(partKey), 1, Integer::sum);
    }
    heads.forEach(
        (id, list) -> {
          if (found.getOrDefault(id, 0) != list.parts()) {
            removeRecord(headKeys.get(id));
            found.remove(id);
          }
        });
    for (byte[] partKey : parts) {
      long id = StoredKey.partId(partKey);
      if (!heads.containsKey(id) || !found.containsKey(id)) {
        removeRecord(partKey);
      }
    }
  }

  private boolean putRecord(
      byte[] storedKey, int kind, long created, byte[] payload, int offset, int length) {
    long before = file.sizeOf(storedKey);
    byte[] record = Envelope.wrap(storedKey, kind, created, payload, offset, length);
    boolean stored = file.put(storedKey, record);
    long after = stored ? recordBytes(storedKey, length) : 0;
    account(storedKey, before, after);
    return stored;
  }

  private void removeRecord(byte[] storedKey) {
    long before = file.sizeOf(storedKey);
    if (before > 0) {
      file.remove(storedKey);
      account(storedKey, before, 0);
    }
  }

  private void account(byte[] storedKey, long before, long after) {
    liveBytes.addAndGet(after - before);
    if (!StoredKey.isPart(storedKey)) {
      entries.addAndGet((after > 0 ? 1 : 0) - (before > 0 ? 1 : 0));
    }
  }

  private void removeParts(byte[] key, PartList list) {
    if (list != null && list.length() <= maxValue) {
      for (int i = 0; i < list.parts(); i++) {
        removeRecord(StoredKey.ofPart(key, list.id(), i));
      }
    }
  }

  /** The parts of the stored value of a key; null if it has none. */
  private PartList partListOf(byte[] key) {
    byte[] storedKey = StoredKey.ofValue(key);
    if (file.sizeOf(storedKey) != recordBytes(storedKey, PartList.ENCODED_LENGTH)) {
      return null;
    }
    try {
      StoredValue value = file.read(storedKey, 0);
      return value != null && value.kind() == Envelope.HEAD ? partList(value) : null;
    } catch (DamagedEntryException e) {
      return null;
    }
  }

  private static PartList partList(StoredValue head) {
    return PartList.decode(head.payload());
  }

  private static long recordBytes(byte[] storedKey, int payloadLength) {
    return storedKey.length + Envelope.HEADER_LENGTH + (long) payloadLength;
  }
}
