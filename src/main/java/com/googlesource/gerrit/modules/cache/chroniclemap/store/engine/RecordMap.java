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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.engine;

import static java.util.Objects.checkFromToIndex;
import static java.util.Objects.checkIndex;

import com.google.common.base.Throwables;
import com.google.common.flogger.FluentLogger;
import com.google.common.primitives.Longs;
import com.google.common.util.concurrent.Striped;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Envelope.NewRecord;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.BitSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import java.util.function.Supplier;
import net.openhft.chronicle.core.OS;
import net.openhft.chronicle.hash.Data;
import net.openhft.chronicle.hash.impl.CompactOffHeapLinearHashTable;
import net.openhft.chronicle.hash.impl.util.CanonicalRandomAccessFiles;
import net.openhft.chronicle.map.ExternalMapQueryContext;
import net.openhft.chronicle.map.VanillaChronicleMap;

/**
 * A map of keys to records, both byte strings, in one Chronicle-Map file with its {@link
 * FileState}. {@link RecordMapBuilder} creates and opens them.
 *
 * <p>The file has the length of its limit from the start, and is sparse. A write to a mapped hole
 * on a full disk would kill the process. So each segment uses only the chunks that have disk: the
 * others are marked as used until {@link #takeDisk} is called for the segment.
 *
 * <p>Chronicle-Map keeps the locks and counts of segments in the file. Here they are in plain
 * memory instead, and the counts are saved in the state file. So a read writes nothing to the file,
 * a killed process leaves no lock behind, and no reader waits for a disk that currently takes no
 * writes.
 *
 * <p>A segment that may be damaged (see {@link FileState.Verdict}) is repaired on first use, and
 * one that turns out to be damaged is repaired then. That reads only this segment, and costs at
 * most its records.
 *
 * <p>Chronicle-Map makes all changes but the marks of invalidated records. Reads find records by
 * the file's layout, under Chronicle-Map's locks: see {@link MappedRecord}.
 *
 * <p>Any number of threads may read while one thread writes. Once the file is unmapped, reads find
 * nothing. The caller ensures that no thread writes then, which would kill the process. Access to
 * records may throw {@link StoreBusyException}.
 */
public final class RecordMap {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /**
   * From so many bytes on that are allocated at a time, zeros are written as well: the page cache
   * then has fewer and larger pages, with which a read of 10 KB takes a tenth less.
   */
  private static final int MIN_WRITE_BYTES = 64 << 10;

  private final VanillaChronicleMap<byte[], byte[], ?> map;

  /** Chronicle-Map's hash tables, by the logarithm of their slots. For the writer. */
  private final CompactOffHeapLinearHashTable[] tables;

  /** The most entries of a segment that uses all slots. */
  private final long maxEntries;

  /** Kept here because the map only returns its address while it is open. */
  final long address;

  final long mappedBytes;

  public final FileState state;

  /** The counts of the file's content, which are part of the {@link #state}. */
  public final SegmentCounts counts;

  final SegmentHeaders headers;

  /** Limits the repairs at a time in the whole process, as each takes a segment of heap. */
  private static final Striped<Lock> REPAIRS = Striped.lock(4);

  private final Path path;

  private final LongAdder damaged;

  /**
   * The layout of this file, and of any other of the same geometry. Made while the file is surely
   * mapped, as Chronicle-Map reads a part of it from the file.
   */
  final FileLayout layout;

  /** For the writer. */
  public final FullFileAdvice advice;

  /** Address after the record that the last put inserted; 0 if it replaced one. For the writer. */
  private long insertedEnd;

  public final Geometry geometry;

  /** Bytes of the file, whether they have disk or not: see {@link #diskBytes}. */
  public final long fileBytes;

  private final Disk disk;

  /** The file as the map has it open, to allocate disk. */
  private final RandomAccessFile file;

  /** The name by which {@link #file} was opened. */
  private final File opened;

  /** Whether headers and {@link #file} were given back, once: others may have them by then. */
  private final AtomicBoolean unmapped = new AtomicBoolean();

  /** Entered by whoever uses the mapping, but for the writer. */
  private final Gate gate = new Gate();

