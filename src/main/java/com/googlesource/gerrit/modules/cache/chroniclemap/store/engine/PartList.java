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

/**
 * The list of a split value's parts, which is the payload of its head: {@code id(8) length(4)
 * partLength(4)}, little endian. Each write of a value has a new id, so that a reader never mixes
 * the parts of two values.
 *
 * @param id identifies this write of the value
 * @param length bytes of the whole value
 * @param partLength bytes of each part but the last
 */
public record PartList(long id, int length, int partLength) {
  static final int ENCODED_LENGTH = 16;

  public int parts() {
    return (int) (((long) length + partLength - 1) / partLength);
  }

  public int lengthOf(int index) {
    return Math.min(partLength, length - index * partLength);
  }

  public byte[] encode() {
    return ByteBuffer.allocate(ENCODED_LENGTH)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(id)
        .putInt(length)
        .putInt(partLength)
        .array();
  }

  /** Returns null if the bytes are not a part list. */
  public static PartList decode(byte[] bytes) {
    if (bytes.length != ENCODED_LENGTH) {
      return null;
    }
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    PartList list = new PartList(in.getLong(), in.getInt(), in.getInt());
    return list.length() > 0 && list.partLength() > 0 ? list : null;
  }
}
