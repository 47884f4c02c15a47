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

import com.google.common.hash.Hashing;
import com.google.common.primitives.Bytes;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FileReplacedException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.LostContentException;
import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Optional;
import java.util.Set;
import java.util.zip.CRC32C;

/**
 * The state of a store's file, in a small file beside it that is mapped while the store is open:
 * whether the store's file was closed, whether any value was ever invalidated or replaced, and the
 * {@link SegmentCounts}. The next start determines from this what may be used, in most cases
 * without reading the segments; see {@link #judge}.
 *
 * <p>The state rests on three facts:
 *
 * <ul>
 *   <li>What a process has written to mapped memory is in the file, in the order of writing, even
 *       if the process is killed.
 *   <li>One thread at a time writes. So after a kill only the segments written last can be half
 *       written. Their numbers are noted before they are written to ({@link SegmentCounts#begin}).
 *   <li>A crash of the machine may take any page back to an older state, so an older value could be
 *       found, unless no key of the file ever had two values. The first time a value is about to be
 *       invalidated or replaced by another, {@link #noteChange} therefore forces a note of that to
 *       disk. A value that is loaded again after its eviction counts as the same value.
 * </ul>
 *
 * <p>The format, little endian:
 *
 * <pre>
 *      0  magic (8), CRC32C of bytes 12 to 63 (4), segments (4), bytes of the file (8),
 *         bytes of its header (4), CRC32C of its header (4), offset of its segments (8), bytes of
 *         each (4)
 *    128  closed (4), changed (4), ever forced (4), on disk (4), checksum known (4), checksum (4),
 *         last modification of the file (8)
 *    160  not 0 if chunks may lack disk (4), as in version 1.0.0 with limits above 16 GB. In each
 *         segment these are marked as used, and their number is before the bit set
 *    192  boot and device when the file was opened, see {@link Disk#boot} (64, text)
 *    256  key of the file, see {@link Disk#fileKey} (64, text). Keys of older versions do not
 *         tell whether the creation time was known: if it is not, their file counts as a copy
 *    320  the {@link SegmentCounts}
 * </pre>
 *
 * <p>Unless they say otherwise, methods may be called by any thread.
 */
public final class FileState {
  /** The verdict of a start on a store's file: what the start may do with it. */
  public enum Verdict {
    /** Use it: nothing has changed since it was closed. */
    CLEAN,
    /** Use it after a kill, and check the segments written last. */
    KILLED,
    /** Use it and check all segments: pages may vary in age, but no key ever had two values. */
    UNSURE,
    /** Discard it: it may hold invalidated values, or it is not a file of this store. */
    LOST
  }

  private static final long MAGIC = 0x3154_5453_4D48_4343L;
  private static final int CHECKSUM_AT = 8;
  private static final int SEGMENTS_AT = 12;
  private static final int FILE_BYTES_AT = 16;
  private static final int HEADER_BYTES_AT = 24;
  private static final int HEADER_CHECKSUM_AT = 28;
  private static final int SEGMENTS_OFFSET_AT = 32;

  /** 0 in files of version 1.0.0. */
  private static final int SEGMENT_BYTES_AT = 40;

  private static final int END_OF_FIXED = 64;

  /** Whether the store's file was closed. */
  public static final int CLOSED_AT = 128;

  private static final int CHANGED_AT = 132;
  public static final int FORCED_AT = 136;
  public static final int ON_DISK_AT = 140;
  private static final int HAS_CHECKSUM_AT = 144;
  private static final int FILE_CHECKSUM_AT = 148;
  private static final int MODIFIED_AT = 152;
  public static final int LACKS_DISK_AT = 160;
  public static final int BOOT_AT = 192;
  public static final int KEY_AT = 256;
  private static final int TEXT_BYTES = 64;

  private final Disk disk;

  /** The store's file. */
  private final Path store;

  /** The state file. */
  private final Path path;

  /** Null once released. Used under this object's lock, or while the store's file is in use. */
  private ByteBuffer buffer;

  /** The mapped state file, to force it even if another file has its name. */
  private FileChannel channel;

  /** The key of the state file that is mapped. */
  private String ownKey;

  /** The key of the store's file that is mapped, or is about to be. */
  private String storeKey;

  /** The part of the state file about the segments. */
  public final SegmentCounts counts;

  /** Whether the state file says that the store's file is open. */
  private volatile boolean open;