  /** Whether {@link #expectRandomAccess} was called. */
  private final AtomicBoolean advised = new AtomicBoolean();

  /**
   * The file that is mapped, even if another file has its name, for all access that bypasses the
   * mapping.
   */
  final FileChannel channel;

  /**
   * Takes over a map that is not used yet.
   *
   * @param channel to read, write and force the file, closed with this map
   * @param damaged counts damaged records that are found in repairs
   */
  RecordMap(
      VanillaChronicleMap<byte[], byte[], ?> map,
      Geometry geometry,
      FileState state,
      Disk disk,
      Path path,
      FileChannel channel,
      long fileBytes,
      LongAdder damaged)
      throws IOException {
    this.channel = channel;
    this.disk = disk;
    this.map = map;
    this.tables = RecordMapBuilder.tables(map);
    this.maxEntries = map.maxEntriesPerHashLookup;
    this.address = map.bsAddress();
    this.mappedBytes = map.dataStoreSize();
    this.state = state;
    this.counts = state.counts;
    this.layout = new FileLayout(map, geometry.maxPayload());
    this.advice = new FullFileAdvice(address, mappedBytes, layout, counts);
    this.headers = SegmentHeaders.takeOver(map, layout);
    if (SegmentHeaders.isLocked(map)) {
      state.beforeWrite();
      SegmentHeaders.unlock(map);
    }
    for (int i = 0; i < layout.segments; i++) {
      if (counts.records(i) < 0 || counts.records(i) >= layout.slots) {
        counts.mark(i);
      }
      if (counts.room(i) < 0 || counts.room(i) > layout.fullRoom) {
        counts.setRoom(i, layout.fullRoom);
      }
      headers.setEntries(i, counts.isUnchecked(i) ? 0 : counts.records(i));
    }
    this.path = path;
    this.damaged = damaged;
    this.geometry = geometry;
    this.fileBytes = fileBytes;
    // Last, as it has to be released.
    this.opened = path.toFile().getCanonicalFile();
    this.file = CanonicalRandomAccessFiles.acquire(opened);
  }

  // ---- reading

  /**
   * Reads a record, which copies it once. Writes to the file only to repair the segment.
   *
   * @return null if there is none; one without payload if it is invalidated
   * @throws DamagedEntryException if the bytes are not those that were stored
   */
  public StoredValue read(byte[] storedKey) throws DamagedEntryException {
    return read(storedKey, null, 0);
  }

  /**
   * Reads the payload of a record into an array, which has any content after a failure.
   *
   * @return the length of the payload; -1 if there is no record, or it is invalidated
   * @throws DamagedEntryException if the bytes are not those that were stored, or there is no room
   */
  public int readInto(byte[] storedKey, byte[] target, int from) throws DamagedEntryException {
    checkFromToIndex(from, target.length, target.length);
    StoredValue found = read(storedKey, target, from);
    return found == null || found.isInvalidated() ? -1 : found.length();
  }

  private StoredValue read(byte[] storedKey, byte[] target, int from) throws DamagedEntryException {
    StoredValue found = withRecord(storedKey, record -> record.copy(target, from), null);
    if (found == null || found.isInvalidated()) {
      return found;
    }
    if (found.payload() == null) {
      throw new DamagedEntryException("a record is too long");
    }
    if (!found.isIntact(storedKey, from)) {
      throw new DamagedEntryException("checksum differs");
    }
    return found;
  }

  /** To be called before the writer uses a segment, which repairs it if it is unchecked. */
  private void beginUse(int segment) {
    disk.touching(path);
    if (gate.isShut()) {
      throw new IllegalStateException("the file is closed");
    }
    checkInside(segment);
  }

  /** Takes the lock that excludes other writers but no readers, for a change by Chronicle-Map. */
  private void lockForUpdate(ExternalMapQueryContext<byte[], byte[], ?> query, int segment) {
    SegmentHeaders.lockForUpdate(query);
    if (counts.isUnchecked(segment)) {
      // A reader has found damage since, and has not ended its repair.
      throw new StoreBusyException();
    }
    if (OS.memory().readLong(addressOf(segment) + layout.countersOffset) != 0) {
      // A segment has one tier. Chronicle-Map would look for the next one where nothing is mapped.
      throw new IllegalStateException("damaged segment: it has a next tier");
    }
    int slots = slots(segment);
    map.hashLookup = tables[Integer.numberOfTrailingZeros(slots)];
    // A put for which there is no free slot has no room.
    map.maxEntriesPerHashLookup = slots == layout.slots ? maxEntries : slots * 2L / 3;
  }

