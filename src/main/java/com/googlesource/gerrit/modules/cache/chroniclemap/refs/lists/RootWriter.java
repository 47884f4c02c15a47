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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** A writer of roots, which is reused. For one thread. */
final class RootWriter {
  int blocks;
  private int refs;
  private long textBytes;
  private int namesEnd;
  private long[] ids = new long[256];
  private int[] refsBefore = new int[128];
  private int[] nameEnds = new int[128];
  private short[] lengths = new short[128];
  private int orders;
  private byte[] names = new byte[8 << 10];

  /** Starts a root. */
  void start() {
    blocks = 0;
    refs = 0;
    textBytes = 0;
    namesEnd = 0;
    orders = 0;
  }

  /** Adds the first name of the next block, unless that has none. */
  void addName(byte[] from, int at, int length) {
    if (names.length < namesEnd + length) {
      names = Arrays.copyOf(names, 2 * (namesEnd + length));
    }
    System.arraycopy(from, at, names, namesEnd, length);
    namesEnd += length;
  }

  /**
   * Adds a block, whose first name has been added.
   *
   * @param order of its names and the name before them, see {@link Names#order}
   */
  void add(long idHi, long idLo, int count, int textLength, int order) {
    if (blocks == lengths.length) {
      ids = Arrays.copyOf(ids, 4 * blocks);
      refsBefore = Arrays.copyOf(refsBefore, 2 * blocks);
      nameEnds = Arrays.copyOf(nameEnds, 2 * blocks);
      lengths = Arrays.copyOf(lengths, 2 * blocks);
    }
    ids[2 * blocks] = idHi;
    ids[2 * blocks + 1] = idLo;
    refsBefore[blocks] = refs;
    nameEnds[blocks] = namesEnd;
    lengths[blocks] = (short) textLength;
    orders |= order;
    blocks++;
    refs += count;
    textBytes += textLength;
  }

  /** Returns the digest of the blocks that were added. */
  ContentDigest digest() {
    ByteBuffer bytes = ByteBuffer.allocate(blocks * Root.ID_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asLongBuffer().put(ids, 0, 2 * blocks);
    return ContentDigest.of(bytes);
  }

  /**
   * Makes the root.
   *
   * @param flags of the header
   */
  Root finish(int flags) {
    int size =
        Root.IDS_AT
            + blocks * (Root.ID_BYTES + 2 * Integer.BYTES + Short.BYTES)
            + 2 * Integer.BYTES
            + namesEnd
            + Root.PADDING;
    ByteBuffer bytes = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    bytes.put(Root.VERSION_AT, Root.VERSION);
    bytes.put(Root.FLAGS_AT, (byte) (flags | orders));
    bytes.putInt(Root.BLOCKS_AT, blocks);
    bytes.putInt(Root.REFS_AT, refs);
    bytes.putLong(Root.TEXT_BYTES_AT, textBytes);
    ContentDigest digest = digest();
    bytes.putLong(Root.DIGEST_HI_AT, digest.hi());
    bytes.putLong(Root.DIGEST_LO_AT, digest.lo());
    bytes.position(Root.IDS_AT);
    bytes.asLongBuffer().put(ids, 0, 2 * blocks);
    bytes.position(Root.IDS_AT + blocks * Root.ID_BYTES);
    bytes.asIntBuffer().put(refsBefore, 0, blocks).put(refs).put(0).put(nameEnds, 0, blocks);
    bytes.position(bytes.position() + 2 * (blocks + 1) * Integer.BYTES);
    bytes.asShortBuffer().put(lengths, 0, blocks);
    bytes.position(bytes.position() + blocks * Short.BYTES);
    bytes.put(names, 0, namesEnd);
    return new Root(bytes.array());
  }
}
