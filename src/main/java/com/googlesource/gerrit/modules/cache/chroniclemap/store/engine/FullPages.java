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

import java.util.HashMap;
import java.util.Map;
import net.openhft.chronicle.core.OS;

/**
 * Tells the system which pages of a full file will be needed, and which will not. A put into a full
 * file that is larger than memory would otherwise wait for the disk while it holds the writer's
 * lock: for the room that an eviction freed long ago, and for the whole segment when it evicts.
 *
 * <ul>
 *   <li>After each put, the system is told where the next record of that segment will be, unless
 *       its length differs much. Some hundred puts to other segments come before that.
 *   <li>If there is no more room for such a record, the segment is read in one go, as the next put
 *       will evict records from it.
 *   <li>After an eviction, the pages that were not in memory before and have no room for new
 *       records are dropped. So an eviction pushes out little of what requests read.
 * </ul>
 *
 * <p>This costs a put two microseconds. It is not done while evictions find their segments in
 * memory, for small files, and without native code. For the writer, while the file is mapped.
 */
final class FullPages {
  private static final int PAGE_BYTES = OS.pageSize();

  /** A segment is not in memory if more than one in so many of its pages is missing. */
  private static final int COLD_SHARE = 16;

  private final long address;
  private final FileLayout layout;
  private final boolean isLarge;

  /** Whether the last segment that was to be evicted from was not in memory. */
  private boolean isCold;

  /** Which pages of a segment were in memory before it was read for an eviction. */
  private final Map<Integer, byte[]> residentBefore = new HashMap<>();

  /**
   * Makes it for a mapped file.
   *
   * @param address where the mapping begins
   */
  FullPages(long address, long mappedBytes, FileLayout layout) {
    this.address = address;
    this.layout = layout;
    this.isLarge = mappedBytes >= BorrowedPages.LEAST_BYTES && address % PAGE_BYTES == 0;
  }

  /**
   * To be called after each put.
   *
   * @param end address after the record
   * @param length bytes of key and record
   */
  void wasPut(int segment, long end, long length) {
    if (!isCold) {
      return;
    }
    long data = start(segment) + layout.chunksOffset();
    int after = Math.toIntExact((end - data + layout.chunkBytes() - 1) / layout.chunkBytes());
    int chunks = Math.toIntExact(length / layout.chunkBytes()) + 1;
    int next = free(segment).nextRun(after, chunks);
    if (next >= 0) {
      ChronicleRuntime.expectRead(
          data + (long) next * layout.chunkBytes(), (long) chunks * layout.chunkBytes());
    } else if (!residentBefore.containsKey(segment)) {
      read(segment, LibC.get());
    }
  }

  /** To be called before records are evicted from a segment. */
  void evicting(int segment) {
    LibC libC = isLarge ? LibC.get() : null;
    if (libC != null && !residentBefore.containsKey(segment)) {
      read(segment, libC);
    }
  }

  private void read(int segment, LibC libC) {
    long from = firstPage(segment);
    long length = start(segment) + layout.segmentBytes() - from;
    byte[] resident = new byte[Math.toIntExact((length + PAGE_BYTES - 1) / PAGE_BYTES)];
    if (libC.mincore(from, length, resident) != 0) {
      return;
    }
    int absent = 0;
    for (byte page : resident) {
      absent += (page & LibC.RESIDENT) == 0 ? 1 : 0;
    }
    isCold = absent > resident.length / COLD_SHARE;
    if (isCold) {
      residentBefore.put(segment, resident);
      ChronicleRuntime.expectRead(from, length);
    }
  }

  /** To be called after records were evicted from a segment. */
  void evicted(int segment) {
    byte[] resident = residentBefore.remove(segment);
    if (resident == null) {
      return;
    }
    FreeChunks free = free(segment);
    int page = 0;
    while (page < resident.length) {
      int end = page;
      while (end < resident.length && isUseless(segment, end, resident, free)) {
        end++;
      }
      if (end > page) {
        long from = firstPage(segment) + (long) page * PAGE_BYTES;
        int unused = LibC.get().madvise(from, (long) (end - page) * PAGE_BYTES, LibC.PAGE_OUT);
      }
      page = end + 1;
    }
  }

  /** Whether a page was not in memory before, and belongs to records of the segment alone. */
  private boolean isUseless(int segment, int page, byte[] resident, FreeChunks free) {
    long from = firstPage(segment) + (long) page * PAGE_BYTES - start(segment);
    long to = from + PAGE_BYTES;
    return (resident[page] & LibC.RESIDENT) == 0
        && from >= layout.chunksOffset()
        && to <= layout.segmentBytes()
        && !free.isAnyFree(chunkAt(from), chunkAt(to + layout.chunkBytes() - 1));
  }

  private int chunkAt(long offsetInSegment) {
    return Math.toIntExact((offsetInSegment - layout.chunksOffset()) / layout.chunkBytes());
  }

  private FreeChunks free(int segment) {
    return new FreeChunks(start(segment) + layout.freeListOffset(), layout.chunks());
  }

  private long start(int segment) {
    return address + layout.offsetOf(segment);
  }

  private long firstPage(int segment) {
    long start = start(segment);
    return start - start % PAGE_BYTES;
  }
}