  /**
   * Whether the state file says that a value or the whole file was ever invalidated or replaced.
   */
  private volatile boolean changed;

  /** Whether this process has forced {@link #changed} to disk, and the name of this file. */
  private volatile boolean noted;

  /**
   * Whether the store's file may have been written to since it was last forced to disk. Initially
   * true, because an earlier process may have written.
   */
  private volatile boolean unforced = true;

  private FileState(Disk disk, Path store, ByteBuffer buffer) {
    this.disk = disk;
    this.store = store;
    this.path = pathOf(store);
    this.buffer = buffer.order(ByteOrder.LITTLE_ENDIAN);
    this.counts = new SegmentCounts(buffer, buffer.getInt(SEGMENTS_AT));
    open = buffer.getInt(CLOSED_AT) == 0;
    changed = buffer.getInt(CHANGED_AT) != 0;
  }

  /** The state file of a store's file. */
  public static Path pathOf(Path store) {
    return store.resolveSibling(store.getFileName() + ".state");
  }

  /** Creates the state of an empty file, in place of any other state file. */
  static FileState create(Disk disk, Path store, int segments) throws IOException {
    Path path = pathOf(store);
    byte[] bytes = new byte[SegmentCounts.end(segments)];
    ByteBuffer content = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    content.putInt(SEGMENTS_AT, segments);
    SegmentCounts.putEmpty(content, segments);
    disk.delete(path);
    disk.create(path);
    // All bytes are written, so that all disk is allocated.
    disk.write(path, bytes);
    String key = disk.fileKey(path);
    return new FileState(disk, store, disk.map(path)).openChannel(key);
  }

  /** Opens the state file that is mapped, to force it, if its key is still this one. */
  private FileState openChannel(String key) throws IOException {
    channel = disk.open(path, Set.of(StandardOpenOption.READ));
    ownKey = key;
    checkKey(disk, path, key);
    return this;
  }

  private static void checkKey(Disk disk, Path file, String key) throws IOException {
    if (!disk.fileKey(file).equals(key)) {
      throw new FileReplacedException(file);
    }
  }

  /** Opens the state of a store's file; empty if there is none, or none that is valid. */
  public static Optional<FileState> open(Disk disk, Path store, int segments) throws IOException {
    Path path = pathOf(store);
    try {
      long size = disk.size(path);
      if (size == SegmentCounts.endBefore(segments)) {
        try (FileChannel before = disk.open(path, Set.of(StandardOpenOption.WRITE))) {
          try {
            SegmentReader.writeFully(before, size, SegmentCounts.fullRooms(segments));
          } catch (IOException e) {
            // The volume may have had room for a part, of which the next start would know nothing.
            var unused = before.truncate(size);
            throw e;
          }
        }
      } else if (size != SegmentCounts.end(segments)) {
        return Optional.empty();
      }
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
    bringToUpperLayer(disk, path);
    String key = disk.fileKey(path);
    ByteBuffer buffer = disk.map(path).order(ByteOrder.LITTLE_ENDIAN);
    return buffer.getLong(0) == MAGIC
            && buffer.getInt(SEGMENTS_AT) == segments
            && buffer.getInt(CHECKSUM_AT) == fixedChecksum(buffer)
        ? Optional.of(new FileState(disk, store, buffer).openChannel(key))
        : Optional.empty();
  }

  /**
   * Opens a file for writing. On an overlay file system, such as a container's, that copies a file
   * of a lower layer, and the copy has another key. So this is done before its key is noted.
   */
  private static void bringToUpperLayer(Disk disk, Path file) throws IOException {
    disk.open(file, Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE)).close();
  }

  /** Whether the store's file never came into use: see {@link #complete}. */
  public static boolean isUnfinished(Disk disk, Path store) throws IOException {
    Path path = pathOf(store);
    if (!disk.exists(path) || disk.size(path) < Long.BYTES) {
      return disk.exists(path);
    }
    ByteBuffer magic = ByteBuffer.allocate(Long.BYTES);
    try (FileChannel channel = disk.open(path, Set.of(StandardOpenOption.READ))) {
      return SegmentReader.readFully(channel, 0, magic) && magic.getLong(0) == 0;
    }
  }

