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

import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.WORD;

/**
 * A one-byte hash of a name, made of the name's length and its last sixteen bytes, which usually
 * differ within a block. Equal names have equal tags. A collision only costs time.
 */
final class NameTag {
  private static final long A = 0x9E3779B97F4A7C15L;
  private static final long B = 0xC2B2AE3D27D4EB4FL;
  private static final int TOP_BYTE = 56;

  private NameTag() {}

  /**
   * Returns the tag, 0 to 255.
   *
   * @param text has at least 8 readable bytes after the start of the name
   */
  static int of(byte[] text, int nameAt, int length) {
    long first;
    long last = 0;
    if (length < Long.BYTES) {
      first = (long) WORD.get(text, nameAt) & ((1L << (length * Byte.SIZE)) - 1);
    } else {
      int end = nameAt + length;
      first = (long) WORD.get(text, Math.max(nameAt, end - 2 * Long.BYTES));
      last = (long) WORD.get(text, end - Long.BYTES);
    }
    long mixed = (first * A) ^ (last + length) * B;
    return (int) (((mixed ^ (mixed >>> 32)) * A) >>> TOP_BYTE);
  }
}
