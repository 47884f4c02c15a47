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

import com.google.common.primitives.Ints;
import net.openhft.chronicle.algo.hashing.LongHashFunction;
import net.openhft.chronicle.hash.impl.HashSplitting;
import net.openhft.chronicle.hash.impl.VanillaChronicleHash;

/** The places of keys in a Chronicle-Map file, which follow from their hashes. */
record KeyPlaces(HashSplitting splitting) {
  /** The hash function that Chronicle-Map 2026.1 uses for keys of bytes. */
  private static final LongHashFunction HASH = LongHashFunction.xx_r39();

  static KeyPlaces of(VanillaChronicleHash<?, ?, ?, ?> map) {
    return new KeyPlaces(map.hashSplitting);
  }

  /** A key of at most 4 bytes that belongs to a segment. */
  byte[] keyOf(int segment) {
    byte[] key = new byte[Integer.BYTES];
    for (int i = 0; segment(key, 0, key.length) != segment; i++) {
      key = Ints.toByteArray(i);
    }
    return key;
  }

  /** Whether the key of a record is found by way of a slot. */
  boolean isPlace(FileLayout layout, int segment, long slot, RecordView record) {
    int at = record.keyAt;
    int length = record.keyLength;
    return segment(record.bytes, at, length) == segment
        && layout.keyOfHash(segmentHash(record.bytes, at, length)) == layout.keyOf(slot);
  }

  /** The segment to which a key belongs. */
  int segment(byte[] bytes, int offset, int length) {
    return splitting.segmentIndex(HASH.hashBytes(bytes, offset, length));
  }

  /** The hash of a key within its segment, a part of which is in the slot. */
  private long segmentHash(byte[] bytes, int offset, int length) {
    return splitting.segmentHash(HASH.hashBytes(bytes, offset, length));
  }
}
