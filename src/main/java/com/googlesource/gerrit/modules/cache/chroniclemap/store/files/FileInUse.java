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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.files;

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.LostContentException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredValue;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.FilesOnDisk.GenerationName;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.Rebuild;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.ValueTable;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;

/**
 * The file in use of a store, and during a rebuild the next one too.
 *
 * <p>How a store grows or shrinks: the next file is created, and from then on each write goes to
 * both. The old file is copied segment by segment, without what is in the next one already, because
 * that is newer. Then the next file replaces the old one. {@link Rebuild} does the copying. Readers
 * never wait: they read the old file, and the next one for what did not fit the old.
 *
 * <p>Until the next file is complete, it has a temporary name, which a start after a crash ignores.
 *
 * <p>Reads and {@link #invalidate} are for any thread. What changes the files is for the holder of
 * the store's writer lock, except where a method says otherwise.
 */
public final class FileInUse {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private final GenerationMaker maker;

  /**
   * Set before {@link #next} when the files are switched, and read before it. So a reader of the
   * old generation that finds no next one notices in the end that the old one was replaced.
   */
  private volatile Generation current;

  /** Null unless a rebuild is running. */
  private volatile Generation next;

  /** Fills the next generation. Guarded by the writer lock. */
  private Rebuild rebuild;

  /** Counts the damaged records that the rebuild leaves out. Guarded by the writer lock. */
  private LongAdder leftOut = new LongAdder();

  /** How many damaged entries of the current file are known. Changed under the writer lock. */
  private volatile long unrepaired;

  /** The number of the generation that was named last. Guarded by the writer lock. */
  private int lastNumber;

  /** Tasks that unmap and delete what is not needed any more. */
  private final Queue<Runnable> leftovers = new ConcurrentLinkedQueue<>();

  /** Takes a generation into use. */
  public FileInUse(GenerationMaker maker, Generation first) {
    this.maker = maker;
    this.current = first;
    this.lastNumber = first.name.number();
    countUses();
  }

  /** Counts uses from the last size on: a file that cannot grow will be full at some time. */
  private void countUses() {
    if (bytes() > maker.maxBytes() / 2) {
      current.values.expectEviction();
    }
  }

  public Generation current() {
    return current;
  }

  /** The most bytes that the current generation may take. */
  public long bytes() {
    return current.bytes();
  }

  public boolean isRebuilding() {
    return next != null;
  }

  /** The most bytes that the next generation may take; only during a rebuild. */
  public long nextBytes() {
    return next.bytes();
  }

  /** Whether the newest file is so full that a larger one should be created. */
  public boolean isFilling() {
    Generation after = next;
    return (after == null ? current : after).values.isFilling();
  }

  /** The values of the current file. */
  public ValueTable values() {
    return current.values;
  }

  // ---- values

  /** Returns null if there is no value. An invalidated value is returned without its content. */
  public StoredValue read(byte[] key) throws DamagedEntryException {
    while (true) {
      Generation generation = current;
      Generation after = next;
      StoredValue value = generation.read(key);
      if (value == null && after != null) {
        value = after.read(key);
      }
      // If the files were switched meanwhile, the value may be in a file that was not read.
      if (value != null || generation == current) {
        return value;
      }
    }
  }

  /**
   * Invalidates a value in each file that holds it or receives a copy of it.
   *
   * <p>The old file goes first: {@link Rebuild} checks it again after each copy.
   */
  public void invalidate(byte[] key) {
    while (true) {
      Generation generation = current;
      Generation after = next;
      generation.invalidate(key);
      if (after != null) {
        after.invalidate(key);
      }
      if (isInUse(generation, after)) {
        return;
      }
    }
  }

  /**
   * Stores a value in place of any older one.
   *
   * @param evict whether values of less use may be evicted to make room
   * @return false if there was no room; then the older value is gone as well
   */
  public boolean put(byte[] key, byte[] value, long created, boolean evict) {
    return rebuild == null
        ? current.values.put(key, value, created, evict)
        : rebuild.put(key, value, created, evict);
  }

  /** Notes that a value is about to replace another one, which may have been evicted. */
  public void noteChange() throws IOException {
    if (rebuild == null) {
      current.state().noteChange();
    } else {
      rebuild.noteChange();
    }
  }

  /** Removes a value that must not be found again, even after a crash. */
  public void remove(byte[] key) {
    invalidate(key);
    drop(key);
  }

