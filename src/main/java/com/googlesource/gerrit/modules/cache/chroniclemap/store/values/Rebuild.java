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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.values;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Envelope;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.SegmentReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredKey;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredValue;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongPredicate;

/**
 * The step from one file to the one that takes its place: each segment is copied, while both are
 * read and each write goes to both.
 *
 * <p>For the holder of the store's writer lock.
 */
public final class Rebuild implements AutoCloseable {
  private final ValueTable source;
  private final ValueTable target;
  private final SegmentReader reader;
  private final LongAdder damaged;

  /** What is still to be copied, about. */
  private long bytesToCopy;

  /**
   * Begins to copy.
   *
   * @param sourcePath the name that the source's file has by now
   * @param damaged counts records that are found damaged
   */
  public Rebuild(ValueTable source, Path sourcePath, ValueTable target, LongAdder damaged) {
    this.source = source;
    this.target = target;
    this.reader = source.map().reader(sourcePath);
    this.damaged = damaged;
    this.bytesToCopy = source.liveBytes();
  }

  /**
   * Stores a value in both files; returns false if there was no room in the new one.
   *
   * @param evict whether values of less use may go to make room
   */
  public boolean put(byte[] key, byte[] value, long created, boolean evict) {
    if (!evict && !target.hasRoomFor(bytesToCopy + value.length)) {
      // Or else what is still to be copied would have to go for it.
      if (source.invalidatesOldValues() && (source.contains(key) || target.contains(key))) {
        source.invalidate(key);
        target.invalidate(key);
        drop(key);
      }
      return false;
    }
    // The old file may be full; whether the value is in the next one is what counts.
    var unused = source.put(key, value, created, /* evict= */ false);
    return target.put(key, value, created, evict);
  }

  /** As {@link FileState#noteChange}, in both files. */
  public void noteChange() throws IOException {
    source.map().state().noteChange();
    target.map().state().noteChange();
  }

  /** Removes a value from both files. */
  public void drop(byte[] key) {
    source.remove(key);
    target.remove(key);
  }

  /**
   * Copies the values of one segment, but for those that are there already: they are newer. A split
   * value is copied with its head, wherever its parts are. Where there is no room, values of less
   * use go.
   *
   * @param isTooOld tells from when a value was made whether it is left out
   * @return how many values did not fit
   */
  public long copySegment(int segment, LongPredicate isTooOld) throws IOException {
    source.map().check(segment);
    int segments = source.map().segments();
    bytesToCopy = source.liveBytes() * (segments - segment - 1) / segments;
    if (source.map().state().records(segment) == 0) {
      return 0;
    }
    makeRoom(segment);
    List<byte[]> heads = new ArrayList<>();
    long[] lost = {0};
    long unreadable =
        reader.read(
            segment,
            record -> {
              if (record.isPart() || isTooOld.test(record.created())) {
                return;
              }
              if (record.kind() == Envelope.HEAD) {
                heads.add(record.storedKey());
              } else if (!copyRecord(record.storedKey(), record.record())) {
                lost[0]++;
              }
            });
    damaged.add(unreadable);
    for (byte[] head : heads) {
      if (!target.map().contains(head) && !copySplit(head)) {
        lost[0]++;
      }
    }
    return lost[0];
  }

  /** After each segment; without the lock. See {@link SegmentReader#giveBack}. */
  public void giveBack() {
    reader.giveBack();
  }

  /** Whoever copies no more closes it. */
  @Override
  public void close() {
    reader.close();
  }

  /**
   * Has the system make the pages that the records of a segment will go to. The numbers of segments
   * are powers of two, and the lowest bits of a key's hash say which it is.
   */
  private void makeRoom(int segment) throws IOException {
    int before = source.map().segments();
    int after = target.map().segments();
    int parts = Math.max(1, after / before);
    for (int i = 0; i < parts; i++) {
      target
          .map()
          .makePages(
              (segment + i * before) & (after - 1), source.map().state().bytes(segment) / parts);
    }
  }

  private boolean copyRecord(byte[] storedKey, byte[] record) {
    if (target.map().contains(storedKey)) {
      return true;
    }
    boolean fitted = target.putCopy(storedKey, record);
    dropIfInvalidated(storedKey);
    return fitted;
  }

  private boolean copySplit(byte[] head) {
    byte[] key = StoredKey.keyOf(head);
    try {
      StoredValue value = source.read(key);
      if (value == null || value.isInvalidated()) {
        return true;
      }
      boolean fitted =
          !target.isTooLarge(value.payload())
              && target.put(key, value.payload(), value.created(), /* evict= */ true);
      dropIfInvalidated(head);
      return fitted;
    } catch (DamagedEntryException e) {
      return false;
    }
  }

  /**
   * Whoever invalidates a value looks into the old file first and into the new one second; what was
   * invalidated after it was read for being copied, and before the copy could be found, shows here.
   */
  private void dropIfInvalidated(byte[] storedKey) {
    if (source.map().isInvalidated(storedKey)) {
      target.remove(StoredKey.keyOf(storedKey));
    }
  }
}
