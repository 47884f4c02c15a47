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
 * The rebuild of a file: copies its values, segment by segment, into a new file that will replace
 * the old one. Meanwhile reads look into both files, and each write goes to both.
 *
 * <p>For the holder of the store's writer lock.
 */
public final class Rebuild implements AutoCloseable {
  private final ValueTable source;
  private final ValueTable target;
  private final SegmentReader reader;
  private final LongAdder damaged;

  /** Approximate bytes that are not copied yet. */
  private long bytesToCopy;

  /**
   * Begins to copy.
   *
   * @param sourcePath the current name of the old file
   * @param damaged counts the damaged records that are found
   */
  public Rebuild(ValueTable source, Path sourcePath, ValueTable target, LongAdder damaged) {
    this.source = source;
    this.target = target;
    this.reader = source.map.reader(sourcePath);
    this.damaged = damaged;
    this.bytesToCopy = source.liveBytes();
  }

  /**
   * Stores a value in both files; returns false if the new file has no room for it.
   *
   * @param evict whether less useful values may be evicted to make room
   */
  public boolean put(byte[] key, byte[] value, long created, boolean evict) {
    if (!evict && !target.hasRoomFor(bytesToCopy + value.length)) {
      // The room is reserved for values that are not copied yet, which would be evicted otherwise.
      if (source.invalidatesOldValues() && (source.contains(key) || target.contains(key))) {
        source.invalidate(key);
        target.invalidate(key);
        drop(key);
      }
      return false;
    }
    // The old file may be full. Only the result for the new file matters.
    var unused = source.put(key, value, created, /* evict= */ false);
    return target.put(key, value, created, evict);
  }

  /** Calls {@link FileState#noteChange} for both files. */
  public void noteChange() throws IOException {
    source.map.state.noteChange();
    target.map.state.noteChange();
  }

  /** Removes a value from both files. */
  public void drop(byte[] key) {
    source.remove(key);
    target.remove(key);
  }

  /**
   * Copies the values of one segment, except for those that the new file already has, which are
   * newer. A split value is copied with its head, wherever its parts are. If there is no room, less
   * useful values are evicted.
   *
   * @param isTooOld tells by the creation time of a value whether to leave the value out
   * @return how many values could not be copied
   */
  public long copySegment(int segment, LongPredicate isTooOld) throws IOException {
    source.map.check(segment);
    int segments = source.map.geometry.segments();
    bytesToCopy = source.liveBytes() * (segments - segment - 1) / segments;
    if (source.map.state.counts.records(segment) == 0) {
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
      if (!target.map.contains(head) && !copySplit(head)) {
        lost[0]++;
      }
    }
    return lost[0];
  }

  /**
   * See {@link SegmentReader#giveBack}; to be called after each segment, without the writer lock.
   */
  public void giveBack() {
    reader.giveBack();
  }

  /** To be called when nothing more is copied. */
  @Override
  public void close() {
    reader.close();
  }

  /**
   * Has the system create the pages to which the records of a segment will be copied. As numbers of
   * segments are powers of two, and the lowest bits of a key's hash choose the segment, the records
   * go to a few known segments.
   */
  private void makeRoom(int segment) throws IOException {
    int before = source.map.geometry.segments();
    int after = target.map.geometry.segments();
    int parts = Math.max(1, after / before);
    for (int i = 0; i < parts; i++) {
      target.map.makePages(
          (segment + i * before) & (after - 1), source.map.state.counts.bytes(segment) / parts);
    }
  }

  private boolean copyRecord(byte[] storedKey, byte[] record) {
    if (target.map.contains(storedKey)) {
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
      // First into segments that have room: the parts go to other ones with each attempt.
      boolean fitted =
          !target.isTooLarge(value.payload())
              && (target.put(key, value.payload(), value.created(), /* evict= */ false)
                  || target.put(key, value.payload(), value.created(), /* evict= */ true));
      dropIfInvalidated(head);
      return fitted;
    } catch (DamagedEntryException e) {
      return false;
    }
  }

  /**
   * Removes the copy of a value that was invalidated meanwhile. An invalidation marks the old file
   * first. If it came before the copy could be found, only the old file shows it.
   */
  private void dropIfInvalidated(byte[] storedKey) {
    if (source.map.isInvalidated(storedKey)) {
      target.remove(StoredKey.keyOf(storedKey));
    }
  }
}
