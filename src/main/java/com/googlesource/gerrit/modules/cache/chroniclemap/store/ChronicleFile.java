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
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import net.openhft.chronicle.bytes.RandomDataInput;
import net.openhft.chronicle.bytes.RandomDataOutput;
import net.openhft.chronicle.hash.Data;
import net.openhft.chronicle.hash.impl.VanillaChronicleHash;
import net.openhft.chronicle.hash.locks.InterProcessDeadLockException;
import net.openhft.chronicle.map.ChronicleMap;
import net.openhft.chronicle.map.ChronicleMapBuilder;
import net.openhft.chronicle.map.ExternalMapQueryContext;
import net.openhft.chronicle.map.MapEntry;
import net.openhft.chronicle.map.MapSegmentContext;

/**
 * One Chronicle-Map file of byte strings, and the only class that touches Chronicle-Map.
 *
 * <p>All blocks of the file are taken when it is made, so that a disk that fills up later can't
 * kill the process through a mapped hole. The file never grows.
 *
 * <p>Reads may run in any number of threads, and together with one writer. Writes are for one
 * thread at a time: Chronicle-Map's locks spin, and several writers would spin against each other.
 * Nothing may be called after {@link #close}; {@link Gate} sees to that.
 */
final class ChronicleFile {
  /** A value's access time is rewritten at most this often, so that reads do not dirty pages. */
  private static final long TOUCH_INTERVAL_MILLIS = 60_000;

  private static final int ALLOCATE_BYTES = 1 << 20;
  private static final int SIZE_WORD_OFFSET = 8;
  private static final int NOT_COMPLETE_BIT = 0x8000_0000;

  private final ChronicleMap<byte[], byte[]> map;
  private final VanillaChronicleHash<?, ?, ?, ?> layout;
  private final int maxPayload;
  private final long dataBytes;
  private final long fileBytes;

  private ChronicleFile(ChronicleMap<byte[], byte[]> map, Geometry geometry) {
    this.map = map;
    this.layout = (VanillaChronicleHash<?, ?, ?, ?>) map;
    this.maxPayload = geometry.maxPayload();
    this.dataBytes = geometry.dataBytes();
    this.fileBytes = layout.dataStoreSize();
  }

  /** Makes a file that only its owner can read. On failure nothing is left behind. */
  static ChronicleFile create(Path path, Geometry geometry) throws IOException {
    Files.createFile(
        path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    try {
      boolean allocated = ChronicleRuntime.allocatesDisk();
      ChronicleFile file =
          new ChronicleFile(builder(geometry).createPersistedTo(path.toFile()), geometry);
      if (!allocated) {
        allocate(path);
      }
      return file;
    } catch (IOException | RuntimeException | Error e) {
      Files.deleteIfExists(path);
      throw e;
    }
  }

  /** Loads the classes that an open file needs, which takes longer than to open one. */
  static void warmUp() throws DamagedEntryException {
    Geometry geometry =
        Geometry.forFileOf(Geometry.MIN_FILE_BYTES, Geometry.DEFAULT_BYTES_PER_SLOT);
    ChronicleFile file = new ChronicleFile(builder(geometry).create(), geometry);
    try {
      byte[] key = StoredKey.ofValue(new byte[1]);
      file.put(key, Envelope.wrap(key, Envelope.WHOLE, 0, new byte[0], 0, 0));
      var unused = file.read(key, 0);
    } finally {
      file.close();
    }
  }

  /** Takes the disk of a sparse file by writing what it holds, before anyone else writes to it. */
  private static void allocate(Path path) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocateDirect(ALLOCATE_BYTES);
    try (FileChannel channel =
        FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      long position = 0;
      while (channel.read(buffer.clear(), position) > 0) {
        buffer.flip();
        while (buffer.hasRemaining()) {
          position += channel.write(buffer, position);
        }
      }
    }
  }

  /** Opens a file that was closed properly. */
  static ChronicleFile open(Path path, Geometry geometry) throws IOException {
    checkHeader(path);
    return new ChronicleFile(builder(geometry).createPersistedTo(path.toFile()), geometry);
  }

  private static ChronicleMapBuilder<byte[], byte[]> builder(Geometry geometry) {
    ChronicleRuntime.prepare();
    return ChronicleMapBuilder.of(byte[].class, byte[].class)
        .actualSegments(geometry.segments())
        .actualChunkSize(geometry.chunkSize())
        .actualChunksPerSegmentTier(geometry.chunksPerSegment())
        .entriesPerSegment(geometry.entriesPerSegment())
        .entries(geometry.entriesPerSegment() * geometry.segments())
        .allowSegmentTiering(false)
        .sparseFile(false)
        // Our own checksum leaves the access time out and is checked on each read, not only in
        // recovery.
        .checksumEntries(false)
        // Nobody wants the older value; reading it would cost a copy.
        .putReturnsNull(true)
        .removeReturnsNull(true)
        // Gerrit stops the store; a second closer in a shutdown hook would unmap it under readers.
        .skipCloseOnExitHook(true);
  }

