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

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * The root of a value that is cut into chunks by its content, which is the payload of its head:
 * {@code salt(8) length(4)}, little endian, then the ids of the lists of chunks. Each of these
 * lists is a part whose payload are the ids of chunks, and each chunk is a part, too. The parts
 * have the order of the value's bytes.
 *
 * <p>The id of a part is made from its content, so that a value that replaces another one shares
 * all parts with it that are equal.
 *
 * @param salt goes into each id, so that nobody can make two contents of one id
 * @param length bytes of the whole value
 * @param lists the ids of the lists, one behind the other
 */
public record ChunkRoot(long salt, int length, byte[] lists) {
  /** Bytes of an id: in the stored key of a part, it takes the place of {@code id} and index. */
  public static final int ID_LENGTH = 8 + 4;

  private static final int HEADER_LENGTH = 8 + 4;

  public byte[] encode() {
    return ByteBuffer.allocate(HEADER_LENGTH + lists.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(salt)
        .putInt(length)
        .put(lists)
        .array();
  }

  /** Returns null if the bytes are no root; those of a {@link PartList} are none. */
  public static ChunkRoot decode(byte[] bytes) {
    if (bytes.length <= PartList.ENCODED_LENGTH
        || (bytes.length - HEADER_LENGTH) % ID_LENGTH != 0) {
      return null;
    }
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    ChunkRoot root =
        new ChunkRoot(
            in.getLong(), in.getInt(), Arrays.copyOfRange(bytes, HEADER_LENGTH, bytes.length));
    return root.length > 0 ? root : null;
  }
}
