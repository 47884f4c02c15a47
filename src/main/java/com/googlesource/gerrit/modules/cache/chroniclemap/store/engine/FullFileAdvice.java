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

import static java.util.Objects.checkIndex;

import com.google.common.flogger.FluentLogger;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import net.openhft.chronicle.core.OS;

/**
 * The advice to the kernel which pages of a full file will be needed, and which will not. Without
 * it, a put into a full file that is larger than memory waits for the disk while it holds the
 * writer's lock: for the pages that an eviction freed long ago, and for the whole segment when it
 * evicts.
 *
 * <ul>
 *   <li>After each insert, it is advised to read the pages where the next record of that segment
 *       will be, if that has about the same length. Some hundred puts to other segments usually
 *       come before that.
 *   <li>If there is no more room for such a record, the segment is read in one go, as the next put
 *       will evict records from it.
 *   <li>After an eviction, the pages that it touched leave memory again if they were not there
 *       before and have no room for new records. So an eviction drops few pages that requests read.
 * </ul>
 *
 * <p>An insert costs some microseconds more. Nothing of this is done while evictions find their
 * segments in memory, for small files, and without native code. To be used by the writer while the
 * file is mapped.
 */
public final class FullFileAdvice {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private static final int PAGE_BYTES = OS.pageSize();

  /** A segment is not in memory if more than one in so many of its pages is missing. */
  private static final int COLD_SHARE = 16;

  /** The segments that are read ahead of their evictions. Each takes half a kilobyte of heap. */
  private static final int MAX_SEGMENTS = 4096;

  /** Pages that were not in memory longer ago may be in use. */
  private static final long MAX_AGE_NANOS = TimeUnit.MINUTES.toNanos(1);

  private final long address;
  private final FileLayout layout;
  private final SegmentCounts counts;

  /** Whether the file is large, and no call failed. */
  private boolean isOn;

  /** Whether the last segment that was to be evicted from was not in memory. */
  private boolean isCold;

  /**
   * The pages of a segment when it was read for an eviction.
   *
   * @param resident a byte for each page, as {@link LibC#mincore} answered before
   */
  private record Before(byte[] resident, long nanos) {}

  /** The segments that were read and not evicted from yet. */
  private final Map<Integer, Before> before = new HashMap<>();

  /**
   * Makes it for a mapped file.
   *
   * @param address where the mapping begins
   */
  FullFileAdvice(long address, long mappedBytes, FileLayout layout, SegmentCounts counts) {
    this.counts = counts;
    this.address = address;
    this.layout = layout;
    this.isOn = mappedBytes >= BorrowedPages.MIN_FILE_BYTES && address % PAGE_BYTES == 0;
  }

  /**
   * To be called after a record was inserted.
   *
   * @param end address after the record
   * @param length bytes of key and record
   */
  void inserted(int segment, long end, long length) {
    if (isCold) {
      attempt(() -> expectNext(segment, end, length));
    }
  }

  private void expectNext(int segment, long end, long length) {
    long data = start(segment) + layout.chunksOffset;
    int after = Math.toIntExact((end - data + layout.chunkBytes - 1) / layout.chunkBytes);
    int chunks = Math.toIntExact(length / layout.chunkBytes) + 1;
    int next = nextRun(start(segment) + layout.freeListOffset, layout.chunks, after, chunks);
    if (next >= 0) {
      ChronicleRuntime.expectRead(
          data + (long) next * layout.chunkBytes, (long) chunks * layout.chunkBytes);
    } else if (!before.containsKey(segment) && before.size() < MAX_SEGMENTS) {
      read(segment);
    }
  }

  /** To be called before a segment is scanned for records to evict. */
  public void evicting(int segment) {
    checkIndex(segment, layout.segments);
    Before known = before.get(segment);
    if (isOn && (known == null || System.nanoTime() - known.nanos > MAX_AGE_NANOS)) {
      attempt(() -> read(segment));
    }
  }