  /**
   * Runs a step in one segment. If the content of the segment makes it fail, the segment is
   * repaired and the step runs again.
   */
  public <T> T repairing(int segment, Supplier<T> step) {
    try {
      return step.get();
    } catch (RuntimeException | AssertionError e) {
      repair(segment, e);
      return step.get();
    }
  }

  /**
   * Repairs a segment under its locks.
   *
   * @param cause of the repair; thrown again if the content cannot be the reason
   */
  public void repair(int segment, Throwable cause) {
    if (cause instanceof StoreBusyException
        || cause.getCause() instanceof IOException
        || gate.isShut()) {
      Throwables.throwIfUnchecked(cause);
    }
    damaged.add(dropDamaged(segment));
    logger.atWarning().withCause(cause).atMostEvery(1, TimeUnit.MINUTES).log(
        "Segment %d of %s was damaged; it is repaired, and damaged records are dropped",
        segment, path);
  }

  /** Repairs a segment under its locks; returns how many damaged records that has dropped. */
  public int dropDamaged(int segment) {
    disk.touching(path);
    int[] dropped = {0};
    whileLocked(
        segment,
        () -> {
          counts.mark(segment);
          dropped[0] = repairUnchecked(segment);
        });
    return dropped[0];
  }

  /** Runs a step while nobody reads or writes a segment. */
  private void whileLocked(int segment, Runnable step) {
    headers.lockForWrite(segment);
    try {
      step.run();
    } finally {
      headers.unlockWrite(segment);
    }
  }

  /** Whether there is a record, invalidated or not. */
  public boolean contains(byte[] storedKey) {
    return withRecord(storedKey, record -> true, false);
  }

  /** Asks about a record; nobody moves or overwrites it meanwhile. */
  private <T> T withRecord(byte[] storedKey, Function<MappedRecord, T> question, T ifAbsent) {
    long stamp = gate.enter();
    if (stamp == 0) {
      return ifAbsent;
    }
    long hash = FileLayout.hash(storedKey);
    int segment = layout.segmentOf(hash);
    try {
      return withRecord(storedKey, hash, segment, question, ifAbsent);
    } catch (RuntimeException | AssertionError e) {
      repair(segment, e);
      return withRecord(storedKey, hash, segment, question, ifAbsent);
    } finally {
      gate.leave(stamp);
    }
  }

  private <T> T withRecord(
      byte[] storedKey, long hash, int segment, Function<MappedRecord, T> question, T ifAbsent) {
    disk.touching(path);
    if (counts.isToBeEmptied(segment)) {
      // No reader waits for that.
      return ifAbsent;
    }
    checkInside(segment);
    headers.lockForRead(segment);
    try {
      if (counts.isUnchecked(segment)) {
        // A repair has begun since, and was not ended: an invalidation would find nothing.
        throw new StoreBusyException();
      }
      MappedRecord record = isUnused(segment) ? null : find(storedKey, hash, segment);
      return record == null ? ifAbsent : question.apply(record);
    } finally {
      headers.unlockRead(segment);
    }
  }

  /** Finds a record; null if there is none. The caller holds a lock of the segment. */
  private MappedRecord find(byte[] storedKey, long hash, int segment) {
    return MappedRecord.find(
        layout, addressOf(segment), slots(segment), layout.slotKey(hash), storedKey);
  }

  private int slots(int segment) {
    return layout.slotsIn(counts.room(segment));
  }

  private long addressOf(int segment) {
    return address + layout.offsetOf(segment);
  }

  /** The record of a key if it is the head of a split value, invalidated or not; otherwise null. */
  public byte[] headOf(byte[] storedKey) {
    return withRecord(storedKey, MappedRecord::head, null);
  }

