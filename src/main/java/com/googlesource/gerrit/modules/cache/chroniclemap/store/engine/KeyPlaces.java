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
    for (int i = 0; segment(hash(key)) != segment; i++) {
      key = Ints.toByteArray(i);
    }
    return key;
  }

  /** Whether the key of a record is found by way of a slot. */
  boolean isPlace(FileLayout layout, int segment, long slot, RecordView record) {
    long hash = HASH.hashBytes(record.bytes, record.keyAt, record.keyLength);
    return segment(hash) == segment && slotKey(layout, hash) == layout.keyOf(slot);
  }

  static long hash(byte[] key) {
    return HASH.hashBytes(key);
  }

  /** The segment to which the key of a hash belongs. */
  int segment(long hash) {
    return splitting.segmentIndex(hash);
  }

  /** The part of a key's hash that is in the slot. */
  long slotKey(FileLayout layout, long hash) {
    return layout.keyOfHash(splitting.segmentHash(hash));
  }
}
