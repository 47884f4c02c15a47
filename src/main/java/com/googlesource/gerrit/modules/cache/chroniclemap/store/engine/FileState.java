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

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;

/**
 * What is known of a store's file, in a small file beside it that is mapped while the store is
 * open: whether it was closed, what each segment holds, which segments may be half written, and
 * whether anything in it was ever invalidated. It answers, at the next start and, but for copies,
 * without reading the store's file itself, what of that may be used; see {@link #judge}.
 *
 * <p>Rests on three facts. What a process has written into mapped memory is in the file, in the
 * order of writing, even if the process is killed. One thread at a time writes, so that after a
 * kill only the segments that it touched last can be half written: those are noted before they are
 * touched ({@link #begin}). And a crash of the machine may take any page back to an older state, so
 * that after one an older value could be found, unless no key of the file ever had two values:
 * {@link #noteChange} says on disk, before the first value is put in place of another or removed,
 * that this has ended. What is loaded again after it had to leave for lack of room counts as the
 * same value.
 *
 * <p>The format, little endian:
 *
 * <pre>
 *      0  magic (8), checksum over what follows up to 64 (4), segments (4), bytes of the file (8),
 *         bytes of its header (4), CRC32C of its header (4)
 *    128  closed (4), changed (4), based (4), on disk (4), checksum known (4), checksum (4),
 *         last change of the file (8)
 *    192  boot of the machine in which it was opened, and the device: see {@link Disk#boot} (64,
 *         text)
 *    256  key of the file: see {@link Disk#fileKey} (64, text)
 *    320  numbers of the segments touched last, plus 1 (16 of 4)
 *    512  of each segment: records (4), values (4), bytes (4), unchecked (4)
 * </pre>
 *
 * <p>Takes 16 bytes for each segment of 1 MB or more. All but what is said to be for the writer may
 * be called by any thread.
 */
public final class FileState {
  private static final long MAGIC = 0x3154_5453_4D48_4343L;
  private static final int CHECKSUM_AT = 8;
  private static final int SEGMENTS_AT = 12;
  private static final int FILE_BYTES_AT = 16;
  private static final int HEADER_BYTES_AT = 24;
  private static final int HEADER_CHECKSUM_AT = 28;
  private static final int END_OF_FIXED = 64;

  /** Whether the store's file was closed. */
  public static final int CLOSED_AT = 128;

  private static final int CHANGED_AT = 132;
  public static final int BASED_AT = 136;
  private static final int ON_DISK_AT = 140;
  private static final int HAS_CHECKSUM_AT = 144;
  private static final int FILE_CHECKSUM_AT = 148;
  private static final int MODIFIED_AT = 152;
  public static final int BOOT_AT = 192;
  private static final int KEY_AT = 256;
  private static final int TEXT_BYTES = 64;
  private static final int TOUCHED_AT = 320;
  private static final int TOUCHED = 16;
  private static final int TABLE_AT = 512;
  private static final int ROW_BYTES = 16;
  private static final int RECORDS = 0;
  private static final int VALUES = 4;
  private static final int BYTES = 8;
  private static final int UNCHECKED = 12;

  private static final VarHandle INT =
      MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  /** What a start may do with a store's file. */
  public enum Verdict {
    /** Nobody touched it since it was closed. */
    CLEAN,
    /** Its user was killed: the segments touched last are to be checked. */
    KILLED,
    /** It may be a mixture of states, in which no key has two values: all are to be checked. */
    UNSURE,
    /** It may hold what was invalidated, or is no file of this store. */
    LOST
  }

  private final Disk disk;
  private final Path path;

  /** Null once it was released. Used by whoever uses the store's file, or has this locked. */
  private ByteBuffer buffer;

  private final int segments;
  private final AtomicLong records = new AtomicLong();
  private final AtomicLong values = new AtomicLong();
  private final AtomicLong bytes = new AtomicLong();
  private final AtomicInteger unchecked = new AtomicInteger();

  /** As in the file, for the writer. */
  private final int[] touched = new int[TOUCHED];

  private int nextTouched;