  /** The segment to which a key belongs. */
  public int segmentOf(byte[] storedKey) {
    return layout.segmentOf(FileLayout.hash(storedKey));
  }

  // ---- writing

  /**
   * The result of a put.
   *
   * @param fitted whether the record is in the file
   * @param replaced the older record of the key if it was the head of a split value; otherwise null
   */
  public record Put(boolean fitted, byte[] replaced) {}

  /**
   * Stores a record made by {@link Envelope#wrap}. If the record does not fit, any older record of
   * the key is removed too, so that it is not taken for the value.
   *
   * @param same whether a record that is replaced is known to have the same value
   * @throws StoreBusyException if a lock was not free in time; then nothing has changed
   */
  public Put put(byte[] storedKey, NewRecord record, boolean same) {
    insertedEnd = 0;
    long hash = FileLayout.hash(storedKey);
    int segment = layout.segmentOf(hash);
    Put put = repairing(segment, () -> putOnce(storedKey, hash, segment, record, same));
    if (insertedEnd != 0) {
      // Not under the lock of the segment, for which readers wait.
      advice.inserted(segment, insertedEnd, storedKey.length + record.length());
    }
    return put;
  }

  private Put putOnce(byte[] storedKey, long hash, int segment, NewRecord record, boolean same) {
    beginUse(segment);
    if (isUnused(segment)) {
      return new Put(false, null);
    }
    NewRecord key = new NewRecord(storedKey);
    try (ExternalMapQueryContext<byte[], byte[], ?> query = map.queryContext(key)) {
      lockForUpdate(query, segment);
      MappedRecord there = find(storedKey, hash, segment);
      if (there != null && !same && !there.isInvalidated() && !isSame(there, record)) {
        noteChange();
      }
      byte[] head = there == null ? null : there.head();
      SegmentHeaders.lockForWrite(query);
      begin(segment);
      counts.noteCreated(segment, Envelope.createdOf(record.header(), 0));
      if (there != null && record.length() <= there.length()) {
        query.replaceValue(query.entry(), record);
        count(segment, storedKey, 0, record.length() - there.length());
        return new Put(true, head);
      }
      if (there != null) {
        // Removed instead of replaced: a replace that finds no room leaves the entry in the index,
        // although its chunks are free. Invalidated, so that no damaged slot leads to a value
        // there.
        there.invalidate();
        query.remove(query.entry());
        count(segment, storedKey, -1, -there.length());
      }
      try {
        query.insert(query.absentEntry(), record);
      } catch (IllegalStateException | IllegalArgumentException e) {
        // Chronicle-Map's exceptions for a segment without a free run of chunks or a free slot.
        return new Put(false, head);
      }
      count(segment, storedKey, 1, record.length());
      Data<byte[]> inserted = query.entry().value();
      insertedEnd = inserted.bytes().addressForRead(inserted.offset()) + record.length();
      return new Put(true, head);
    }
  }

  /** Whether two records have the same value, whatever their times of creation. */
  private boolean isSame(MappedRecord there, NewRecord record) {
    // If the change is noted already, the answer has no effect.
    return state.isChangeNoted() || record.hasValueOf(there.bytes());
  }

  private void noteChange() {
    try {
      state.noteChange();
    } catch (IOException e) {
      // Otherwise a crash of the machine could bring the older value back.
      throw new IllegalStateException("cannot note in the state file that a value was replaced", e);
    }
  }

  private void begin(int segment) {
    state.beforeWrite();
    counts.begin(segment);
  }

  private void count(int segment, byte[] storedKey, int more, long recordBytes) {
    boolean isNote = StoredKey.isNote(storedKey, 0, storedKey.length);
    counts.add(
        segment,
        more,
        isNote || StoredKey.isPart(storedKey) ? 0 : more,
        isNote ? 0 : (int) (recordBytes + (long) more * storedKey.length));
    state.wrote();
  }

  /**
   * Removes a record; returns whether there was one. After a crash of the machine it may be back,
   * so a value that must not be found again has to be invalidated first.
   *
   * @throws StoreBusyException if a lock was not free in time; then nothing has changed
   */
  public boolean remove(byte[] storedKey) {
    long hash = FileLayout.hash(storedKey);
    int segment = layout.segmentOf(hash);
    return repairing(segment, () -> removeOnce(storedKey, hash, segment));
  }

