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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.tables;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.AnyObjectId;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.SymbolicRef;
import org.eclipse.jgit.util.RawParseUtils;

/**
 * A reader of the records of one section of a table, in the order of their keys. The cost of a
 * search grows with the levels of the index, and with the logarithm of the size of a block.
 *
 * <p>A broken table leads to an {@link IOException} or an {@link IndexOutOfBoundsException}. For
 * one thread.
 */
final class Cursor {
  private static final byte[] EMPTY = {};

  private final Table table;
  private final Table.Section section;
  private final ByteBuffer file;

  // The current block.
  private int block;
  private byte type;
  private int records;
  private int restarts;
  private int restartCount;
  private int nextBlock;

  // The next record, and the key before it, as far as it is needed.
  private int next;
  private byte[] key = EMPTY;
  private int keyLength;

  /** Whether {@link #key} is that of a record, which the next one has to follow. */
  private boolean isKeyOfRecord;

  // The current record.
  private int valueType;
  private int value;

  /** Where the next number is read. */
  private int at;

  /** Stands in the section, but on no record yet. */
  Cursor(Table table, Table.Section section) {
    this.table = table;
    this.section = section;
    this.file = table.file;
  }

  // ---- blocks

  /** Moves before the first record. */
  void toStart() throws IOException {
    toBlock(section.start());
  }

  /** Moves before the first record of a block. */
  void toBlock(int place) throws IOException {
    isKeyOfRecord = false;
    keyLength = 0;
    if (!openOfSection(place)) {
      throw table.broken("block at " + place);
    }
  }

  /** Opens a block. Returns false if it belongs to the index, whose lower levels stand behind. */
  private boolean openOfSection(int place) throws IOException {
    open(place);
    if (type != section.type() && type != TableFormat.INDEX) {
      throw table.broken("type of the block at " + place);
    }
    return type == section.type();
  }

  private void open(int place) throws IOException {
    int header = place == 0 ? TableFormat.HEADER_BYTES : 0;
    int typeAndLength = file.getInt(place + header);
    int end = place + (typeAndLength & TableFormat.LENGTH_MASK);
    block = place;
    type = (byte) (typeAndLength >>> 24);
    records = place + header + TableFormat.BLOCK_HEADER_BYTES;
    int most =
        type == TableFormat.REFS && table.blockSize > 0 ? table.blockSize : Integer.MAX_VALUE;
    if (end - place > most || end > table.end || end < records + TableFormat.RESTART_COUNT_BYTES) {
      throw table.broken("length of the block at " + place);
    }
    int count = end - TableFormat.RESTART_COUNT_BYTES;
    restartCount = file.getShort(count) & 0xffff;
    restarts = count - restartCount * TableFormat.RESTART_BYTES;
    if (restarts < records) {
      throw table.broken("restarts of the block at " + place);
    }
    // A block that is not padded is followed by the next one at once.
    int padded = Math.max(place + table.blockSize, end);
    int last = place < section.end() ? section.end() : section.indexEnd();
    nextBlock = end < last && file.get(end) != 0 ? end : padded;
    next = records;
  }

  private boolean openNext() throws IOException {
    return nextBlock < section.end() && openOfSection(nextBlock);
  }

  // ---- records

  /** Moves to the next record, and reads its key. Returns false behind the last one. */
  boolean next() throws IOException {
    while (next >= restarts) {
      if (!openNext()) {
        return false;
      }
    }
    at = next;
    int shared = length();
    int restAndType = length();
    int rest = restAndType >>> TableFormat.VALUE_TYPE_BITS;
    int restAt = at;
    boolean mayShare = next == records ? shared == 0 : shared <= keyLength;
    if (!mayShare
        || rest > restarts - at
        || (isKeyOfRecord && compare(key, keyLength, shared, rest) >= 0)) {
      throw table.broken("record at " + next);
    }
    if (key.length < shared + rest) {
      key = Arrays.copyOf(key, Math.max(128, 2 * (shared + rest)));
    }
    file.get(restAt, key, shared, rest);
    keyLength = shared + rest;
    isKeyOfRecord = true;
    valueType = restAndType & ((1 << TableFormat.VALUE_TYPE_BITS) - 1);
    value = restAt + rest;
    next = endOfValue();
    return true;
  }

  /** Like {@link #next}, to the end of the block. */
  boolean nextInBlock() throws IOException {
    return next < restarts && next();
  }