  /** Removes a useless value, which does no harm if a crash brings it back. */
  public void drop(byte[] key) {
    if (rebuild == null) {
      current.values.remove(key);
    } else {
      rebuild.drop(key);
    }
  }

  // ---- segments

  /**
   * Repairs a segment of the current file if needed; for any thread. Returns false if there is no
   * segment of that number.
   */
  public boolean check(int segment) {
    Generation checked = current;
    if (segment >= checked.state().counts.segments) {
      return false;
    }
    checked.check(segment);
    return true;
  }

  // ---- another file in place of this one

  /**
   * Replaces the files by an empty one.
   *
   * @param bytes of the empty file
   * @return the old generation, which has no name any more; to be unmapped without the lock
   */
  public Generation clear(long bytes) throws IOException {
    abandonRebuild();
    // Otherwise a crash of the machine could bring the old file back.
    current.state().noteChange();
    Generation made =
        makeEmpty(maker.files().generation(++lastNumber, bytes, Geometry.DEFAULT_BYTES_PER_SLOT));
    try {
      Generation old = replaceBy(made);
      unrepaired = 0;
      return old;
    } finally {
      if (current != made) {
        leftovers.add(() -> discard(made));
      }
    }
  }

  /**
   * Makes the empty file; on a disk that has no room for two files, once the current one was
   * unmapped and deleted.
   *
   * <p>No value comes back: readers find nothing in a file that is unmapped, and after a kill there
   * is either the whole old file, as the clear has not returned, or none, or the empty one. If the
   * machine stops, the old name may be there again as after any clear; but the old file's state,
   * which is on disk, says that it was changed, and a changed file that was not closed is not used.
   */
  private Generation makeEmpty(GenerationName name) throws IOException {
    try {
      return make(name);
    } catch (IOException | RuntimeException e) {
      maker.faults().warn(e, "cannot make an empty file beside the old one, which goes first");
    }
    tidy();
    current.unmap();
    deleteFiles(current);
    return make(name);
  }

  /** The name and layout of a next generation of this size. */
  public GenerationName nextName(long bytes) {
    return maker
        .files()
        .generation(
            ++lastNumber, bytes, Geometry.bytesPerSlot(current.values.averageRecordBytes()));
  }

  /** Creates the file of the next generation, which takes a while if it is large. Needs no lock. */
  public Generation make(GenerationName name) throws IOException {
    return maker.next(name);
  }

  /** Begins a rebuild: from here on each write goes to both files. */
  public Rebuild beginRebuild(Generation made) {
    leftOut = new LongAdder();
    rebuild = new Rebuild(current.values, current.name.path(), made.values, leftOut);
    next = made;
    return rebuild;
  }

  /** Replaces the old generation by the next one; returns the old one, which may still be read. */
  public Generation finishRebuild() throws IOException {
    Generation old = replaceBy(next);
    noteDamaged(leftOut.sum(), /* isAll= */ false);
    unrepaired = 0;
    return old;
  }

  /**
   * Notes how many damaged entries were found in the current file, and counts those that were not
   * known. Under the writer lock.
   *
   * @param isAll whether there are no others
   */
  public void noteDamaged(long found, boolean isAll) {
    maker.damaged().add(Math.max(0, found - unrepaired));
    unrepaired = isAll ? found : Math.max(found, unrepaired);
  }

  /** How many damaged entries were found in the current file, and are still there. */
  public long unrepaired() {
    return unrepaired;
  }

  private Generation replaceBy(Generation made) throws IOException {
    Generation old = current;
    // A start after a crash from here on takes the newer generation, which is complete.
    made.install();
    current = made;
    endRebuild();
    countUses();
    deleteFiles(old);
    if (old.bytes() != made.bytes()) {
      logger.atInfo().log(
          "Cache %s went from %d to %d bytes", maker.cache(), old.bytes(), made.bytes());
    }
    return old;
  }

  private void deleteFiles(Generation old) {
    Disk disk = maker.files().disk;
    try {
      disk.delete(old.name.path());
      disk.delete(old.name.statePath());
    } catch (IOException e) {
      // The newer file counts, and the next start deletes this one.
      maker.faults().warn(e, "cannot delete a file that is not needed any more:", old.name.path());
    }
  }

