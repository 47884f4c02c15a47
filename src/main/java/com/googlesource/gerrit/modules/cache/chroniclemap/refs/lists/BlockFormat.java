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

/** The layout of a block, as specified in the comment of the package. */
final class BlockFormat {
  static final byte VERSION = 4;

  /** Flag: the file's header declares {@code peeled}; see {@link PackedRefsTraits}. */
  static final int PEELED = 1;

  /** Flag: the file's header declares {@code fully-peeled}. */
  static final int FULLY_PEELED = 1 << 1;

  /** The flags of the header. All blocks of a list and its root have the same. */
  static final int FLAGS = PEELED | FULLY_PEELED;

  /** Flag of blocks and roots: the names do not ascend in JGit's order, see {@link Names}. */
  static final int BYTES_ONLY = 1 << 3;

  /** The size of an object id, which is always a SHA-1 in JGit. */
  static final int ID_BYTES = 20;

  static final int VERSION_AT = 0;
  static final int FLAGS_AT = 1;
  static final int COUNT_AT = 2;
  static final int RESTARTS_AT = 4;

  /** The distance of restart points, which are the entries with a full name. */
  static final int RESTART_EVERY = 8;

  /** In the byte of the shared length: the length is in the next two bytes. */
  static final int LONG_SHARED = 0xFF;

  /** In the byte of the suffix length: the length is in the next two bytes. */
  static final int LONG_SUFFIX = 0x7F;

  /** In the byte of the suffix length: a peeled id follows the suffix. */
  static final int HAS_PEELED_ID = 0x80;

  /** The number of zeros at the end, which allow loads of eight bytes anywhere. */
  static final int PADDING = 8;

  private BlockFormat() {}

  static int idsAt(int count) {
    return RESTARTS_AT + restarts(count) * Short.BYTES;
  }

  static int restarts(int count) {
    return (count + RESTART_EVERY - 1) / RESTART_EVERY;
  }
}
