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
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The file of a store, and while it is rebuilt the next one too.
 *
 * <p>How a store grows or shrinks: the next file is made; from then on each write goes to both; the
 * old file is copied segment by segment, leaving out what is in the next one already, because that
 * is newer; then the next one takes the old one's place. That is a {@link Rebuild}. Readers never
 * wait: they read the old file, and look into the next one for what did not fit into the old.
 *
 * <p>Until the next file is whole it has a name that means nothing after a crash.
 *
 * <p>Reads and {@link #invalidate} are for any thread; all else for the holder of the store's
 * writer lock, but for {@link #make} and what goes to the disk now and then.
 */
public final class FileInUse {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private final GenerationMaker maker;

  /**
   * Set before {@link #next} is when the next generation takes the old one's place, and read before
   * it: who has the old one and finds no next one sees in the end that it was replaced.
   */
  private volatile Generation current;

  /** Null unless one is running. */
  private volatile Generation next;

  /** What fills the next generation. Guarded by the writer's lock. */
  private Rebuild rebuild;

  /** Of the generation that was named last. Guarded by the writer's lock. */
  private int lastNumber;

  /** Unmaps and deletes what is of no use any more. */
  private final Queue<Runnable> leftovers = new ConcurrentLinkedQueue<>();

  /** Takes a generation into use. */
  public FileInUse(GenerationMaker maker, Generation first) {
    this.maker = maker;
    this.current = first;
    this.lastNumber = first.number();
    countUses();
  }

  /** From the last size on: a file that can't be made larger will be full some time. */
  private void countUses() {
    if (bytes() > maker.maxBytes() / 2) {
      current.values().expectEviction();
    }
  }

  public Generation current() {
    return current;
  }

  /** Most bytes that the current generation may take. */
  public long bytes() {
    return current.bytes();
  }

  public boolean isRebuilding() {
    return next != null;
  }

  /** Most bytes the next generation may take; only while there is one. */
  public long nextBytes() {
    return next.bytes();
  }

  /** Whether the file that is written last is so full that a larger one should be made. */
  public boolean isFilling() {
    Generation after = next;
    return (after == null ? current : after).values().isFilling();
  }

  /** The values of the current file. */
  public ValueTable values() {
    return current.values();
  }

  // ---- values

  /** Returns null if there is no value; of one that is invalidated no more is known than that. */
  public StoredValue read(byte[] key) throws DamagedEntryException {
    while (true) {
      Generation generation = current;
      Generation after = next;
      StoredValue value;
      try {
        value = generation.read(key);
      } catch (IllegalStateException e) {
        throwUnlessReplaced(generation, e);
        continue;
      }
      if (value == null && after != null) {
        value = after.read(key);
      }
      // If the files were switched meanwhile, the value may be in the one not looked into.
      if (value != null || generation == current) {
        return value;
      }
    }
  }

  /** A file that was just replaced, and deleted, says nothing any more: the other one counts. */
  private void throwUnlessReplaced(Generation generation, IllegalStateException e) {
    if (generation == current) {
      throw e;
    }
  }

  /**
   * Invalidates a value in whatever file holds it or comes to hold it by being copied.
   *
   * <p>The old file goes first: {@link Rebuild} looks into it again after each copy.
   */
  public void invalidate(byte[] key) {
    while (true) {
      Generation generation = current;
      Generation after = next;
      try {
        generation.invalidate(key);
      } catch (IllegalStateException e) {
        throwUnlessReplaced(generation, e);
      }
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
   * @param evict whether values of less use may go to make room
   * @return false if there was no room; then the older one is gone as well
   */
  public boolean put(byte[] key, byte[] value, long created, boolean evict) {
    return rebuild == null
        ? current.values().put(key, value, created, evict)
        : rebuild.put(key, value, created, evict);
  }

  /** Notes that a value is about to be put in place of another, which may not be there any more. */
  public void noteChange() throws IOException {
    if (rebuild == null) {
      current.state().noteChange();
    } else {
      rebuild.noteChange();
    }
  }

  /**
   * Whether it is known of the current file that a value was put in place of another or removed.
   */
  public boolean wasChanged() {
    return current.state().isChanged();
  }

  /** Removes a value that must not be found again. */
  public void remove(byte[] key) {
    invalidate(key);
    drop(key);
  }

  /** Removes a value that is of no use, though it would do no harm if it came back. */
  public void drop(byte[] key) {
    if (rebuild == null) {
      current.values().remove(key);
    } else {
      rebuild.drop(key);
    }
  }

  // ---- segments

  /** Segments of the current file. */
  public int segments() {
    return current.values().map().segments();
  }

  /** Segments of the current file that may be damaged. */
  public int unchecked() {
    return current.state().unchecked();
  }

  /**
   * Repairs a segment of the current file where needed; returns false if there is none of that
   * number.
   */
  public boolean check(int segment) {
    Generation checked = current;
    if (segment >= checked.state().segments()) {
      return false;
    }
    try {
      checked.check(segment);
    } catch (IllegalStateException e) {
      throwUnlessReplaced(checked, e);
    }
    return true;
  }

  // ---- another file in place of this one

  /**
   * Puts an empty file in the place of what there is.
   *
   * @param bytes of the empty file
   * @return what there was, which has no name any more and is to be unmapped without the lock
   */
  public Generation clear(long bytes) throws IOException {
    abandonRebuild();
    // Or else a crash of the machine could bring the old file back.
    current.state().noteChange();
    Generation made =
        make(maker.files().generation(++lastNumber, bytes, Geometry.DEFAULT_BYTES_PER_SLOT));
    try {
      return replaceBy(made);
    } finally {
      if (current != made) {
        leftovers.add(() -> discard(made));
      }
    }
  }

  /** Name and layout of a next generation of this size. */
  public GenerationName nextName(long bytes) {
    return maker
        .files()
        .generation(
            ++lastNumber, bytes, Geometry.bytesPerSlot(current.values().averageRecordBytes()));
  }

  /** Loads what copying the current file needs, which takes a moment the first time; no lock. */
  public void prepareToBeCopied() {
    current.values().map().prepareToBeRead();
  }

  /** Makes the file of the next generation. Takes a while where it is large; needs no lock. */
  public Generation make(GenerationName name) throws IOException {
    return maker.next(name);
  }

  /** From here on each write goes to both. */
  public Rebuild beginRebuild(Generation made) {
    rebuild = new Rebuild(current.values(), current.name().path(), made.values(), maker.damaged());
    next = made;
    return rebuild;
  }

  /** Puts the next generation in the old one's place. Readers of the old one finish. */
  public Generation finishRebuild() throws IOException {
    return replaceBy(next);
  }

  private Generation replaceBy(Generation made) throws IOException {
    Generation old = current;
    // A crash after this finds two generations and takes the newer one, which is whole.
    made.install();
    current = made;
    endRebuild();
    countUses();
    Disk disk = maker.files().disk();
    try {
      disk.delete(old.name().path());
      disk.delete(old.name().statePath());
    } catch (IOException e) {
      // The next start deletes it; the newer one counts.
      maker
          .faults()
          .warn(e, "cannot delete a file that is not needed any more:", old.name().path());
    }
    logger.atInfo().log(
        "Cache %s went from %d to %d bytes", maker.cache(), old.bytes(), made.bytes());
    return old;
  }

  /** Gives the next generation up; {@link #tidy} is to follow, without the lock. */
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

  /** Unmaps the generations that are of no use any more: large ones take a second or more. */
  public synchronized void tidy() {
    for (Runnable task = leftovers.poll(); task != null; task = leftovers.poll()) {
      task.run();
    }
  }

  /** Unmaps a generation that was replaced, whatever comes of it. */
  public void unmap(Generation old) {
    try {
      old.unmap();
    } catch (RuntimeException | InternalError e) {
      maker.faults().warn(e, "cannot unmap a file that is not in use any more");
    }
  }

  /** Unmaps and deletes a generation that never came into use. */
  public void discard(Generation made) {
    Disk disk = maker.files().disk();
    try {
      disk.delete(made.name().growingPath());
      disk.delete(made.name().statePath());
    } catch (IOException e) {
      // It means nothing to anyone; whoever makes the next one deletes it, or the next start.
      maker.faults().warn(e, "cannot delete", made.name().growingPath());
    }
    // Last: the system gives the disk back only now, and other files' names do not wait for it.
    made.unmap();
  }

  // ---- the disk, now and then and at the end

  /** Has the system read and write no more of the current file than what is asked for. */
  public void expectRandomAccess() {
    current.expectRandomAccess();
  }

  /**
   * Forces to disk what was written to the current file until now, as is to be done before the next
   * one takes its place: a page that the disk refused may have been dropped and read again as it
   * was before, and copied like that. Without the lock.
   *
   * @throws IOException as {@link #force}
   */
  public void forceCurrent() throws IOException {
    current.force(/* all= */ false);
  }

  /**
   * Forces to disk what was written until now; without the lock.
   *
   * @param all whether to force the state file of the current file too; it survives a crash then
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
          after.force(/* all= */ false);
        }
      } catch (FileSystemException e) {
        // A file that was replaced meanwhile is deleted, and need not be forced. An error of the
        // disk is thrown on even so: the system reports it only once.
        if (isInUse(generation, after)) {
          throw e;
        }
      }
    } while (!isInUse(generation, after));
  }

  private boolean isInUse(Generation generation, Generation after) {
    return generation == current && after == next;
  }

  /** Saves what is known of the use of values. */
  public void saveUsage() {
    maker.usage().save(bytes());
  }

  /**
   * Unmaps all; what is on disk then counts as crashed. To be called when nobody writes any more,
   * and where a rebuild may be running after {@link #abandonRebuild}, which needs the lock.
   */
  public void unmap() {
    abandonRebuild();
    current.unmap();
    tidy();
  }

  /** Closes the current generation properly; what was to be the next one is given up. */
  public void closeCleanly() throws IOException {
    abandonRebuild();
    current.closeCleanly();
  }

  /** After {@link #closeCleanly}: see {@link Generation#settle}. */
  public void settle(AtomicBoolean ours) throws IOException {
    current.settle(ours);
  }

  /** After the current file was closed: nothing is noted of it any more. */
  public void release() {
    // A file of the same name must not be made while one is mapped.
    tidy();
    current.release();
    maker.usage().close();
  }

  // ---- figures

  /** Bytes on disk. */
  public long diskBytes() {
    Generation after = next;
    return current.values().map().fileBytes()
        + (after == null ? 0 : after.values().map().fileBytes());
  }
}