  /** Abandons the next generation; to be followed by {@link #tidy}, without the lock. */
  public void abandonRebuild() {
    Generation given = next;
    if (given != null) {
      endRebuild();
      leftovers.add(() -> discard(given));
    }
  }

  private void endRebuild() {
    next = null;
    if (rebuild != null) {
      rebuild.close();
      rebuild = null;
    }
  }

  /** Leaves a generation that was replaced to {@link #tidy}. */
  public void leave(Generation old) {
    leftovers.add(() -> unmap(old));
  }

  /** Unmaps unneeded generations. Called without the lock, as large ones take a second or more. */
  public synchronized void tidy() {
    for (Runnable task = leftovers.poll(); task != null; task = leftovers.poll()) {
      task.run();
    }
  }

  /** Unmaps a generation that was replaced; a failure is only logged. Needs no lock. */
  public void unmap(Generation old) {
    try {
      old.unmap();
    } catch (RuntimeException | InternalError | LinkageError e) {
      maker.faults().warn(e, "cannot unmap a file that is not in use any more");
    }
  }

  /** Unmaps and deletes a generation that never came into use. Needs no lock. */
  public void discard(Generation made) {
    Disk disk = maker.files().disk;
    try {
      disk.delete(made.name.growingPath());
      if (!made.isInstalled()) {
        disk.delete(made.name.statePath());
      }
    } catch (IOException e) {
      // A file of a temporary name is never used, and the next start deletes it.
      maker.faults().warn(e, "cannot delete", made.name.growingPath());
    }
    // Last: only now the system frees the disk, and the names need not wait for that.
    made.unmap();
  }

  // ---- the disk, now and then and at the end

  /**
   * Forces the current file to disk, as must be done before the next one replaces it: a page that
   * the disk refused may have been dropped, read again in an older state, and copied like that.
   * Needs no lock.
   *
   * @throws IOException as {@link #force}
   */
  public void forceCurrent() throws IOException {
    Generation forced = current;
    try {
      forced.force(/* all= */ false);
    } catch (FileSystemException e) {
      // A file that was replaced meanwhile is deleted.
      if (forced == current && !forced.isUnmapped()) {
        throw e;
      }
    }
  }

  /**
   * Forces to disk what was written so far. Needs no lock.
   *
   * @param all whether to force the state file of the current file too, which then survives a crash
   * @throws IOException as {@link Disk#force}: a file that the disk did not take must not be used
   *     any more
   */
  public void force(boolean all) throws IOException {
    Generation generation;
    Generation after;
    do {
      generation = current;
      after = next;
      try {
        generation.force(all);
        if (after != null) {
          forceNext(after);
        }
      } catch (FileSystemException e) {
        // A file that was replaced meanwhile is deleted and need not be forced. An error of the
        // disk is thrown nevertheless: the system reports it only once.
        if (isInUse(generation, after) && !generation.isUnmapped()) {
          throw e;
        }
      }
    } while (!isInUse(generation, after));
  }

  /** Forces the next file. If the disk did not take it, that is no evidence against this one. */
  private static void forceNext(Generation after) throws IOException {
    try {
      after.force(/* all= */ false);
    } catch (LostContentException e) {
      IOException failure = new IOException("of the next file, " + e.getMessage());
      failure.addSuppressed(e);
      throw failure;
    }
  }

  private boolean isInUse(Generation generation, Generation after) {
    return generation == current && after == next;
  }

  /** Saves how often values are used. Needs no lock. */
  public void saveUsage() {
    maker.usage().save(bytes());
  }

  /**
   * Unmaps all files, which then count as crashed. To be called when nobody writes any more; if a
   * rebuild may be running, after {@link #abandonRebuild}, which needs the lock.
   */
  public void unmap() {
    abandonRebuild();
    current.unmap();
    tidy();
  }

  /** Closes the current generation properly and abandons the next one. */
  public void closeCleanly() throws IOException {
    abandonRebuild();
    current.closeCleanly();
  }

  /** Releases the current file after it was closed: nothing is noted about it any more. */
  public void release() {
    // Another file of the same name must not be created while one is mapped.
    tidy();
    current.release();
    maker.usage().close();
  }

  // ---- figures

  /** Bytes on disk, of both files during a rebuild. */
  public long diskBytes() {
    Generation after = next;
    return current.values.map.fileBytes + (after == null ? 0 : after.values.map.fileBytes);
  }
}