  /** Returns the place behind the value at {@link #value}. */
  private int endOfValue() throws IOException {
    at = value;
    if (type == TableFormat.REFS) {
      var unused = updateIndex();
      switch (valueType) {
        case TableFormat.DELETED -> {}
        case TableFormat.ID -> at += Constants.OBJECT_ID_LENGTH;
        case TableFormat.ID_AND_PEELED_ID -> at += 2 * Constants.OBJECT_ID_LENGTH;
        case TableFormat.SYMBOLIC -> {
          int length = length();
          at += length;
        }
        default -> throw table.broken("type of the value at " + value);
      }
    } else {
      int numbers = type == TableFormat.INDEX ? 1 : valueType != 0 ? valueType : length();
      for (int i = 0; i < numbers; i++) {
        var unused = varint();
      }
    }
    if (at < value || at > restarts) {
      throw table.broken("value at " + value);
    }
    return at;
  }

  /** Reads an update index. Those of a stack ascend from table to table. */
  private long updateIndex() throws IOException {
    long more = varint();
    if (more < 0 || more > table.maxUpdateIndex - table.minUpdateIndex) {
      throw table.broken("update index before " + at);
    }
    return table.minUpdateIndex + more;
  }

  private int length() throws IOException {
    long length = varint();
    if (length < 0 || length > Integer.MAX_VALUE) {
      throw table.broken("length before " + at);
    }
    return (int) length;
  }

  /**
   * Reads a number: seven bits in each byte, the highest first, and one more for each byte but the
   * first, so that each number has one form only.
   */
  private long varint() {
    byte part = file.get(at++);
    long number = part & 0x7f;
    while (part < 0) {
      part = file.get(at++);
      number = ((number + 1) << 7) | (part & 0x7f);
    }
    return number;
  }

  // ---- search

  /** Moves before the first record whose key is not less than the target. */
  void seek(byte[] target, int length) throws IOException {
    if (search(target, length) > 0) {
      next = restarts;
      nextBlock = section.end();
    }
  }

  /**
   * Searches the section for the first record whose key is not less than the target. That record is
   * the next one then, and if its key is the target, it is the current one.
   *
   * @return 0 if its key is the target; less if it is greater; more if there is no such record
   */
  int search(byte[] target, int length) throws IOException {
    if (section.index() == 0) {
      toStart();
      int found = searchBlock(target, length);
      while (found > 0 && openNext()) {
        found = searchBlock(target, length);
      }
      return found;
    }
    open(section.index());
    int found = searchBlock(target, length);
    // Native git leaves a few blocks at the top of an index. JGit makes one.
    while (found > 0
        && nextBlock < section.indexEnd()
        && file.get(nextBlock) == TableFormat.INDEX) {
      open(nextBlock);
      found = searchBlock(target, length);
    }
    while (type == TableFormat.INDEX) {
      if (found > 0) {
        return found;
      }
      int index = block;
      at = value;
      long child = varint();
      // An index stands behind what it is of, so this ends.
      if (child < 0 || child >= index) {
        throw table.broken("index at " + index);
      }
      open((int) child);
      if (type == TableFormat.INDEX) {
        found = searchBlock(target, length);
      }
    }
    if (type != section.type()) {
      throw table.broken("block at " + block);
    }
    return searchBlock(target, length);
  }

