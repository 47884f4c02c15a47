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

/**
 * The geometry of a file: the four numbers that determine the length of a Chronicle-Map file.
 *
 * <p>A file is a row of equal segments, each with its own lock, hash slots, bit set of used chunks
 * and chunks. The hash of a key chooses the segment, in which an entry takes consecutive chunks.
 *
 * <p>The sizes of a cache's entries are not known before the cache is used, so a file suits any
 * size. Its chunks are small, as an entry wastes half a chunk on average, and there is a slot for
 * each 64 to 128 bytes (3 to 6 % of the file). Files of version 1.0.0 have slots for the sizes that
 * were seen. Files of 1 MiB to half a terabyte have segments of 1 to 2 MiB, because a slot then
 * takes 4 bytes rather than 8, and because a lock covers only a part of the data.
 *
 * @param segments a power of two
 * @param chunkSize bytes
 * @param chunksPerSegment chunks of one segment
 * @param entriesPerSegment entries for which one segment's slots are laid out
 */
public record Geometry(int segments, int chunkSize, long chunksPerSegment, long entriesPerSegment) {
  /** The smallest useful file, in bytes. */
  public static final long MIN_FILE_BYTES = 64 << 10;

  /** Bytes of a file per slot if the sizes of entries are not known; in effect up to twice that. */
  public static final int DEFAULT_BYTES_PER_SLOT = 64;

  /** One in this many bytes of a store may be used for saved frequencies. */
  public static final int SAVED_SHARE = 128;

  private static final int CHUNK_SIZE = 64;

  /** Bytes of payload above which a value is split in a file of several segments. */
  private static final int MAX_PAYLOAD = 16 << 10;

  private static final long SEGMENT_BYTES = 1 << 20;

  /** Enough for half a terabyte. A segment takes 80 bytes of memory besides the file. */
  private static final int MAX_SEGMENTS = 1 << 18;

  /** Chronicle-Map's header and global state, rounding to pages, {@link FileState}'s header. */
  private static final long FILE_OVERHEAD = 24 << 10;

  /** The segment's header, counters, rounding to cache lines, and row in {@link FileState}. */
  private static final long SEGMENT_OVERHEAD = 512;

  private static final double SLOT_LOAD = 0.6;

  /**
   * Returns the geometry of a file of at most {@code maxBytes}, and not much less.
   *
   * @param bytesPerSlot bytes of the file per hash slot
   */
  public static Geometry forFileOf(long maxBytes, int bytesPerSlot) {
    if (maxBytes < MIN_FILE_BYTES) {
      throw new IllegalArgumentException(
          "a store needs at least " + MIN_FILE_BYTES + " bytes: maxBytes=" + maxBytes);
    }
    int segments =
        (int) Math.min(MAX_SEGMENTS, Long.highestOneBit(Math.max(1, maxBytes / SEGMENT_BYTES)));
    long fileBytes = maxBytes - FILE_OVERHEAD - maxBytes / SAVED_SHARE;
    long segmentBytes = fileBytes / segments - SEGMENT_OVERHEAD;
    long slots = Math.max(64, Long.highestOneBit(segmentBytes / bytesPerSlot));
    int slotBytes = segmentBytes <= 2 * SEGMENT_BYTES ? 4 : 8;
    long chunkAndBit = CHUNK_SIZE * 8 + 1;
    long chunks = (segmentBytes - slots * slotBytes) * 8 / chunkAndBit;
    long entries = Math.min(chunks, (long) (slots * SLOT_LOAD));
    return new Geometry(segments, CHUNK_SIZE, chunks, entries);
  }

  /** How many entries the slots of all segments are laid out for. */
  public long slots() {
    return segments * entriesPerSegment;
  }

  /** The bytes of all chunks. */
  public long dataBytes() {
    return segments * chunksPerSegment * chunkSize;
  }

  /**
   * Bytes of payload above which a value is split. At most a sixteenth of a segment, so that the
   * parts spread evenly over the segments, and so that a segment of which scattered records, an
   * eighth of its bytes, were evicted has a free run of this length. The same for all files of
   * several segments, so that a record of one file fits in a copy.
   */
  public int maxPayload() {
    return (int) Math.min(MAX_PAYLOAD, chunksPerSegment * chunkSize / 16);
  }
}