  static int fixedChecksum(ByteBuffer buffer) {
    // A copy, because a fault of mapped memory within CRC32C would end the process. While copying,
    // a fault is an InternalError.
    byte[] fixed = new byte[END_OF_FIXED - SEGMENTS_AT];
    buffer.get(SEGMENTS_AT, fixed);
    return Hashing.crc32c().hashBytes(fixed).asInt();
  }

  /**
   * Describes the store's file, which was just created. The state is not valid before {@link
   * #complete}.
   *
   * @param layout of the file. What is before its segment headers does not change while the lock of
   *     the whole map is free
   */
  void describe(long fileBytes, FileLayout layout) throws IOException {
    int headerBytes = Math.toIntExact(layout.headersOffset);
    int checksum;
    try (FileChannel channel = disk.open(store, Set.of(StandardOpenOption.READ))) {
      checksum = headerChecksum(channel, headerBytes);
    }
    buffer.putLong(FILE_BYTES_AT, fileBytes);
    buffer.putInt(HEADER_BYTES_AT, headerBytes);
    buffer.putInt(HEADER_CHECKSUM_AT, checksum);
    buffer.putLong(SEGMENTS_OFFSET_AT, layout.segmentsOffset);
    buffer.putInt(SEGMENT_BYTES_AT, layout.segmentBytes);
    putText(BOOT_AT, disk.boot(path));
    putText(KEY_AT, storeKey);
    buffer.putInt(CHECKSUM_AT, fixedChecksum(buffer));
  }

  /**
   * Makes the state valid, so that the store's file, which is whole, counts from now on, in place
   * of those with smaller numbers. The next change waits for the disk, so that these are gone.
   *
   * @throws IOException if the file does not count, as the folder may have another user
   */
  public void complete() throws IOException {
    checkInPlace();
    noted = false;
    VarHandle.releaseFence();
    disk.complete(store, () -> buffer.putLong(0, MAGIC));
  }

  private static int headerChecksum(FileChannel file, int headerBytes) throws IOException {
    ByteBuffer header = ByteBuffer.allocate(headerBytes);
    if (!SegmentReader.readFully(file, 0, header)) {
      throw new LostContentException("the store file is shorter than its header");
    }
    return Hashing.crc32c().hashBytes(header.flip()).asInt();
  }

  /** Notes which file is about to be mapped. */
  void noteMapping() throws IOException {
    storeKey = disk.fileKey(store);
  }

  /**
   * Ensures that the store's file and the state file have their names, and not other files that
   * were put in their place.
   *
   * @throws FileReplacedException if a name leads to another file
   */
  public void checkInPlace() throws IOException {
    checkKey(disk, store, storeKey);
    checkKey(disk, path, ownKey);
  }

  /** Determines what may be done with the store's file, which must not be mapped yet. */
  public Verdict judge() throws IOException {
    if (disk.size(store) != buffer.getLong(FILE_BYTES_AT)) {
      return Verdict.LOST;
    }
    bringToUpperLayer(disk, store);
    noteMapping();
    String boot = disk.boot(path);
    boolean sameBoot = !boot.isEmpty() && text(BOOT_AT).equals(boot);
    boolean sameFile = disk.hasKey(store, text(KEY_AT));
    if (open && sameBoot && sameFile) {
      return Verdict.KILLED;
    }
    if (!open) {
      if (sameFile
          && buffer.getLong(MODIFIED_AT) == disk.modified(store)
          && (sameBoot || buffer.getInt(ON_DISK_AT) != 0)
          && hasHeader()) {
        return Verdict.CLEAN;
      }
      if (buffer.getInt(HAS_CHECKSUM_AT) != 0 && buffer.getInt(FILE_CHECKSUM_AT) == checksum()) {
        return Verdict.CLEAN;
      }
    }
    // A copy of an open file is not used, as it may lack a later change.
    return (sameFile || !open) && !changed && buffer.getInt(FORCED_AT) != 0 && hasHeader()
        ? Verdict.UNSURE
        : Verdict.LOST;
  }

  /** Whether the header of the store's file is the one that the file was created with. */
  boolean hasHeader() throws IOException {
    try (FileChannel channel = disk.open(store, Set.of(StandardOpenOption.READ))) {
      return hasHeader(channel);
    }
  }

  /** Whether that is known not to be so, of a file that has its size. */
  public boolean hasDamagedHeader() throws IOException {
    return disk.size(store) == buffer.getLong(FILE_BYTES_AT) && !hasHeader();
  }

