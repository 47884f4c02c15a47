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

import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.BUFFER_BIG_INT;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.BUFFER_BIG_WORD;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.BUFFER_SHORT;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.BUFFER_WORD;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.WORD;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;

/**
 * A cursor over a block in direct memory, which finds names and moves from entry to entry. For one
 * thread.
 */
final class BlockView {

  private final ByteBuffer memory;
  private final int flags;

  /** Number of refs. */
  final int count;

  private final int idsAt;

  // The current entry.

  /** Index of the current entry; the number of refs if the cursor is behind the last entry. */
  int index;

  private int shared;
  private int suffixAt;
  private int suffixLength;
  private boolean hasPeeledId;

  /**
   * How many bytes of its target the last {@link #find} has in common with the entries around the
   * cursor: the most of the one before and that at it, if they are in this block.
   */
  int matched;

  // The decoded name of the current entry, after seek() or advance().
  private byte[] name = {};
  int nameLength;

  BlockView(ByteBuffer block) {
    memory = block;
    if (block.get(BlockFormat.VERSION_AT) != BlockFormat.VERSION) {
      throw new IllegalStateException("not a block of this format");
    }
    flags = block.get(BlockFormat.FLAGS_AT);
    count = unsignedShort(BlockFormat.COUNT_AT);
    idsAt = BlockFormat.idsAt(count);
  }

  /**
   * Moves to the first entry whose name is not before the target.
   *
   * @return whether the name of that entry is the target
   */
  boolean find(Target sought) {
    byte[] target = sought.bytes();
    int length = sought.length();
    int low = 0;
    int high = BlockFormat.restarts(count);
    // How many bytes the target shares with the entries before low and at high. All entries between
    // them share at least the smaller number of bytes with the target.
    int lowMatch = 0;
    int highMatch = 0;
    while (low < high) {
      int middle = (low + high) >>> 1;
      restart(middle);
      int from = Math.min(lowMatch, highMatch);
      int match =
          from + mismatch(suffixAt + from, target, from, Math.min(suffixLength, length) - from);
      int order = order(match, match, target, length);
      if (order < 0) {
        low = middle + 1;
        lowMatch = match;
      } else if (order == 0) {
        index = middle * BlockFormat.RESTART_EVERY;
        matched = length;
        return true;
      } else {
        high = middle;
        highMatch = match;
      }
    }
    if (low == 0) {
      index = 0;
      matched = highMatch;
      return false;
    }
    restart(low - 1);
    boolean found = findBehind(low - 1, lowMatch, target, length);
    matched = Math.max(matched, highMatch);
    return found;
  }

  /**
   * Moves to the first entry behind a restart point whose name is not before the target.
   *
   * @param restart the restart point, which is the current entry and before the target
   * @param lowMatch how many bytes its name shares with the target
   */
  private boolean findBehind(int restart, int lowMatch, byte[] target, int length) {
    index = restart * BlockFormat.RESTART_EVERY;
    int end = Math.min(index + BlockFormat.RESTART_EVERY, count);
    int match = lowMatch;
    while (++index < end) {
      entry(next());
      if (shared > match) {
        continue; // differs from the target where the entry before did
      }
      if (shared < match) {
        break; // is greater than the entry before at a byte where that one matched
      }
      int more = mismatch(suffixAt, target, match, Math.min(suffixLength, length - match));
      int order = order(more, match + more, target, length);
      match += more;
      if (order >= 0) {
        matched = match;
        return order == 0;
      }
    }
    matched = match;
    return false;
  }

  /**
   * Compares the current entry with the target at their first difference or end.
   *
   * @param at position in the suffix
   * @param targetAt the same position in the target
   */
  private int order(int at, int targetAt, byte[] target, int targetEnd) {
    if (at == suffixLength) {
      return targetAt == targetEnd ? 0 : -1;
    }
    if (targetAt == targetEnd) {
      return 1;
    }
    return Byte.compareUnsigned(memory.get(suffixAt + at), target[targetAt]);
  }

  /** Returns how many of the first bytes are equal. */
  private int mismatch(int at, byte[] target, int from, int length) {
    for (int i = 0; i < length; i += Long.BYTES) {
      long differ = (long) BUFFER_WORD.get(memory, at + i) ^ (long) WORD.get(target, from + i);
      if (differ != 0) {
        return Math.min(length, i + (Long.numberOfTrailingZeros(differ) >>> 3));
      }
    }
    return length;
  }

  /** Moves to an entry by index, and decodes its name. */
  void seek(int to) {
    index = to - to % BlockFormat.RESTART_EVERY;
    if (index >= count) {
      return;
    }
    nameLength = 0;
    restart(index / BlockFormat.RESTART_EVERY);
    readName();
    while (index < to) {
      advance();
    }
  }