  /**
   * Refuses what Chronicle-Map would wait a minute for: a header that its writer never finished.
   * Bytes 8 to 11 hold the header's length and, in the top bit, that it is not ready.
   */
  private static void checkHeader(Path path) throws IOException {
    ByteBuffer word = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      while (word.hasRemaining()) {
        if (channel.read(word, SIZE_WORD_OFFSET + word.position()) < 0) {
          throw new IOException("the file is too short: " + channel.size() + " bytes");
        }
      }
    }
    int sizeWord = word.getInt(0);
    if (sizeWord == 0 || (sizeWord & NOT_COMPLETE_BIT) != 0) {
      throw new IOException("the header of the file was never finished");
    }
  }

  /** Bytes of payload above which a value has to be split. */
  int maxPayload() {
    return maxPayload;
  }

  /** Bytes that records can take. */
  long dataBytes() {
    return dataBytes;
  }

  /** Bytes of the file, all of them allocated. */
  long fileBytes() {
    return fileBytes;
  }

  /**
   * Reads a record, with one copy.
   *
   * @return null if there is none
   * @throws DamagedEntryException if its bytes are not those that were stored
   */
  StoredValue read(byte[] storedKey, long nowMillis) throws DamagedEntryException {
    int kind;
    int crc;
    long created;
    byte[] payload;
    try (ExternalMapQueryContext<byte[], byte[], ?> query = map.queryContext(storedKey)) {
      query.readLock().lock();
      MapEntry<byte[], byte[]> entry = query.entry();
      if (entry == null) {
        return null;
      }
      Data<byte[]> value = entry.value();
      RandomDataInput in = value.bytes();
      long offset = value.offset();
      payload = new byte[payloadLength(value.size())];
      kind = in.readInt(offset + Envelope.KIND_OFFSET);
      crc = in.readInt(offset + Envelope.CRC_OFFSET);
      created = in.readLong(offset + Envelope.CREATED_OFFSET);
      if (nowMillis - in.readLong(offset + Envelope.ACCESSED_OFFSET) > TOUCH_INTERVAL_MILLIS) {
        ((RandomDataOutput<?>) in).writeLong(offset + Envelope.ACCESSED_OFFSET, nowMillis);
      }
      in.read(offset + Envelope.HEADER_LENGTH, payload, 0, payload.length);
    } catch (InterProcessDeadLockException e) {
      throw new StoreBusyException(e);
    }
    if (crc != Envelope.checksum(storedKey, kind, created, payload, 0, payload.length)) {
      throw new DamagedEntryException("checksum differs");
    }
    return new StoredValue(kind, created, payload);
  }

  private int payloadLength(long size) throws DamagedEntryException {
    long length = size - Envelope.HEADER_LENGTH;
    if (length < 0 || length > maxPayload) {
      throw new DamagedEntryException("length of " + size + " bytes");
    }
    return (int) length;
  }

  /**
   * The length of an entry's record, if it can be true. Chronicle-Map frees as many chunks as the
   * length says when the entry is removed or replaced, wherever they are; so a file in which a
   * length is wrong can't be written to any more.
   */
  private long checkedSize(MapEntry<byte[], byte[]> entry) {
    long size = entry.value().size();
    if (size < Envelope.HEADER_LENGTH || size > Envelope.HEADER_LENGTH + (long) maxPayload) {
      throw new IllegalStateException("the file is damaged: a record of " + size + " bytes");
    }
    return size;
  }

  /** Bytes of the stored key and record; 0 if there is none. */
  long sizeOf(byte[] storedKey) {
    try (ExternalMapQueryContext<byte[], byte[], ?> query = map.queryContext(storedKey)) {
      query.readLock().lock();
      MapEntry<byte[], byte[]> entry = query.entry();
      return entry == null ? 0 : storedKey.length + checkedSize(entry);
    }
  }

  /**
   * Stores a record made by {@link Envelope#wrap}. If it does not fit, any older record of the key
   * is gone too, so that nobody takes it for the value.
   *
   * @return whether it fitted
   */
  boolean put(byte[] storedKey, byte[] record) {
    long present = sizeOf(storedKey);
    if (present > 0 && present < storedKey.length + (long) record.length) {
      // Where Chronicle-Map finds no room to move a record to, it has freed and uncounted it but
      // left it in the index. Removed after that it is uncounted twice, and what relies on the
      // count, such as clear, then misses records.
      map.remove(storedKey);
    }
    try {
      map.put(storedKey, record);
      return true;
    } catch (IllegalStateException | IllegalArgumentException e) {
      // Chronicle-Map's way to say that the segment has no free run of chunks or no free slot.
      map.remove(storedKey);
      return false;
    }
  }

  /** Removes a record. */
  void remove(byte[] storedKey) {
    if (sizeOf(storedKey) > 0) {
      map.remove(storedKey);
    }
  }

  void clear() {
    map.clear();
  }

  int segments() {
    return map.segments();
  }

  /** Number of records. */
  long records() {
    return map.longSize();
  }

  /** Whether there is a record. */
  boolean contains(byte[] storedKey) {
    return map.containsKey(storedKey);
  }

  /** What {@link #copySegment} hands each record to. */
  interface RecordSink {
    /** Takes a record as it stands, checked or not. The record is valid during the call only. */
    void accept(byte[] storedKey, byte[] record);
  }

  /** Hands out each record of a segment; readers go on meanwhile, writers of the segment wait. */
  void copySegment(int index, RecordSink sink) {
    try (MapSegmentContext<byte[], byte[], ?> segment = map.segmentContext(index)) {
      segment.forEachSegmentEntry(entry -> sink.accept(keyOf(entry), entry.value().get()));
    }
  }

  /** What {@link #forEach} hands each record to. */
  interface Visitor {
    /**
     * Looks at a record.
     *
     * @param valid whether the checksum is right; if not, kind and payload mean nothing
     */
    void visit(byte[] storedKey, StoredValue value, boolean valid);
  }

  /**
   * Visits every record, segment by segment. Readers go on meanwhile; writers of the one segment
   * wait.
   */
  void forEach(Visitor visitor) {
    for (int i = 0; i < map.segments(); i++) {
      try (MapSegmentContext<byte[], byte[], ?> segment = map.segmentContext(i)) {
        segment.forEachSegmentEntry(entry -> visit(entry, visitor));
      }
    }
  }

  /** A copy: Chronicle-Map reads the next key of the same length into the same array. */
  private byte[] keyOf(MapEntry<byte[], byte[]> entry) {
    long size = entry.key().size();
    if (size < 0 || size > dataBytes) {
      throw new IllegalStateException("the file is damaged: a key of " + size + " bytes");
    }
    var unused = checkedSize(entry);
    return entry.key().get().clone();
  }

  private void visit(MapEntry<byte[], byte[]> entry, Visitor visitor) {
    byte[] storedKey = keyOf(entry);
    Data<byte[]> data = entry.value();
    StoredValue value = new StoredValue(-1, 0, new byte[0]);
    boolean valid = false;
    try {
      RandomDataInput in = data.bytes();
      long offset = data.offset();
      byte[] payload = new byte[payloadLength(data.size())];
      in.read(offset + Envelope.HEADER_LENGTH, payload, 0, payload.length);
      value =
          new StoredValue(
              in.readInt(offset + Envelope.KIND_OFFSET),
              in.readLong(offset + Envelope.CREATED_OFFSET),
              payload);
      valid =
          in.readInt(offset + Envelope.CRC_OFFSET)
              == Envelope.checksum(
                  storedKey, value.kind(), value.created(), payload, 0, payload.length);
    } catch (DamagedEntryException e) {
      // valid says it
    }
    visitor.visit(storedKey, value, valid);
  }

  /** Where things are in this file, and in any other of the same geometry. */
  FileLayout layout() {
    return new FileLayout(
        layout.sizeInBytesWithoutTiers() - layout.actualSegments * layout.tierSize,
        layout.actualSegments,
        Math.toIntExact(layout.tierSize),
        Math.toIntExact(layout.tierHashLookupCapacity),
        layout.tierHashLookupSlotSize,
        layout.tierHashLookupKeyBits,
        layout.tierHashLookupValueBits,
        Math.toIntExact(
            layout.tierHashLookupOuterSize
                + VanillaChronicleHash.TIER_COUNTERS_AREA_SIZE
                + layout.tierFreeListOuterSize),
        Math.toIntExact(layout.actualChunksPerSegmentTier),
        Math.toIntExact(layout.chunkSize),
        Envelope.HEADER_LENGTH + maxPayload);
  }

  /** Unmaps the file. */
  void close() {
    map.close();
  }
}