  boolean hasHeader(FileChannel file) throws IOException {
    return headerChecksum(file, buffer.getInt(HEADER_BYTES_AT))
        == buffer.getInt(HEADER_CHECKSUM_AT);
  }

  /** Whether the store's file is the one that this state was written for, and not a copy. */
  public boolean isSameFile() throws IOException {
    return disk.hasKey(store, text(KEY_AT));
  }

  /** Prepares the use of the store's file by this process, according to the verdict. */
  public void takeOver(Verdict verdict) throws IOException {
    boolean isSame = isSameFile() && buffer.getInt(LACKS_DISK_AT) == 0;
    if (verdict == Verdict.CLEAN && isSame) {
      // The file stays closed until the first write.
      return;
    }
    counts.markWrittenLast();
    if (verdict == Verdict.UNSURE || !isSame) {
      // The counts of such a segment may be outdated until it was checked, and it may have holes.
      counts.markAll();
    }
    VarHandle.releaseFence();
    counts.forgetWrittenLast();
    // Not the key of the file that has the name at this moment, which was not judged.
    putText(KEY_AT, storeKey);
    buffer.putInt(LACKS_DISK_AT, 0);
    putOpen();
    open = true;
    // Otherwise the disk could have the old key and boot together with later writes.
    force();
  }

  /** Forces the state file to disk. */
  public void force() throws IOException {
    force(path, channel);
  }

  /**
   * Forces a file to disk, which is open.
   *
   * @throws LostContentException if the disk did not take what was written
   */
  void force(Path file, FileChannel open) throws IOException {
    try {
      disk.force(file, open);
    } catch (FileSystemException | ClosedChannelException e) {
      throw e;
    } catch (IOException e) {
      throw new LostContentException(
          "the disk did not take what was written: " + e.getMessage(), e);
    }
  }

  /** Notes that the file is open in this boot. */
  private void putOpen() throws IOException {
    String boot = disk.boot(path);
    buffer.putInt(ON_DISK_AT, 0);
    buffer.putInt(HAS_CHECKSUM_AT, 0);
    putText(BOOT_AT, boot);
    // Written last: a process killed before this leaves a file that is still closed.
    VarHandle.releaseFence();
    buffer.putInt(CLOSED_AT, 0);
  }

  /** To be called before each write to the store's file. */
  void beforeWrite() {
    if (!open) {
      markOpen();
    }
  }

  private synchronized void markOpen() {
    if (open) {
      return;
    }
    checkMapped();
    boolean onDisk = buffer.getInt(ON_DISK_AT) != 0;
    try {
      putOpen();
      if (onDisk) {
        // Otherwise, after a crash of the machine, the disk could have "closed" together with some
        // of the new pages.
        force();
      }
    } catch (IOException e) {
      throw new IllegalStateException(
          "cannot note in the state file that the store's file is open", e);
    }
    open = true;
  }

  /**
   * Notes that the store's file is closed and whole. Nothing may be written to it afterwards.
   *
   * @throws FileReplacedException if another file has its name, or that of the state file
   */
  public synchronized void close() throws IOException {
    checkMapped();
    long size = disk.size(store);
    long modified = disk.modified(store);
    checkInPlace();
    if (!open) {
      return;
    }
    if (size != buffer.getLong(FILE_BYTES_AT)) {
      throw new IOException("the store file was truncated to " + size + " bytes");
    }
    buffer.putLong(MODIFIED_AT, modified);
    VarHandle.releaseFence();
    buffer.putInt(CLOSED_AT, 1);
    open = false;
  }

  private void checkMapped() {
    if (buffer == null) {
      throw new IllegalStateException("the store file's state is unmapped");
    }
  }

  /**
   * Whether something was noted in the state file, or need not be any more.
   *
   * @param at {@link #FORCED_AT}: that the store's file and its name were ever forced to disk;
   *     without that, no start uses the file after a crash of the machine. {@link #ON_DISK_AT}:
   *     that the closed file is on disk
   */
  public synchronized boolean isNoted(int at) {
    return buffer == null || buffer.getInt(at) != 0;
  }

  /** Notes that the store's file and its name were forced to disk. */
  public synchronized void noteForced() {
    if (buffer != null) {
      buffer.putInt(FORCED_AT, 1);
    }
  }

  /** Notes that the closed file was forced to disk. */
  public synchronized void noteOnDisk() {
    if (buffer != null && !open) {
      buffer.putInt(FORCED_AT, 1);
      buffer.putInt(ON_DISK_AT, 1);
    }
  }

