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

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMapBuilder;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.SegmentReader;
import java.io.IOException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The file of a store, and while it is rebuilt the next one too.
 *
 * <p>How a store grows or shrinks: the next file is made; from then on each write goes to both; the
 * old file is copied segment by segment, leaving out what is in the next one already, because that
 * is newer; then the next one takes the old one's place. Readers never wait: they read the old
 * file, and look into the next one for what did not fit into the old.
 *
 * <p>Until the next file is whole it has a name that means nothing after a crash.
 *
 * <p>Reads and {@link #markVoid} are for any thread; all else for the holder of the store's writer
 * lock, but for {@link #make} and what goes to the disk now and then.
 */
final class FileInUse {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private final StoreSettings settings;
  private final FilesOnDisk files;
  private final Usage usage;
  private final StoreCounters counters;
  private final FaultLog faults;
  private volatile Generation current;
  private volatile Generation next;

  /** Of the generation that was named last. Guarded by the writer's lock. */
  private int lastNumber;

  /** Replaced and deleted, and not unmapped yet. */
  private final Queue<Generation> replaced = new ConcurrentLinkedQueue<>();

  /** Given up, and not deleted yet. */
  private final Queue<Generation> abandoned = new ConcurrentLinkedQueue<>();

  /** From the current generation to the next; null unless there is one. */
  private ValueCopy copy;

  /** What is still to be copied to the next generation, about. Guarded by the writer's lock. */
  private long bytesToCopy;

  FileInUse(
      StoreSettings settings,
      FilesOnDisk files,
      Usage usage,
      StoreCounters counters,
      FaultLog faults,
      Generation first) {
    this.settings = settings;
    this.files = files;
    this.usage = usage;
    this.counters = counters;
    this.faults = faults;
    this.current = first;
    this.lastNumber = first.name().number();
    countUses();
  }

  /** From the last size on: a file that can't be made larger will be full some time. */
  private void countUses() {
    if (current.name().bytes() > settings.maxBytes() / 2) {
      current.values().expectEviction();
    }
  }

  Generation current() {
    return current;
  }

  boolean isRebuilding() {
    return next != null;
  }

  /** Most bytes the next generation may take; only while there is one. */
  long nextBytes() {
    return next.name().bytes();
  }

  /** Whether the file that is written last is so full that a larger one should be made. */
  boolean isFilling() {
    return last().values().isFilling();
  }

  /** Says that the file is filling and no larger one will be made. */
  void expectEviction() {
    current.values().expectEviction();
  }

  /** Whether the file has room for bytes, but not for more values. */
  boolean isShortOfSlots() {
    return current.values().isShortOfSlots();
  }

  private Generation last() {
    Generation after = next;
    return after == null ? current : after;
  }

  /** Returns null if there is no value, {@link Value#VOID} if it is void. */
  Value read(byte[] key) throws DamagedEntryException {
    while (true) {
      Generation generation = current;
      Generation after = next;
      Value value;
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
   * Makes a value void in whatever file holds it or comes to hold it by being copied.
   *
   * <p>The old file goes first: {@link ValueCopy} looks into it again after each copy.
   */
  void markVoid(byte[] key) {
    while (true) {
      Generation generation = current;
      Generation after = next;
      try {
        generation.markVoid(key);
      } catch (IllegalStateException e) {
        throwUnlessReplaced(generation, e);
      }
      if (after != null) {
        after.markVoid(key);
      }
      if (generation == current && after == next) {
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
  boolean put(byte[] key, byte[] value, long created, boolean evict) {
    if (next == null) {
      return current.values().put(key, value, created, evict);
    }
    if (!evict && !next.values().hasRoomFor(bytesToCopy + value.length)) {
      // Or else what is still to be copied would have to go for it.
      if (current.values().contains(key) || next.values().contains(key)) {
        remove(key);
      }
      return false;
    }
    // The old file may be full; whether the value is in the next one is what counts.
    var unused = current.values().put(key, value, created, /* evict= */ false);
    return next.values().put(key, value, created, evict);
  }

  /** Notes that a value is about to be put in place of another, which may not be there any more. */
  void noteChange() throws IOException {
    current.state().noteChange();
    if (next != null) {
      next.state().noteChange();
    }
  }

  /** Removes a value that must not be found again. */
  void remove(byte[] key) {
    markVoid(key);
    drop(key);
  }

  /** Removes a value that is of no use, though it would do no harm if it came back. */
  void drop(byte[] key) {
    current.values().remove(key);
    if (next != null) {
      next.values().remove(key);
    }
  }

  /** Removes the values of a segment that were made before; returns how many. */
  int removeOlder(int segment, long minCreated) {
    return current.values().removeOlder(segment, minCreated);
  }

  /**
   * Puts an empty file in the place of what there is.
   *
   * @param bytes of the empty file
   * @return what there was, which has no name any more and is to be unmapped without the lock
   */
  Generation clear(long bytes) throws IOException {
    abandonRebuild();
    // Or else a crash of the machine could bring the old file back.
    current.state().noteChange();
    next = make(files.generation(++lastNumber, bytes, Geometry.DEFAULT_BYTES_PER_SLOT));
    try {
      return finishRebuild();
    } finally {
      // If that failed.
      abandonRebuild();
    }
  }

  /** Name and layout of a next generation of this size. */
  FilesOnDisk.GenerationName nextName(long bytes) {
    return files.generation(
        ++lastNumber, bytes, Geometry.bytesPerSlot(current.values().averageRecordBytes()));
  }

  /** Makes the file of the next generation. Takes a while where it is large; needs no lock. */
  Generation make(FilesOnDisk.GenerationName name) throws IOException {
    // If it is smaller, what is used most is kept.
    usage.load();
    files.disk().delete(name.growingPath());
    RecordMap map =
        RecordMapBuilder.create(
            files.disk(), name.growingPath(), name.statePath(), name.geometry());
    return new Generation(
        files.disk(), name, new ValueTable(map, StoreOpener.maxValue(settings), usage, counters));
  }

  /** From here on each write goes to both. */
  void beginRebuild(Generation made) {
    bytesToCopy = liveBytes();
    next = made;
    copy = new ValueCopy(current.values(), made.values(), counters);
  }

  /** Segments of the current file that are not known to be in order. */
  int unchecked() {
    return current.state().unchecked();
  }

  /** Has the system read and write no more of the current file than what is asked for. */
  void expectRandomAccess() {
    current.expectRandomAccess();
  }

  /** Puts a segment of the current file in order; returns false if there is none of that number. */
  boolean check(int segment) {
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

  /**
   * Sees to it, once, that the current file survives a crash of the machine, with what is in it by
   * then or later; without the lock.
   */
  void base() {
    Generation based = current;
    if (!based.state().isBased()) {
      try {
        files.disk().force(based.name().path());
        // No older file has this one's name after a crash of the machine.
        files.disk().sync(based.name().path().toAbsolutePath().getParent());
        based.state().noteBased();
        files.disk().force(based.name().statePath());
      } catch (IOException | InternalError e) {
        if (based == current) {
          faults.warn(e, "cannot make sure that its file is on disk; tried again in a minute");
        }
      }
    }
  }

  /** After the current file was closed: nothing is noted of it any more. */
  void release() {
    // A file of the same name must not be made while one is mapped.
    unmapReplaced();
    current.release();
    usage.close();
  }

  /** Saves what is known of the use of values. */
  void saveUsage() {
    usage.save(current.name().bytes());
  }

  /** Segments to copy. */
  int segments() {
    return current.values().map().segments();
  }

  /**
   * Copies a segment; returns how many values did not fit.
   *
   * @param minCreated values made before are left out; milliseconds since the epoch
   */
  long copySegment(int index, long minCreated) throws IOException {
    if (copy == null) {
      return 0; // it was given up meanwhile
    }
    ValueTable source = current.values();
    long lost = copy.copySegment(index, minCreated);
    bytesToCopy = source.liveBytes() * (segments() - index - 1) / segments();
    return lost;
  }

  /** Checks a segment of the current file. */
  void verifySegment(int index, SegmentReader with, VerifyCounts counts) throws IOException {
    current.values().verifySegment(index, with, counts);
  }

  /** Puts the next generation in the old one's place. Readers of the old one finish. */
  Generation finishRebuild() throws IOException {
    Generation old = current;
    Generation made = next;
    // A crash after this finds two generations and takes the newer one, which is whole.
    install(made);
    made.state().takesPlace();
    current = made;
    next = null;
    copy = null;
    countUses();
    try {
      files.disk().delete(old.name().path());
      files.disk().delete(old.name().statePath());
    } catch (IOException e) {
      // The next start deletes it; the newer one counts.
      faults.warn(e, "cannot delete a file that is not needed any more:", old.name().path());
    }
    logger.atInfo().log(
        "Cache %s went from %d to %d bytes",
        settings.name(), old.name().bytes(), made.name().bytes());
    return old;
  }

  /** Gives a whole file the name under which it counts. */
  private void install(Generation made) throws IOException {
    Disk disk = files.disk();
    try {
      disk.move(made.name().growingPath(), made.name().path());
    } catch (IOException e) {
      // If it has its new name even so, the next start would take it for the newer one.
      try {
        disk.delete(made.name().path());
      } catch (IOException left) {
        e.addSuppressed(left);
        throw new IllegalStateException("nobody knows which file counts", e);
      }
      throw e;
    }
  }

  /** Gives the next generation up; {@link #discardAbandoned} is to follow, without the lock. */
  void abandonRebuild() {
    Generation given = next;
    if (given != null) {
      next = null;
      copy = null;
      abandoned.add(given);
    }
  }

  /** Leaves a generation that was replaced to {@link #unmapReplaced}. */
  void leave(Generation old) {
    replaced.add(old);
  }

  /** Unmaps the generations that were left to this: large ones take a second or more. */
  synchronized void unmapReplaced() {
    for (Generation old = replaced.poll(); old != null; old = replaced.poll()) {
      try {
        old.unmap();
      } catch (RuntimeException | InternalError e) {
        faults.warn(e, "cannot unmap a file that is not in use any more");
      }
    }
  }

  /** Unmaps and deletes the generations that were given up: large ones take a second or more. */
  synchronized void discardAbandoned() {
    for (Generation given = abandoned.poll(); given != null; given = abandoned.poll()) {
      discard(given);
    }
  }

  /** Unmaps and deletes a generation that never came into use. */
  void discard(Generation made) {
    try {
      files.disk().delete(made.name().growingPath());
      files.disk().delete(made.name().statePath());
    } catch (IOException e) {
      // It means nothing to anyone; whoever makes the next one deletes it, or the next start.
      faults.warn(e, "cannot delete", made.name().growingPath());
    }
    // Last: the system gives the disk back only now, and other files' names do not wait for it.
    made.unmap();
  }

  /** Unmaps all; what is on disk then counts as crashed. When nobody writes any more. */
  void unmap() {
    abandonRebuild();
    current.unmap();
    discardAbandoned();
  }

  /** Closes the current generation properly; what was to be the next one is given up. */
  void closeCleanly() throws IOException {
    abandonRebuild();
    current.closeCleanly();
  }

  long entries() {
    return current.values().entries();
  }

  long liveBytes() {
    return current.values().liveBytes();
  }

  /** Bytes on disk. */
  long diskBytes() {
    Generation after = next;
    return current.values().map().fileBytes()
        + (after == null ? 0 : after.values().map().fileBytes());
  }
}
