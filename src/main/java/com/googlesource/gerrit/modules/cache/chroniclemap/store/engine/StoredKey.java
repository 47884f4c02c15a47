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

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;

/**
 * The keys as stored in the file. The last byte is the kind of the record, so that no key of a
 * cache can be taken for that of a part of another key's value:
 *
 * <pre>
 *   value or head   key 00
 *   note            {@link #NOTE} 00
 *   part            key id(8) index(4) 01
 * </pre>
 */
public final class StoredKey {
  private static final byte VALUE_MARK = 0;
  private static final byte PART_MARK = 1;
  private static final int PART_SUFFIX_LENGTH = 8 + 4 + 1;

  /**
   * The key of a note of the store's own beside its values, which counts as none of them and is not
   * evicted. It begins with a byte with which no serialized key of a cache with a note begins.
   */
  public static final byte[] NOTE = "\0shared values".getBytes(UTF_8);

  private static final byte[] STORED_NOTE = ofValue(NOTE);

  private StoredKey() {}

  public static byte[] ofValue(byte[] key) {
    byte[] out = Arrays.copyOf(key, key.length + 1);
    out[key.length] = VALUE_MARK;
    return out;
  }

  public static byte[] ofPart(byte[] key, long id, int index) {
    byte[] out = Arrays.copyOf(key, key.length + PART_SUFFIX_LENGTH);
    Envelope.LONG.set(out, key.length, id);
    Envelope.INT.set(out, key.length + 8, index);
    out[out.length - 1] = PART_MARK;
    return out;
  }

  /** The same for an id made from content, at an offset of {@code ids}; see {@link ChunkRoot}. */
  public static byte[] ofPart(byte[] key, byte[] ids, int offset) {
    return ofPart(
        key,
        (long) Envelope.LONG.get(ids, offset),
        (int) Envelope.INT.get(ids, offset + Long.BYTES));
  }

  public static boolean isPart(byte[] storedKey) {
    return isPart(storedKey, 0, storedKey.length);
  }

  /** The same as {@link #isPart(byte[])} for a key within other bytes. */
  public static boolean isPart(byte[] bytes, int offset, int length) {
    return length >= PART_SUFFIX_LENGTH && bytes[offset + length - 1] == PART_MARK;
  }

  /** Whether a key within other bytes is that of the note. */
  public static boolean isNote(byte[] bytes, int offset, int length) {
    return Arrays.equals(bytes, offset, offset + length, STORED_NOTE, 0, STORED_NOTE.length);
  }

  /** The key to whose value the record belongs. */
  public static byte[] keyOf(byte[] storedKey) {
    return Arrays.copyOf(storedKey, keyLength(storedKey));
  }

  /** The length of the key at the beginning of {@code storedKey}, in bytes. */
  public static int keyLength(byte[] storedKey) {
    return storedKey.length - (isPart(storedKey) ? PART_SUFFIX_LENGTH : 1);
  }

  /** The id of the part's value. */
  public static long partId(byte[] storedKey) {
    return (long) Envelope.LONG.get(storedKey, storedKey.length - PART_SUFFIX_LENGTH);
  }
}
