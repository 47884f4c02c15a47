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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.SegmentReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.ValueCopy;
import java.io.IOException;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongPredicate;

/**
 * The next generation of a store while it is filled from the one in use. There is one as long as
 * that lasts and no longer; {@link FileInUse} begins and ends it.
 *
 * <p>For the holder of the store's writer lock, but for {@link #next}.
 */
public final class Rebuild {
  private final Generation old;
  private final Generation next;
  private final ValueCopy copy;

  /** What is still to be copied, about. */
  private long bytesToCopy;

  Rebuild(Generation old, Generation next, LongAdder damaged) {
    this.old = old;
    this.next = next;
    this.copy = new ValueCopy(old.values(), old.name().path(), next.values(), damaged);
    this.bytesToCopy = old.values().liveBytes();
  }

  /** The generation that is being filled. */
  Generation next() {
    return next;
  }

  /**
   * Copies a segment; returns how many values did not fit.
   *
   * @param isTooOld asked when a value was made that is left out then; milliseconds since the epoch
   */
  public long copySegment(int index, LongPredicate isTooOld) throws IOException {
    long lost = copy.copySegment(index, isTooOld);
    int segments = old.values().map().segments();
    bytesToCopy = old.values().liveBytes() * (segments - index - 1) / segments;
    return lost;
  }

  /** After each segment; without the lock. See {@link SegmentReader#giveBack}. */
  public void giveBack() {
    copy.giveBack();
  }

  /** Nothing is copied any more. */
  void end() {
    copy.close();
  }

  /** As {@link FileInUse#put}. */
  boolean put(byte[] key, byte[] value, long created, boolean evict) {
    if (!evict && !next.values().hasRoomFor(bytesToCopy + value.length)) {
      // Or else what is still to be copied would have to go for it.
      if (old.values().isWrongWhenOld()
          && (old.values().contains(key) || next.values().contains(key))) {
        old.markVoid(key);
        next.markVoid(key);
        drop(key);
      }
      return false;
    }
    // The old file may be full; whether the value is in the next one is what counts.
    var unused = old.values().put(key, value, created, /* evict= */ false);
    return next.values().put(key, value, created, evict);
  }

  /** As {@link FileInUse#noteChange}. */
  void noteChange() throws IOException {
    old.state().noteChange();
    next.state().noteChange();
  }

  /** As {@link FileInUse#drop}. */
  void drop(byte[] key) {
    old.values().remove(key);
    next.values().remove(key);
  }
}