  /** Moves to the next entry, if there is one, and decodes its name. */
  void advance() {
    if (++index < count) {
      entry(next());
      readName();
    }
  }

  /** Moves to the first entry without its name, which is for {@link #seek} to decode. */
  void first() {
    index = 0;
    if (count > 0) {
      restart(0);
    }
  }

  /** Moves to the next entry, if there is one, without its name. */
  void skip() {
    if (++index < count) {
      entry(next());
    }
  }

  private void readName() {
    nameLength = shared + suffixLength;
    if (name.length < nameLength + Long.BYTES) {
      name = Arrays.copyOf(name, 2 * nameLength + Long.BYTES);
    }
    if (suffixLength <= Long.BYTES) {
      WORD.set(name, shared, (long) BUFFER_WORD.get(memory, suffixAt));
    } else {
      memory.get(suffixAt, name, shared, suffixLength);
    }
  }

  /** Returns whether the decoded name starts with a prefix. */
  boolean nameStartsWith(Target prefix) {
    int length = prefix.length();
    return nameLength >= length && Arrays.equals(name, 0, length, prefix.bytes(), 0, length);
  }

  /** Returns the decoded name. */
  String name() {
    return new String(name, 0, nameLength, UTF_8);
  }

  /** Makes the ref of the current entry. */
  Ref ref(String refName) {
    ObjectId id = id(idsAt + index * BlockFormat.ID_BYTES);
    if (hasPeeledId) {
      return new ObjectIdRef.PeeledTag(
          Ref.Storage.PACKED, refName, id, id(suffixAt + suffixLength));
    }
    return PackedRefsTraits.isPeeled(flags, refName)
        ? new ObjectIdRef.PeeledNonTag(Ref.Storage.PACKED, refName, id)
        : new ObjectIdRef.Unpeeled(Ref.Storage.PACKED, refName, id);
  }

  /** Returns whether an id is the current entry's id or peeled id. */
  boolean pointsTo(int[] id) {
    return isId(idsAt + index * BlockFormat.ID_BYTES, id)
        || (hasPeeledId && isId(suffixAt + suffixLength, id));
  }

  /**
   * Reads the first eight bytes of each id and peeled id.
   *
   * @param starts has room for two of each ref
   * @return the place behind the last one
   */
  int readIdStarts(long[] starts, int from) {
    int to = from;
    for (first(); index < count; skip()) {
      starts[to++] = (long) BUFFER_BIG_WORD.get(memory, idsAt + index * BlockFormat.ID_BYTES);
      if (hasPeeledId) {
        starts[to++] = (long) BUFFER_BIG_WORD.get(memory, suffixAt + suffixLength);
      }
    }
    return to;
  }

  private boolean isId(int at, int[] id) {
    int same = 0;
    while (same < id.length && (int) BUFFER_BIG_INT.get(memory, at + 4 * same) == id[same]) {
      same++;
    }
    return same == id.length;
  }

  private ObjectId id(int at) {
    return new ObjectId(
        (int) BUFFER_BIG_INT.get(memory, at),
        (int) BUFFER_BIG_INT.get(memory, at + 4),
        (int) BUFFER_BIG_INT.get(memory, at + 8),
        (int) BUFFER_BIG_INT.get(memory, at + 12),
        (int) BUFFER_BIG_INT.get(memory, at + 16));
  }

  /** Returns the position behind the current entry. */
  private int next() {
    return suffixAt + suffixLength + (hasPeeledId ? BlockFormat.ID_BYTES : 0);
  }

  /** Reads the lengths of the entry at a restart point. */
  private void restart(int which) {
    entry((short) BUFFER_SHORT.get(memory, BlockFormat.RESTARTS_AT + which * Short.BYTES) & 0xFFFF);
  }

  /** Reads the lengths of the entry at a position. */
  private void entry(int at) {
    int p = at;
    int inCommon = memory.get(p++) & 0xFF;
    if (inCommon == BlockFormat.LONG_SHARED) {
      inCommon = unsignedShort(p);
      p += Short.BYTES;
    }
    int suffix = memory.get(p++);
    hasPeeledId = suffix < 0;
    suffix &= BlockFormat.LONG_SUFFIX;
    if (suffix == BlockFormat.LONG_SUFFIX) {
      suffix = unsignedShort(p);
      p += Short.BYTES;
    }
    shared = inCommon;
    suffixLength = suffix;
    suffixAt = p;
  }

  private int unsignedShort(int at) {
    return (short) BUFFER_SHORT.get(memory, at) & 0xFFFF;
  }
}