  /** Notes the checksum of the closed file, by which a copy of it is known to be whole. */
  public synchronized void noteChecksum(int checksum) {
    if (buffer != null && !open) {
      buffer.putInt(FILE_CHECKSUM_AT, checksum);
      VarHandle.releaseFence();
      buffer.putInt(HAS_CHECKSUM_AT, 1);
    }
  }

  /**
   * Unmaps the state file. After that only the totals may be read; methods that note something
   * about the closed file do nothing.
   */
  public synchronized void unmap() {
    if (buffer instanceof MappedByteBuffer mapped) {
      counts.unmapped();
      buffer = null;
      disk.unmap(mapped);
    }
  }

  /** Unmaps and closes the state file, which nobody may be forcing. */
  public void release() {
    unmap();
    RecordMap.close(channel);
  }

  private int checksum() throws IOException {
    try (FileChannel open = disk.open(store, Set.of(StandardOpenOption.READ))) {
      return checksum(open);
    }
  }

  /** Computes the CRC32C of what has disk of a whole file: its header, and its segments' rooms. */
  int checksum(FileChannel file) throws IOException {
    CRC32C crc = new CRC32C();
    ByteBuffer chunk = ByteBuffer.allocateDirect(1 << 18);
    long[] parts = parts();
    for (int i = 0; i < parts.length; i += 2) {
      long at = parts[i];
      long end = parts[i + 1];
      while (at < end
          && file.read(chunk.clear().limit((int) Math.min(chunk.capacity(), end - at)), at) > 0) {
        at += chunk.position();
        crc.update(chunk.flip());
      }
    }
    return (int) crc.getValue();
  }

  /** Where the parts of the file that have disk begin and end. */
  private synchronized long[] parts() {
    checkMapped();
    int segmentBytes = buffer.getInt(SEGMENT_BYTES_AT);
    if (segmentBytes == 0) {
      return new long[] {0, Long.MAX_VALUE};
    }
    long[] parts = new long[2 + 2 * counts.segments];
    parts[1] = buffer.getInt(HEADER_BYTES_AT);
    for (int i = 0; i < counts.segments; i++) {
      parts[2 + 2 * i] = buffer.getLong(SEGMENTS_OFFSET_AT) + (long) i * segmentBytes;
      parts[3 + 2 * i] = parts[2 + 2 * i] + counts.room(i);
    }
    return parts;
  }

  /** Whether {@link #noteChange} has nothing left to do. */
  public boolean isChangeNoted() {
    return noted;
  }

  /** Whether a value was ever invalidated or replaced by another. */
  public boolean isChanged() {
    return changed;
  }

  /**
   * To be called before a value is invalidated or replaced by another. The first call waits for the
   * disk. From then on, a file that was not on disk as a whole is lost in a crash of the machine.
   *
   * @throws IOException if the disk does not take the note
   */
  public void noteChange() throws IOException {
    // A file that counts as closed would be used as it is after a crash.
    beforeWrite();
    if (!noted) {
      noteFirstChange();
    }
  }

  private synchronized void noteFirstChange() throws IOException {
    if (noted) {
      return;
    }
    checkMapped();
    changed = true;
    buffer.putInt(CHANGED_AT, 1);
    force();
    // Ensures that this file, and not an older one, is the store's file after a crash.
    disk.sync(path.toAbsolutePath().getParent());
    noted = true;
  }

  /** To be called after each write to the store's file, as it has to be forced then. */
  public void wrote() {
    if (!unforced) {
      unforced = true;
    }
  }

  /** Returns whether the store's file has to be forced to disk. Later writes are reported again. */
  public boolean takeUnforced() {
    // Not set to false unless it was true: that could undo another thread's wrote(). A write that
    // is noted between these two lines is in the file before the caller forces it.
    if (!unforced) {
      return false;
    }
    unforced = false;
    return true;
  }

  private String text(int at) {
    byte[] text = new byte[TEXT_BYTES];
    buffer.get(at, text);
    int end = Bytes.indexOf(text, (byte) 0);
    return new String(text, 0, end < 0 ? text.length : end, US_ASCII);
  }

  private void putText(int at, String text) {
    buffer.put(at, Arrays.copyOf(text.getBytes(US_ASCII), TEXT_BYTES));
  }
}
