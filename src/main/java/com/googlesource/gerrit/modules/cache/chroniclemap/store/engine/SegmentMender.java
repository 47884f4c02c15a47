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

import com.google.common.flogger.FluentLogger;
import com.google.common.util.concurrent.Striped;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Lock;

/**
 * The mender of a mapped file's segments: repairs each of them before its first use after a kill or
 * a crash of the machine. No thread uses a segment meanwhile, since each first asks whether it was
 * checked. A repair reads the whole segment, 1 to 2 MB. If the process is killed during a repair,
 * the segment still counts as unchecked.
 *
 * <p>Safe for any thread; threads that need the same segment wait for each other.
 *
 * @param damaged counts slots that led to no valid record
 */
record SegmentMender(
    Path path,
    FileChannel file,
    FileLayout layout,
    KeyPlaces places,
    FileState state,
    SegmentHeaders headers,
    LongAdder damaged) {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** This many segments are repaired at a time in the whole process, for the sake of the heap. */
  private static final Striped<Lock> LOCKS = Striped.lock(4);

  /**
   * Repairs a segment if it is unchecked.
   *
   * @throws IllegalStateException if the file cannot be read or written
   * @throws StoreBusyException if there is too little memory
   */
  void mend(int segment) {
    Lock lock = LOCKS.get(path.hashCode() + segment);
    lock.lock();
    try {
      if (state.isUnchecked(segment)) {
        SegmentRepair repair = new SegmentRepair(layout, places);
        repair.mend(segment, file, state, headers);
        damaged.add(repair.damaged);
      }
    } catch (IOException e) {
      throw new IllegalStateException("cannot repair a segment", e);
    } catch (OutOfMemoryError e) {
      // The file has not changed.
      logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.MINUTES).log(
          "no memory to repair a segment of %s", path);
      throw new StoreBusyException();
    } finally {
      lock.unlock();
    }
  }
}