  /** Whether the file says that it is open. */
  private volatile boolean open;

  /** Whether the file says that a value was ever put in place of another or removed. */
  private volatile boolean changed;

  /** Whether this process has made sure that the disk says so, of this file and no older one. */
  private volatile boolean noted;

  /**
   * Whether anything may have been written to the store's file since it was last forced, by another
   * process too.
   */
  private volatile boolean unforced = true;

  private FileState(Disk disk, Path path, ByteBuffer buffer) {
    this.disk = disk;
    this.path = path;
    this.buffer = buffer.order(ByteOrder.LITTLE_ENDIAN);
    this.segments = buffer.getInt(SEGMENTS_AT);
    open = buffer.getInt(CLOSED_AT) == 0;
    changed = buffer.getInt(CHANGED_AT) != 0;
    for (int i = 0; i < segments; i++) {
      records.addAndGet(get(i, RECORDS));
      values.addAndGet(get(i, VALUES));
      bytes.addAndGet(get(i, BYTES));
      unchecked.addAndGet(get(i, UNCHECKED) == 0 ? 0 : 1);
    }
  }

  public static Path pathOf(Path store) {
    return store.resolveSibling(store.getFileName() + ".state");
  }

  /** Whether a file is one of these. */
  public static boolean isOne(Path file) {
    return file.toString().endsWith(".state");
  }

  /** Makes that of an empty file of so many segments, in place of any other. */
  static FileState create(Disk disk, Path path, int segments) throws IOException {
    byte[] zeros = new byte[TABLE_AT + ROW_BYTES * segments];
    ByteBuffer.wrap(zeros).order(ByteOrder.LITTLE_ENDIAN).putInt(SEGMENTS_AT, segments);
    disk.delete(path);
    disk.create(path);
    // Written wholly, so that the disk has room for all of it.
    disk.write(path, zeros);
    return new FileState(disk, path, disk.map(path));
  }

  /** That of a map in memory. */
  static FileState inMemory(int segments) {
    ByteBuffer zeros =
        ByteBuffer.allocateDirect(TABLE_AT + ROW_BYTES * segments).order(ByteOrder.LITTLE_ENDIAN);
    FileState state = new FileState(Disk.REAL, null, zeros.putInt(SEGMENTS_AT, segments));
    state.noted = true;
    return state;
  }