  private void read(int segment) {
    LibC libC = LibC.get();
    long from = firstPage(segment);
    long length = start(segment) + counts.room(segment) - from;
    byte[] resident = new byte[Math.toIntExact((length + PAGE_BYTES - 1) / PAGE_BYTES)];
    if (libC == null || libC.mincore(from, length, resident) != 0) {
      return;
    }
    int absent = 0;
    for (byte page : resident) {
      absent += (page & LibC.RESIDENT) == 0 ? 1 : 0;
    }
    boolean isAbsent = absent > resident.length / COLD_SHARE;
    // One that was read ahead long ago is in memory for that reason only.
    isCold = isAbsent || before.remove(segment) != null;
    if (isAbsent) {
      before.put(segment, new Before(resident, System.nanoTime()));
      ChronicleRuntime.expectRead(from, length);
    }
  }

  /** Whether the segment that was to be evicted from last was not in memory. */
  public boolean isCold() {
    return isCold;
  }

  /** To be called after records were evicted from a segment. */
  public void evicted(int segment) {
    Before known = before.remove(segment);
    if (known != null) {
      attempt(() -> drop(segment, known.resident));
    }
  }

  private void drop(int segment, byte[] resident) {
    BitSet used = layout.usedChunks(start(segment));
    int page = 0;
    while (page < resident.length) {
      int end = page;
      while (end < resident.length && isUseless(segment, end, resident, used)) {
        end++;
      }
      if (end > page) {
        long from = firstPage(segment) + (long) page * PAGE_BYTES;
        int unused = LibC.get().madvise(from, (long) (end - page) * PAGE_BYTES, LibC.PAGE_OUT);
      }
      page = end + 1;
    }
  }

  /** Nothing depends on these hints. */
  private void attempt(Runnable hint) {
    try {
      hint.run();
    } catch (RuntimeException | LinkageError e) {
      logger.atFine().withCause(e).log(
          "Cannot advise the kernel on pages; puts into full files may wait for the disk");
      isOn = false;
      isCold = false;
    }
  }

  /** Whether a page was not in memory before, and belongs to records of the segment alone. */
  private boolean isUseless(int segment, int page, byte[] resident, BitSet used) {
    long from = firstPage(segment) + (long) page * PAGE_BYTES - start(segment);
    long to = from + PAGE_BYTES;
    return (resident[page] & LibC.RESIDENT) == 0
        && from >= layout.chunksOffset
        && to <= layout.segmentBytes
        && used.nextClearBit(chunkAt(from))
            >= Math.min(chunkAt(to + layout.chunkBytes - 1), layout.chunks);
  }

  private int chunkAt(long offsetInSegment) {
    return Math.toIntExact((offsetInSegment - layout.chunksOffset) / layout.chunkBytes);
  }

  private long start(int segment) {
    return address + layout.offsetOf(segment);
  }

  private long firstPage(int segment) {
    long start = start(segment);
    return start - start % PAGE_BYTES;
  }

  /**
   * Returns the first of so many chunks in a row that are free; -1 if there are not so many.
   *
   * @param used address of the set of used chunks, which is read where it is
   * @param from the first chunk to consider
   */
  static int nextRun(long used, int chunks, int from, int length) {
    int begin = from;
    int at = from;
    while (at - begin < length && begin + length <= chunks) {
      // Java shifts by the lower six bits alone, so the lowest bit of the rest is that of the
      // chunk.
      long rest = OS.memory().readLong(used + (long) (at / Long.SIZE) * Long.BYTES) >>> at;
      if ((rest & 1) == 0) {
        at += Math.min(Long.numberOfTrailingZeros(rest), Long.SIZE - at % Long.SIZE);
      } else {
        at += Long.numberOfTrailingZeros(~rest);
        begin = at;
      }
    }
    return begin + length <= chunks ? begin : -1;
  }
}