  /** Like {@link #search}, in the current block. */
  private int searchBlock(byte[] target, int length) throws IOException {
    int low = 0;
    int high = restartCount;
    while (low < high) {
      int middle = (low + high) >>> 1;
      at = restart(middle);
      if (length() != 0) {
        throw table.broken("restart at " + at);
      }
      int rest = length() >>> TableFormat.VALUE_TYPE_BITS;
      if (compare(target, length, 0, rest) < 0) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    next = low == 0 ? records : restart(low - 1);
    isKeyOfRecord = false;
    keyLength = 0;
    for (int record = next; nextInBlock(); record = next) {
      int compared = Arrays.compareUnsigned(target, 0, length, key, 0, keyLength);
      if (compared <= 0) {
        next = record;
        isKeyOfRecord = false;
        return compared;
      }
    }
    return 1;
  }

  private int restart(int number) throws IOException {
    int place = restarts + number * TableFormat.RESTART_BYTES;
    int offset = (file.getShort(place) & 0xffff) << 8 | (file.get(place + 2) & 0xff);
    if (block + offset < records || block + offset >= restarts) {
      throw table.broken("restart of the block at " + block);
    }
    return block + offset;
  }

  /**
   * Compares the target from a place on with the bytes that are read next. They are read as far as
   * both agree.
   */
  private int compare(byte[] target, int length, int from, int bytes) {
    int end = at + bytes;
    int i = from;
    while (at < end && i < length) {
      int difference = (target[i] & 0xff) - (file.get(at) & 0xff);
      if (difference != 0) {
        return difference;
      }
      at++;
      i++;
    }
    return i < length ? 1 : at < end ? -1 : 0;
  }

  // ---- refs

  /** The name of the current ref. */
  String name() {
    return text(key, keyLength);
  }

  /** Reads text as JGit does, which takes what is not UTF-8 for Latin-1. */
  private static String text(byte[] bytes, int length) {
    String text = new String(bytes, 0, length, UTF_8);
    // JGit's own way takes longer.
    return text.indexOf('\uFFFD') < 0 ? text : RawParseUtils.decode(UTF_8, bytes, 0, length);
  }

  boolean startsWith(byte[] prefix) {
    return keyLength >= prefix.length
        && Arrays.equals(key, 0, prefix.length, prefix, 0, prefix.length);
  }

  int compareName(byte[] other) {
    return Arrays.compareUnsigned(key, 0, keyLength, other, 0, other.length);
  }

  /** Compares names of two cursors' current refs. */
  static int compareNames(Cursor a, Cursor b) {
    return Arrays.compareUnsigned(a.key, 0, a.keyLength, b.key, 0, b.keyLength);
  }

  /** Whether the current record says that there is no such ref. */
  boolean isDeleted() {
    return valueType == TableFormat.DELETED;
  }

  /**
   * Returns the current ref, as JGit makes it. A symbolic ref has a target without an object.
   *
   * @return null if it {@link #isDeleted}
   */
  @Nullable
  Ref ref(String name) throws IOException {
    at = value;
    long updateIndex = updateIndex();
    return switch (valueType) {
      case TableFormat.DELETED -> null;
      case TableFormat.ID ->
          new ObjectIdRef.PeeledNonTag(Ref.Storage.PACKED, name, id(), updateIndex);
      case TableFormat.ID_AND_PEELED_ID ->
          new ObjectIdRef.PeeledTag(Ref.Storage.PACKED, name, id(), id(), updateIndex);
      case TableFormat.SYMBOLIC -> {
        byte[] target = new byte[Math.min(length(), restarts - at)];
        file.get(at, target);
        String targetName = text(target, target.length);
        yield new SymbolicRef(
            name,
            new ObjectIdRef.Unpeeled(Ref.Storage.NEW, targetName, null, updateIndex),
            updateIndex);
      }
      default -> throw table.broken("type of the value at " + value);
    };
  }

  private ObjectId id() {
    int from = at;
    at += Constants.OBJECT_ID_LENGTH;
    return new ObjectId(
        file.getInt(from),
        file.getInt(from + 4),
        file.getInt(from + 8),
        file.getInt(from + 12),
        file.getInt(from + 16));
  }

  boolean isSymbolic() {
    return valueType == TableFormat.SYMBOLIC;
  }

  /**
   * Whether the current ref has an id or peeled id.
   *
   * @param words of the id
   */
  boolean hasId(int[] words) {
    at = value;
    var unused = varint();
    return switch (valueType) {
      case TableFormat.ID -> isIdAt(at, words);
      case TableFormat.ID_AND_PEELED_ID ->
          isIdAt(at, words) || isIdAt(at + Constants.OBJECT_ID_LENGTH, words);
      default -> false;
    };
  }

  private boolean isIdAt(int place, int[] words) {
    for (int i = 0; i < words.length; i++) {
      if (file.getInt(place + i * Integer.BYTES) != words[i]) {
        return false;
      }
    }
    return true;
  }

  // ---- objects

  /**
   * Returns the places of the blocks that may have refs with an id. Only in a section of ids.
   *
   * @param length the length of the keys
   * @return null if the table does not say
   */
  @Nullable
  int[] blocksOf(AnyObjectId id, int length) throws IOException {
    byte[] raw = new byte[Constants.OBJECT_ID_LENGTH];
    id.copyRawTo(raw, 0);
    if (search(raw, Math.min(length, raw.length)) != 0) {
      return new int[0];
    }
    at = value;
    int count = valueType != 0 ? valueType : length();
    if (count == 0) {
      return null;
    }
    if (count > restarts - at) {
      throw table.broken("list of blocks at " + value);
    }
    int[] blocks = new int[count];
    long place = 0;
    for (int i = 0; i < count; i++) {
      place += varint();
      blocks[i] = (int) Math.min(place, Integer.MAX_VALUE);
    }
    return blocks;
  }
}