  private boolean removeOnce(byte[] storedKey, long hash, int segment) {
    beginUse(segment);
    if (isUnused(segment)) {
      return false;
    }
    NewRecord key = new NewRecord(storedKey);
    try (ExternalMapQueryContext<byte[], byte[], ?> query = map.queryContext(key)) {
      lockForUpdate(query, segment);
      MappedRecord there = find(storedKey, hash, segment);
      if (there == null) {
        return false;
      }
      SegmentHeaders.lockForWrite(query);
      begin(segment);
      query.remove(query.entry());
      count(segment, storedKey, -1, -there.length());
      return true;
    }
  }

  /**
   * Invalidates a record if there is one. May be called by any thread, even during a write: the
   * read lock keeps the record in place. The first change after the file was opened waits for the
   * disk.
   */
  public void invalidate(byte[] storedKey) throws StoreBusyException {
    // Also without a record: one that was removed could be back after a crash of the machine.
    noteChange();
    boolean unused =
        withRecord(
            storedKey,
            record -> {
              if (!record.isInvalidated()) {
                record.invalidate();
                state.wrote();
              }
              return true;
            },
            false);
  }

  // ---- whole segments

  /** Repairs or empties a segment, unless it was checked before. For any thread. */
  public void check(int segment) {
    checkIndex(segment, layout.segments);
    whileMapped(() -> checkInside(segment));
  }

  private void checkInside(int segment) {
    if (counts.isUnchecked(segment)) {
      whileLocked(segment, () -> damaged.add(repairUnchecked(segment)));
    }
  }

