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

import static java.util.Objects.checkIndex;

import com.google.common.flogger.FluentLogger;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import net.openhft.chronicle.bytes.RandomDataInput;
import net.openhft.chronicle.bytes.RandomDataOutput;
import net.openhft.chronicle.hash.Data;
import net.openhft.chronicle.hash.impl.VanillaChronicleHash;
import net.openhft.chronicle.hash.locks.InterProcessDeadLockException;
import net.openhft.chronicle.hash.locks.InterProcessLock;
import net.openhft.chronicle.map.ChronicleMap;
import net.openhft.chronicle.map.ChronicleMapBuilder;
import net.openhft.chronicle.map.ExternalMapQueryContext;
import net.openhft.chronicle.map.MapEntry;
import net.openhft.chronicle.map.MapSegmentContext;

/**
 * One Chronicle-Map file of byte strings. All use of Chronicle-Map is here, but for {@link
 * FileHeader}, which reads a file that is not mapped.
 *
 * <p>All blocks of the file are taken when it is made, so that a disk that fills up later can't
 * kill the process through a mapped hole. The file never grows.
 *
 * <p>Reads may run in any number of threads, and together with one writer. Writes are for one
 * thread at a time: Chronicle-Map's locks spin, and several writers would spin against each other.
 * Nothing may be called after {@link #close}; {@link Gate} sees to that.
 */
final class ChronicleFile {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();
  private static final int SPINS = 50;
  private static final long PAUSE_NANOS = 20_000;
  private static final long LOCK_WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** What one pause counts for at most, however long it really took. */
  private static final long LONGEST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private final ChronicleMap<byte[], byte[]> map;

  /** Noted while the file is mapped for sure: Chronicle-Map reads a part of it from the file. */
  private final FileLayout layout;

  private final int maxPayload;
  private final long dataBytes;
  private final long slots;
  private final long fileBytes;
  private final Disk disk;

  /** For reading past the mapping; null if the file is in memory only. */
  private final FileChannel channel;

  private ChronicleFile(
      ChronicleMap<byte[], byte[]> map,
      Geometry geometry,
      Disk disk,
      FileChannel channel,
      long fileBytes) {
    this.disk = disk;
    this.channel = channel;
    this.map = map;
    VanillaChronicleHash<?, ?, ?, ?> hash = (VanillaChronicleHash<?, ?, ?, ?>) map;
    this.layout = layout(hash, geometry.maxPayload());
    this.maxPayload = geometry.maxPayload();
    this.dataBytes = geometry.dataBytes();
    this.slots = geometry.segments() * geometry.entriesPerSegment();
    this.fileBytes = fileBytes;
  }

  /** Makes a file that only its owner can read. On failure nothing is left behind. */
  static ChronicleFile create(Disk disk, Path path, Geometry geometry) throws IOException {
    disk.create(path);
    try {
      boolean allocated = ChronicleRuntime.allocatesDisk();
      ChronicleFile file = map(disk, path, geometry);
      if (!allocated) {
        allocateOrClose(disk, path, file);
      }
      return file;
    } catch (IOException | RuntimeException | Error e) {
      try {
        disk.delete(path);
      } catch (IOException left) {
        e.addSuppressed(left);
      }
      throw e;
    }
  }

  private static ChronicleFile map(Disk disk, Path path, Geometry geometry) throws IOException {
    disk.mapping(path);
    ChronicleMap<byte[], byte[]> map = builder(geometry).createPersistedTo(path.toFile());
    try {
      // Chronicle-Map rounds what it maps up to a page.
      long size = disk.size(path);
      if (size < ((VanillaChronicleHash<?, ?, ?, ?>) map).dataStoreSize()) {
        // To touch memory beyond the end of its file is a fault.
        throw new IOException("the file was cut off at " + size + " bytes");
      }
      return new ChronicleFile(
          map, geometry, disk, disk.open(path, Set.of(StandardOpenOption.READ)), size);
    } catch (IOException | RuntimeException | Error e) {
      map.close();
      throw e;
    }
  }

