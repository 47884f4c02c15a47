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

/**
 * Where things are in a Chronicle-Map file of one geometry, as far as {@link SegmentReader} needs
 * it.
 *
 * <pre>
 *   file      header and global state | segment 0 | segment 1 | ...
 *   segment   hash slots | counters, bit set of used chunks | chunks
 *   slot      key hash (low keyBits) and number of the entry's first chunk (the bits above); 0: unused
 *   entry     key length | key | record length | record; lengths are stop bit encoded
 * </pre>
 *
 * <p>Source: net.openhft.chronicle.hash.impl.VanillaChronicleHash and CompactOffHeapLinearHashTable
 * of Chronicle-Map 2026.1, and its published data store specification. All numbers are little
 * endian.
 *
 * @param segmentsOffset offset of the first segment in the file, bytes
 * @param segments number of segments
 * @param segmentBytes distance from one segment to the next, bytes
 * @param slots number of slots of a segment
 * @param slotBytes 4 or 8
 * @param keyBits bits of a slot that hold a part of the key's hash
 * @param chunkBits bits of a slot that hold the number of a chunk
 * @param chunksOffset offset of the chunks in a segment, bytes
 * @param chunks number of chunks of a segment
 * @param chunkBytes bytes of a chunk
 * @param maxRecord bytes of the longest record
 */
record FileLayout(
    long segmentsOffset,
    int segments,
    int segmentBytes,
    int slots,
    int slotBytes,
    int keyBits,
    int chunkBits,
    int chunksOffset,
    int chunks,
    int chunkBytes,
    int maxRecord) {}