  /**
   * Repairs a segment under its locks, if it is unchecked, before its first use after a kill or a
   * crash of the machine; or empties it, if that is due. A repair reads the whole segment, 1 to 2
   * MB. If the process is killed meanwhile, the segment still counts as unchecked.
   *
   * @return how many damaged records were dropped
   * @throws IllegalStateException if the file cannot be read or written
   * @throws StoreBusyException if there is too little memory
   */
  private int repairUnchecked(int segment) {
    if (counts.isToBeEmptied(segment)) {
      empty(segment);
      return 0;
    }
    Lock lock = REPAIRS.get(path.hashCode() + segment);
    lock.lock();
    try {
      if (counts.isUnchecked(segment)) {
        SegmentRepair repair = new SegmentRepair(layout);
        repair.run(segment, this);
        return repair.damaged;
      }
      return 0;
    } catch (IOException e) {
      throw new IllegalStateException("cannot repair segment " + segment, e);
    } catch (OutOfMemoryError e) {
      // The file has not changed.
      logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.MINUTES).log(
          "No memory to repair segment %d of %s; its next use tries again", segment, path);
      throw new StoreBusyException();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Empties a segment under its locks, and gives its disk back. Where the system cannot do that,
   * the disk stays where it is until the segment takes it again.
   */
  private void empty(int segment) {
    state.beforeWrite();
    long start = layout.offsetOf(segment);
    int room = Math.max(counts.room(segment), layout.chunksOffset);
    try {
      // Not through the mapping: of a segment that was not checked, it is not known what has disk.
      // There may be more slots than known then; what is not punched of them is on these pages.
      long list = start + layout.countersOffset;
      long slotsEnd = start + layout.slotsEnd(counts.room(segment));
      writeZeros(start, Math.max(slotsEnd, OS.pageAlign(start)));
      writeZeros(Math.max(slotsEnd, list - list % OS.pageSize()), start + layout.chunksOffset);
      headers.setEntries(segment, 0);
      state.wrote();
      // While the writer waits for the lock: once the segment counts as emptied, it takes disk.
      if (!punch(address + start, room) && !isZero(slotsEnd, list)) {
        writeZeros(slotsEnd, list);
      }
    } catch (IOException e) {
      throw new IllegalStateException("cannot empty segment " + segment, e);
    }
    counts.emptied(segment);
  }

  /** Whether a part of the file is zeros, as where it lacks disk. */
  private boolean isZero(long from, long end) throws IOException {
    byte[] part = new byte[(int) (end - from)];
    return SegmentReader.readFully(channel, from, ByteBuffer.wrap(part))
        && Arrays.equals(part, new byte[part.length]);
  }

  /** Gives back the whole pages of a part of the file; returns false if the system cannot. */
  private static boolean punch(long from, int bytes) {
    long first = OS.pageAlign(from);
    long pages = (from + bytes - first) / OS.pageSize();
    LibC libC = LibC.get();
    return libC != null
        && (pages <= 0 || libC.madvise(first, pages * OS.pageSize(), LibC.REMOVE) == 0);
  }

  /** The callback of {@link #scanSegment}. */
  public interface Scan {
    /**
     * Takes a record.
     *
     * @param storedKey valid during the call only
     * @param created milliseconds since the epoch
     * @param bytes of the key and the record
     */
    void record(byte[] storedKey, long created, int bytes);
  }

  /**
   * Passes on each record of a segment, always in the same order while nothing is written. Does not
   * block readers; {@code scan} may read, but must not write. Fails if the segment is damaged: see
   * {@link #repairing}.
   */
  public void scanSegment(int index, Scan scan) {
    // Memory beyond the last segment is not mapped.
    checkIndex(index, layout.segments);
    beginUse(index);
    if (isUnused(index)) {
      return;
    }
    headers.lockForRead(index);
    try {
      MappedRecord.forEach(layout, addressOf(index), slots(index), scan);
    } finally {
      headers.unlockRead(index);
    }
  }

  /** Returns a reader that bypasses Chronicle-Map, to be used while nothing is written. */
  public SegmentReader reader() {
    return new SegmentReader(this, path);
  }

  /** Whether the header of the mapped file is the one that it was created with. */
  public boolean hasHeader() throws IOException {
    return state.hasHeader(channel);
  }

  // ---- disk

  /** Whether a segment has no disk yet. Even a read could fail there, on a full disk. */
  private boolean isUnused(int segment) {
    return counts.room(segment) == 0;
  }

  /** The bytes of the file that have disk, about; its cost grows with the number of segments. */
  public long diskBytes() {
    long bytes = layout.headersOffset;
    for (int i = 0; i < layout.segments; i++) {
      bytes += layout.diskOf(counts.room(i));
    }
    return Math.min(fileBytes, bytes);
  }

  /**
   * Gives a segment disk for a quarter more chunks than it has. So that happens some twenty times
   * in its life, and costs a few system calls. For the writer.
   *
   * @param bytes for which there should be room at least
   * @param spared bytes of the volume that are left to others
   * @return false if the segment has all of its disk
   * @throws IOException if the volume has no room; then nothing has changed
   */
  public boolean takeDisk(int segment, int bytes, long spared) throws IOException {
    checkInside(segment);
    int before = counts.room(segment);
    if (before == layout.fullRoom) {
      return false;
    }
    int room = layout.moreRoom(segment, before, bytes);
    long free = disk.free(path.toAbsolutePath().getParent());
    if (free != 0 && free - (room - before) < spared) {
      throw new IOException("what is free on the volume of " + path + " is left to others");
    }
    disk.allocating(path);
    // Before that changes the file's time, by which a closed file is known.
    state.beforeWrite();
    long start = layout.offsetOf(segment);
    if (before == 0) {
      allocate(start, start + layout.slotsEnd(room));
      allocate(start + layout.countersOffset, start + room);
    } else {
      // The rest of a page in use has its disk.
      allocate(OS.pageAlign(start + layout.slotsEnd(before)), start + layout.slotsEnd(room));
      allocate(OS.pageAlign(start + before), start + room);
    }
    whileLocked(segment, () -> useRoom(segment, before, room));
    return true;
  }

  /** Allocates disk for a part of the file that nobody uses yet, if there is one. */
  private void allocate(long from, long end) throws IOException {
    if (from < end
        && (!ChronicleRuntime.allocate(file, path, from, end) || end - from >= MIN_WRITE_BYTES)) {
      writeZeros(from, end);
    }
  }

  private void writeZeros(long from, long end) throws IOException {
    SegmentReader.writeFully(channel, from, ByteBuffer.allocate((int) (end - from)));
  }

  private void useRoom(int segment, int before, int room) {
    begin(segment);
    long start = addressOf(segment);
    if (layout.slotsIn(before) < layout.slotsIn(room)) {
      spreadSlots(start, layout.slotsIn(before), layout.slotsIn(room));
    }
    BitSet used = layout.usedChunks(start);
    // The bits of a segment without disk are zeros, also of chunks that have none yet.
    used.set(layout.chunksIn(room), layout.chunks);
    used.clear(layout.chunksIn(before), layout.chunksIn(room));
    layout.putUsedChunks(start, used);
    counts.setRoom(segment, room);
    // The search for free chunks starts from the first one again.
    headers.setEntries(segment, counts.records(segment));
    state.wrote();
  }

  /**
   * Spreads the slots of a segment over more of them. Should the process be killed meanwhile, each
   * is at its old place or its new one, or at both: the upper ones are written first, and from a
   * free slot on, those that stay below move towards it if at all.
   */
  private void spreadSlots(long start, int before, int after) {
    int free = 0;
    while (layout.mappedSlot(start, free) != 0) {
      free++;
    }
    long[] used = new long[before];
    for (int i = 0; i < before; i++) {
      used[i] = layout.mappedSlot(start, (free + i) & (before - 1));
    }
    byte[] table = layout.table(Longs.asList(used), after).array();
    int upper = before * layout.slotBytes;
    int first = free * layout.slotBytes;
    OS.memory().writeBytes(start + upper, table, upper, table.length - upper);
    OS.memory().writeBytes(start + first, table, first, upper - first);
    OS.memory().writeBytes(start, table, 0, first);
  }

  /**
   * Allocates the disk that a segment may lack; false if its content has to be written for that.
   */
  boolean allocateAgain(int segment, int room) throws IOException {
    disk.allocating(path);
    long start = layout.offsetOf(segment);
    return ChronicleRuntime.allocate(file, path, start, start + layout.slotsEnd(room))
        && ChronicleRuntime.allocate(file, path, start + layout.countersOffset, start + room);
  }

  /**
   * Advises the system to read and write only the pages that are accessed, not those around them.
   */
  public void expectRandomAccess() {
    if (advised.compareAndSet(false, true)) {
      whileMapped(() -> ChronicleRuntime.expectRandomAccess(address, mappedBytes));
      if (mappedBytes >= BorrowedPages.MIN_FILE_BYTES) {
        // Readers and evictions need it, and should not load it under the writer's lock.
        var unused = LibC.get();
      }
    }
  }

  /** Runs the action unless the file is unmapped. An unmapping waits for the action. */
  void whileMapped(Runnable action) {
    long stamp = gate.enter();
    if (stamp != 0) {
      try {
        action.run();
      } finally {
        gate.leave(stamp);
      }
    }
  }

  /** Turns all users but the writer away, and waits for those that use the mapping. */
  public void shut() {
    gate.shut();
  }

  /** Forces the file to disk, also after {@link #unmap}. */
  public void force() throws IOException {
    state.force(path, channel);
  }

  /** Computes the CRC32C of the whole file, also after {@link #unmap}. */
  public int checksum() throws IOException {
    return state.checksum(channel);
  }

  /** Unmaps and closes the file and its state file. */
  public void close() {
    try {
      unmap();
    } finally {
      release();
    }
  }

  /** Unmaps the file, which stays open until {@link #release}. */
  public void unmap() {
    shut();
    try {
      map.close();
    } finally {
      if (unmapped.compareAndSet(false, true)) {
        headers.free();
        CanonicalRandomAccessFiles.release(opened);
      }
    }
  }

  /** Closes the unmapped file and its state file, which nobody may be forcing. */
  public void release() {
    close(channel);
    state.release();
  }

  static void close(FileChannel file) {
    try {
      if (file != null) {
        file.close();
      }
    } catch (IOException e) {
      logger.atFine().withCause(e).log(
          "Cannot close an unused file; its disk is freed when the process ends");
    }
  }
}