  /** Loads the classes that an open file needs, which takes longer than to open one. */
  static void warmUp() throws DamagedEntryException {
    Geometry geometry =
        Geometry.forFileOf(Geometry.MIN_FILE_BYTES, Geometry.DEFAULT_BYTES_PER_SLOT);
    try (ChronicleMap<byte[], byte[]> map = builder(geometry).create()) {
      ChronicleFile file = new ChronicleFile(map, geometry, Disk.REAL, null, 0);
      byte[] key = StoredKey.ofValue(new byte[1]);
      var unusedSize = file.put(key, Envelope.wrap(key, Envelope.WHOLE, 0, 0, new byte[0], 0, 0));
      var unused = file.read(key, 0, 0);
    }
  }

  private static void allocateOrClose(Disk disk, Path path, ChronicleFile file) throws IOException {
    try {
      Holes.rewrite(disk, path);
    } catch (IOException | RuntimeException | Error e) {
      // A file that is deleted while it is mapped keeps its disk.
      file.close();
      throw e;
    }
  }

  /** Opens a file that was closed properly. */
  static ChronicleFile open(Disk disk, Path path, Geometry geometry) throws IOException {
    FileHeader.checkReady(disk, path);
    return map(disk, path, geometry);
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

  /** Bytes of payload above which a value has to be split. */
  int maxPayload() {
    return maxPayload;
  }

  /** Bytes that records can take. */
  long dataBytes() {
    return dataBytes;
  }

  /** Records for which slots are laid out. */
  long slots() {
    return slots;
  }

  /** Bytes of the file, all of them allocated. */
  long fileBytes() {
    return fileBytes;
  }

  /**
   * Reads a record, with one copy.
   *
   * @param touchMillis the access time is rewritten if it is older than this by more
   * @return null if there is none; {@link StoredValue#VOID} if it is void
   * @throws DamagedEntryException if its bytes are not those that were stored
   */
  StoredValue read(byte[] storedKey, long nowMillis, long touchMillis)
      throws DamagedEntryException {
    int kind;
    int crc;
    long created;
    byte[] payload;
    disk.touching();
    try (ExternalMapQueryContext<byte[], byte[], ?> query = map.queryContext(storedKey)) {
      lockForRead(query);
      MapEntry<byte[], byte[]> entry = query.entry();
      if (entry == null) {
        return null;
      }
      Data<byte[]> value = entry.value();
      RandomDataInput in = value.bytes();
      long offset = value.offset();
      kind = in.readInt(offset + Envelope.KIND_OFFSET);
      if (Envelope.isVoid(kind)) {
        return StoredValue.VOID;
      }
      payload = new byte[payloadLength(value.size())];
      crc = in.readInt(offset + Envelope.CRC_OFFSET);
      created = in.readLong(offset + Envelope.CREATED_OFFSET);
      if (nowMillis - in.readLong(offset + Envelope.ACCESSED_OFFSET) > touchMillis) {
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

  /**
   * Takes the lock of readers. Chronicle-Map would spin for it: where the writer that has the
   * segment is not running, because all processors are busy, that keeps it from running.
   */
  private static void lockForRead(ExternalMapQueryContext<byte[], byte[], ?> query) {
    InterProcessLock lock = query.readLock();
    for (int i = 0; i < SPINS; i++) {
      if (lock.tryLock()) {
        return;
      }
      Thread.onSpinWait();
    }
    // Not by the clock alone: after a pause of the whole process the lock is free in a moment.
    long waited = 0;
    long before = System.nanoTime();
    while (!lock.tryLock()) {
      if (waited > LOCK_WAIT_NANOS) {
        throw new StoreBusyException(null);
      }
      LockSupport.parkNanos(PAUSE_NANOS);
      long now = System.nanoTime();
      waited += Math.min(now - before, LONGEST_PAUSE_NANOS);
      before = now;
    }
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
    disk.touching();
    try (ExternalMapQueryContext<byte[], byte[], ?> query = map.queryContext(storedKey)) {
      lockForRead(query);
      MapEntry<byte[], byte[]> entry = query.entry();
      return entry == null ? 0 : storedKey.length + checkedSize(entry);
    }
  }

  /**
   * Stores a record made by {@link Envelope#wrap}. If it does not fit, any older record of the key
   * is gone too, so that nobody takes it for the value.
   *
   * @return bytes of the key and the older record, 0 if there was none; the bitwise complement of
   *     that if the new one did not fit
   */
  long put(byte[] storedKey, byte[] record) {
    disk.touching();
    try (ExternalMapQueryContext<byte[], byte[], ?> query = map.queryContext(storedKey)) {
      query.updateLock().lock();
      MapEntry<byte[], byte[]> entry = query.entry();
      long before = 0;
      if (entry != null) {
        long size = checkedSize(entry);
        before = storedKey.length + size;
        if (record.length <= size) {
          query.replaceValue(entry, query.wrapValueAsData(record));
          return before;
        }
        // Not replaced: where Chronicle-Map finds no room to move a record to, it has freed and
        // uncounted it but left it in the index.
        query.remove(entry);
      }
      try {
        query.insert(query.absentEntry(), query.wrapValueAsData(record));
        return before;
      } catch (IllegalStateException | IllegalArgumentException e) {
        // Chronicle-Map's way to say that the segment has no free run of chunks or no free slot.
        return ~before;
      }
    }
  }

  /** Removes a record; returns bytes of its key and itself, 0 if there was none. */
  long remove(byte[] storedKey) {
    disk.touching();
    try (ExternalMapQueryContext<byte[], byte[], ?> query = map.queryContext(storedKey)) {
      query.updateLock().lock();
      MapEntry<byte[], byte[]> entry = query.entry();
      if (entry == null) {
        return 0;
      }
      long size = storedKey.length + checkedSize(entry);
      query.remove(entry);
      return size;
    }
  }

  /**
   * Makes a record void, if there is one. May be called by any thread, also while another one
   * writes: the lock of readers keeps the record where it is.
   */
  void markVoid(byte[] storedKey) throws StoreBusyException {
    disk.touching();
    try (ExternalMapQueryContext<byte[], byte[], ?> query = map.queryContext(storedKey)) {
      lockForRead(query);
      MapEntry<byte[], byte[]> entry = query.entry();
      if (entry != null) {
        var unused = checkedSize(entry);
        RandomDataInput in = entry.value().bytes();
        long offset = entry.value().offset() + Envelope.VOID_OFFSET;
        ((RandomDataOutput<?>) in)
            .writeByte(offset, (byte) (in.readByte(offset) | Envelope.VOID_BYTE));
      }
    } catch (InterProcessDeadLockException e) {
      throw new StoreBusyException(e);
    }
  }

  /** Whether there is a record that is void. */
  boolean isVoid(byte[] storedKey) {
    disk.touching();
    try (ExternalMapQueryContext<byte[], byte[], ?> query = map.queryContext(storedKey)) {
      lockForRead(query);
      MapEntry<byte[], byte[]> entry = query.entry();
      return entry != null
          && (entry.value().bytes().readByte(entry.value().offset() + Envelope.VOID_OFFSET)
                  & Envelope.VOID_BYTE)
              != 0;
    }
  }

  /**
   * The record of a key, void or not, if its payload has exactly this length; null if not. A put of
   * a small value pays for no more than the look-up.
   */
  byte[] headOf(byte[] storedKey, int payloadLength) {
    disk.touching();
    try (ExternalMapQueryContext<byte[], byte[], ?> query = map.queryContext(storedKey)) {
      lockForRead(query);
      MapEntry<byte[], byte[]> entry = query.entry();
      return entry == null || checkedSize(entry) != Envelope.HEADER_LENGTH + (long) payloadLength
          ? null
          : entry.value().get().clone();
    }
  }

  /** Milliseconds since the epoch of the last access that was noted; 0 if there is no record. */
  long accessed(byte[] storedKey) {
    disk.touching();
    try (ExternalMapQueryContext<byte[], byte[], ?> query = map.queryContext(storedKey)) {
      lockForRead(query);
      MapEntry<byte[], byte[]> entry = query.entry();
      return entry == null
          ? 0
          : entry.value().bytes().readLong(entry.value().offset() + Envelope.ACCESSED_OFFSET);
    }
  }

  /** The segment in which the record of a key lies, if there is one. */
  int segmentOf(byte[] storedKey) {
    try (ExternalMapQueryContext<byte[], byte[], ?> query = map.queryContext(storedKey)) {
      return query.segmentIndex();
    }
  }

  void clear() {
    disk.touching();
    map.clear();
  }

  int segments() {
    return layout.segments();
  }

  /** Number of records. */
  long records() {
    return map.longSize();
  }

  /** Whether there is a record. */
  boolean contains(byte[] storedKey) {
    disk.touching();
    return map.containsKey(storedKey);
  }

  /** What {@link #scanSegment} tells of each record. */
  interface Scan {
    /**
     * Looks at a record.
     *
     * @param storedKey valid during the call only
     * @param created milliseconds since the epoch
     * @param accessed milliseconds since the epoch
     * @param bytes of the key and the record
     */
    void record(byte[] storedKey, long created, long accessed, int bytes);
  }

  /**
   * Tells of each record of a segment, in the same order as long as nothing is written. Readers go
   * on meanwhile.
   */
  void scanSegment(int index, Scan scan) {
    // Chronicle-Map does not look, and what lies beyond the last segment is not mapped.
    checkIndex(index, segments());
    disk.touching();
    try (MapSegmentContext<byte[], byte[], ?> segment = map.segmentContext(index)) {
      segment.forEachSegmentEntry(
          entry -> {
            int bytes = Math.toIntExact(checkedKeySize(entry) + checkedSize(entry));
            Data<byte[]> value = entry.value();
            long created = value.bytes().readLong(value.offset() + Envelope.CREATED_OFFSET);
            long accessed = value.bytes().readLong(value.offset() + Envelope.ACCESSED_OFFSET);
            scan.record(entry.key().get(), created, accessed, bytes);
          });
    }
  }

  private long checkedKeySize(MapEntry<byte[], byte[]> entry) {
    long size = entry.key().size();
    if (size < 0 || size > dataBytes) {
      throw new IllegalStateException("the file is damaged: a key of " + size + " bytes");
    }
    return size;
  }

  /**
   * Where things are in a file of another geometry. Takes as much address space for a moment, and
   * of it as much memory as the file has slots: 3 to 7 %.
   */
  static FileLayout layoutOf(Geometry geometry) {
    try (ChronicleMap<byte[], byte[]> map = builder(geometry).create()) {
      return layout((VanillaChronicleHash<?, ?, ?, ?>) map, geometry.maxPayload());
    }
  }

  /** Where things are in this file, and in any other of the same geometry. */
  FileLayout layout() {
    return layout;
  }

  private static FileLayout layout(VanillaChronicleHash<?, ?, ?, ?> hash, int maxPayload) {
    return FileLayout.of(
        hash,
        hash.segmentHeadersOffset,
        hash.sizeInBytesWithoutTiers() - hash.actualSegments * hash.tierSize,
        maxPayload);
  }

  /** A reader of this file past Chronicle-Map; to be used while nobody writes. */
  SegmentReader reader() {
    return reader(channel);
  }

  /**
   * As {@link #reader()}, with a channel of the caller's own: one that may be closed by an
   * interrupt.
   */
  SegmentReader reader(FileChannel own) {
    return new SegmentReader(own, layout(), /* whole= */ true);
  }

  /** Unmaps the file. */
  void close() {
    map.close();
    try {
      channel.close();
    } catch (IOException e) {
      logger.atFine().withCause(e).log("cannot close");
    }
  }
}