  /** Opens the one at a path; empty if there is none that makes sense. */
  public static Optional<FileState> open(Disk disk, Path path, int segments) throws IOException {
    try {
      if (disk.size(path) != TABLE_AT + (long) ROW_BYTES * segments) {
        return Optional.empty();
      }
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
    ByteBuffer buffer = disk.map(path).order(ByteOrder.LITTLE_ENDIAN);
    return buffer.getLong(0) == MAGIC
            && buffer.getInt(SEGMENTS_AT) == segments
            && buffer.getInt(CHECKSUM_AT) == fixedChecksum(buffer)
        ? Optional.of(new FileState(disk, path, buffer))
        : Optional.empty();
  }

  /** Whether the making of a file was never finished, so that there was nothing in it. */
  public static boolean isUnfinished(Disk disk, Path path) throws IOException {
    if (!disk.exists(path) || disk.size(path) < Long.BYTES) {
      return disk.exists(path);
    }
    ByteBuffer magic = ByteBuffer.allocate(Long.BYTES);
    try (FileChannel channel = disk.open(path, Set.of(StandardOpenOption.READ))) {
      return SegmentReader.readFully(channel, 0, magic) && magic.getLong(0) == 0;
    }
  }

  static int fixedChecksum(ByteBuffer buffer) {
    // Copied first: a fault of mapped memory inside a CRC32C ends the process, in a copy it is an
    // InternalError.
    byte[] fixed = new byte[END_OF_FIXED - SEGMENTS_AT];
    buffer.get(SEGMENTS_AT, fixed);
    CRC32C crc = new CRC32C();
    crc.update(fixed);
    return (int) crc.getValue();
  }

  // ---- the life of the file

  /**
   * Says what the store's file is like, which nobody has written to yet.
   *
   * @param headerBytes bytes of the file before its segments, which do not change while their lock
   *     is free
   */
  void describe(Path store, long fileBytes, int headerBytes) throws IOException {
    int checksum = headerChecksum(store, headerBytes);
    buffer.putLong(FILE_BYTES_AT, fileBytes);
    buffer.putInt(HEADER_BYTES_AT, headerBytes);
    buffer.putInt(HEADER_CHECKSUM_AT, checksum);
    putText(BOOT_AT, disk.boot(path));
    putText(KEY_AT, disk.fileKey(store));
    buffer.putInt(CHECKSUM_AT, fixedChecksum(buffer));
    // Last: without it nothing of this counts.
    VarHandle.releaseFence();
    buffer.putLong(0, MAGIC);
  }

  private int headerChecksum(Path store, int headerBytes) throws IOException {
    ByteBuffer header = ByteBuffer.allocate(headerBytes);
    try (FileChannel channel = disk.open(store, Set.of(StandardOpenOption.READ))) {
      if (!SegmentReader.readFully(channel, 0, header)) {
        throw new IOException("the file is too short for its header");
      }
    }
    CRC32C crc = new CRC32C();
    crc.update(header.flip());
    return (int) crc.getValue();
  }

  /** Says what may be done with the store's file, which nobody maps. */
  public Verdict judge(Path store) throws IOException {
    if (disk.size(store) != buffer.getLong(FILE_BYTES_AT)) {
      return Verdict.LOST;
    }
    String boot = disk.boot(path);
    boolean sameBoot = !boot.isEmpty() && text(BOOT_AT).equals(boot);
    boolean sameFile = disk.hasKey(store, text(KEY_AT));
    if (open && sameBoot && sameFile) {
      return Verdict.KILLED;
    }
    if (!open) {
      if (sameFile
          && buffer.getLong(MODIFIED_AT) == disk.modified(store)
          && (sameBoot || buffer.getInt(ON_DISK_AT) != 0)) {
        return Verdict.CLEAN;
      }
      if (buffer.getInt(HAS_CHECKSUM_AT) != 0
          && buffer.getInt(FILE_CHECKSUM_AT) == checksum(store)) {
        return Verdict.CLEAN;
      }
    }
    // A copy that was made while the file was open may lack a change that came after it.
    return (sameFile || !open)
            && !changed
            && buffer.getInt(BASED_AT) != 0
            && headerChecksum(store, buffer.getInt(HEADER_BYTES_AT))
                == buffer.getInt(HEADER_CHECKSUM_AT)
        ? Verdict.UNSURE
        : Verdict.LOST;
  }

  /** Whether the store's file is the one that this was written for, and no copy of it. */
  public boolean isSameFile(Path store) throws IOException {
    return disk.hasKey(store, text(KEY_AT));
  }

  /** Prepares for a file that was judged so: from here on it is this process's. */
  public void takeOver(Path store, Verdict verdict) throws IOException {
    if (verdict == Verdict.CLEAN && isSameFile(store)) {
      // As long as nobody writes, it stays closed.
      return;
    }
    for (int i = 0; i < TOUCHED; i++) {
      int segment = buffer.getInt(TOUCHED_AT + 4 * i) - 1;
      if (segment >= 0 && segment < segments) {
        mark(segment);
      }
    }
    for (int i = 0; verdict == Verdict.UNSURE && i < segments; i++) {
      // What the table says of it is an older count at worst, until it was checked.
      mark(i);
    }
    VarHandle.releaseFence();
    buffer.put(TOUCHED_AT, new byte[4 * TOUCHED]);
    putText(KEY_AT, disk.fileKey(store));
    putOpen();
    open = true;
    // Or else the old key and boot might be on disk beside what is written from here on.
    disk.force(path);
  }

  /** Says that the file is open, in this boot. */
  private void putOpen() throws IOException {
    String boot = disk.boot(path);
    buffer.putInt(ON_DISK_AT, 0);
    buffer.putInt(HAS_CHECKSUM_AT, 0);
    putText(BOOT_AT, boot);
    // Last: who is killed in between leaves a file that says it is closed, as it still is.
    VarHandle.releaseFence();
    buffer.putInt(CLOSED_AT, 0);
  }

  /** Has a segment checked before it is used. */
  void mark(int segment) {
    if (get(segment, UNCHECKED) == 0) {
      put(segment, UNCHECKED, 1);
      unchecked.incrementAndGet();
    }
  }

  /** To be called before anything is written to the store's file. */
  void beforeWrite() {
    if (!open) {
      sayOpen();
    }
  }

  private synchronized void sayOpen() {
    if (open) {
      return;
    }
    checkMapped();
    boolean onDisk = buffer.getInt(ON_DISK_AT) != 0;
    try {
      putOpen();
      if (onDisk) {
        // Or else a crash of the machine could leave it beside a file with some of the new pages.
        disk.force(path);
      }
    } catch (IOException e) {
      throw new IllegalStateException("cannot note that the file is open", e);
    }
    open = true;
  }

  /** Says that the store's file, which nobody writes to any more, is whole. */
  public synchronized void close(Path store) throws IOException {
    if (!open) {
      return;
    }
    checkMapped();
    if (disk.size(store) != buffer.getLong(FILE_BYTES_AT)) {
      throw new IOException("the file was cut off at " + disk.size(store) + " bytes");
    }
    buffer.putLong(MODIFIED_AT, disk.modified(store));
    VarHandle.releaseFence();
    buffer.putInt(CLOSED_AT, 1);
    open = false;
  }

  private void checkMapped() {
    if (buffer == null) {
      throw new IllegalStateException("the file is not in use any more");
    }
  }

  /** Whether what a start needs to make sense of the store's file is on disk. */
  public synchronized boolean isBased() {
    return buffer == null || buffer.getInt(BASED_AT) != 0;
  }

  /** Notes that the store's file has been brought to the disk once, as it was by then. */
  public synchronized void noteBased() {
    if (buffer != null) {
      buffer.putInt(BASED_AT, 1);
    }
  }

  /** Whether it is known that what was closed is on disk. */
  public synchronized boolean isOnDisk() {
    return buffer == null || buffer.getInt(ON_DISK_AT) != 0;
  }

  /** Notes that all of a file that was closed has been brought to the disk since. */
  public synchronized void noteOnDisk() {
    if (buffer != null && !open) {
      buffer.putInt(BASED_AT, 1);
      buffer.putInt(ON_DISK_AT, 1);
    }
  }

  /** Notes the checksum of a file that was closed, by which a copy of it is known to be whole. */
  public synchronized void noteChecksum(int checksum) {
    if (buffer != null && !open) {
      buffer.putInt(FILE_CHECKSUM_AT, checksum);
      VarHandle.releaseFence();
      buffer.putInt(HAS_CHECKSUM_AT, 1);
    }
  }

  /**
   * Unmaps the file, which nobody may use any more but for its sums; those who would note something
   * of what is over do nothing.
   */
  public synchronized void release() {
    if (buffer instanceof MappedByteBuffer mapped) {
      buffer = null;
      disk.unmap(mapped);
    }
  }

  /** Reads the whole store's file. */
  public int checksum(Path store) throws IOException {
    CRC32C crc = new CRC32C();
    ByteBuffer chunk = ByteBuffer.allocateDirect(1 << 18);
    try (FileChannel channel = disk.open(store, Set.of(StandardOpenOption.READ))) {
      while (channel.read(chunk.clear()) >= 0) {
        crc.update(chunk.flip());
      }
    }
    return (int) crc.getValue();
  }

  /** Whether {@link #noteChange} has nothing to do any more. */
  public boolean isNoted() {
    return noted;
  }

  /** Whether a value was ever invalidated or replaced by another one. */
  public boolean isChanged() {
    return changed;
  }

  /**
   * To be called before a value is invalidated or replaced by another one. The first time this
   * waits for the disk; what was on it before is of no use after a crash of the machine from then
   * on.
   *
   * @throws IOException if that can't be noted
   */
  public void noteChange() throws IOException {
    // One that says it is closed would be taken as it is.
    beforeWrite();
    if (!noted) {
      noteFirstChange();
    }
  }

  /**
   * The store's file, which is whole now, is about to take the place of another one: the next
   * change is noted once more, with what was done to names since, so that the other one is gone.
   */
  public void takesPlace() {
    noted = false;
  }

  private synchronized void noteFirstChange() throws IOException {
    if (noted) {
      return;
    }
    checkMapped();
    changed = true;
    buffer.putInt(CHANGED_AT, 1);
    disk.force(path);
    // And that this file, and no older one, is the store's.
    disk.sync(path.toAbsolutePath().getParent());
    noted = true;
  }

  /** To be called after something was written to the store's file. */
  public void wrote() {
    if (!unforced) {
      unforced = true;
    }
  }

  /**
   * Whether the store's file is to be forced to disk; what is written from here on is not in it.
   */
  public boolean takeUnforced() {
    // Not set to false unless it was true: that could undo another thread's wrote(). A write that
    // is noted between these two lines is in the file before the caller forces it.
    if (!unforced) {
      return false;
    }
    unforced = false;
    return true;
  }

  // ---- what the segments hold

  /** Notes that a segment is about to be written to; for the writer. */
  void begin(int segment) {
    for (int one : touched) {
      if (one == segment + 1) {
        return;
      }
    }
    touched[nextTouched] = segment + 1;
    INT.setRelease(buffer, TOUCHED_AT + 4 * nextTouched, segment + 1);
    VarHandle.fullFence();
    nextTouched = (nextTouched + 1) % TOUCHED;
  }

  /** Counts what has changed in a segment; for whoever has it to themselves. */
  void add(int segment, int moreRecords, int moreValues, int moreBytes) {
    put(segment, RECORDS, get(segment, RECORDS) + moreRecords);
    put(segment, VALUES, get(segment, VALUES) + moreValues);
    put(segment, BYTES, get(segment, BYTES) + moreBytes);
    records.addAndGet(moreRecords);
    values.addAndGet(moreValues);
    bytes.addAndGet(moreBytes);
    wrote();
  }

  /** Whether a segment must not be used before it was checked. */
  boolean isUnchecked(int segment) {
    return unchecked.get() != 0
        && (int) INT.getAcquire(buffer, TABLE_AT + ROW_BYTES * segment + UNCHECKED) != 0;
  }

  /** Segments that were not checked yet. */
  public int unchecked() {
    return unchecked.get();
  }

  /** Says that a segment was checked, and what it holds. */
  void checked(int segment, int newRecords, int newValues, int newBytes) {
    add(
        segment,
        newRecords - get(segment, RECORDS),
        newValues - get(segment, VALUES),
        newBytes - get(segment, BYTES));
    INT.setRelease(buffer, TABLE_AT + ROW_BYTES * segment + UNCHECKED, 0);
    unchecked.decrementAndGet();
  }

  public int segments() {
    return segments;
  }

  /** Records in a segment. */
  public int records(int segment) {
    return get(segment, RECORDS);
  }

  /** Bytes of keys and records in a segment. */
  public int bytes(int segment) {
    return get(segment, BYTES);
  }

  /** Records in all segments, parts of values among them. */
  public long records() {
    return records.get();
  }

  /** Values in all segments. */
  public long values() {
    return values.get();
  }

  /** Bytes of keys and records in all segments. */
  public long bytes() {
    return bytes.get();
  }

  private int get(int segment, int column) {
    return buffer.getInt(TABLE_AT + ROW_BYTES * segment + column);
  }

  private void put(int segment, int column, int value) {
    buffer.putInt(TABLE_AT + ROW_BYTES * segment + column, value);
  }

  // ---- text

  private String text(int at) {
    byte[] text = new byte[TEXT_BYTES];
    buffer.get(at, text);
    int end = 0;
    while (end < text.length && text[end] != 0) {
      end++;
    }
    return new String(text, 0, end, US_ASCII);
  }

  private void putText(int at, String text) {
    buffer.put(at, Arrays.copyOf(text.getBytes(US_ASCII), TEXT_BYTES));
  }
}
