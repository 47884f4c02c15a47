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

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.AnyObjectId;
import org.eclipse.jgit.lib.Constants;

/**
 * One table of a reftable stack. Its file never changes, and is mapped into memory, so a lookup
 * copies nothing and waits for nobody. The file is unmapped when nobody can reach this object or a
 * {@link Cursor} any more, so no reader can meet memory that is gone.
 *
 * <p>The header and footer are checked when the table is opened, and all places in it are checked
 * when they are used. Immutable. Any thread may read.
 */
final class Table {
  /** A smaller file is read, as mapping it would take a page of memory and more time. */
  private static final int MIN_MAPPED = 16 << 10;

  /** The place of the type of the first block, in front of which is the header. */
  private static final int FIRST_BLOCK_TYPE = TableFormat.HEADER_BYTES;

  /**
   * Blocks of one type.
   *
   * @param start of the first block
   * @param end behind the last block
   * @param index the first block at the top of the index; 0 if there is none
   * @param indexEnd behind the last block of the index
   */
  record Section(byte type, int start, int end, int index, int indexEnd) {}

  private final String name;
  final ByteBuffer file;
  final int blockSize;
  final long minUpdateIndex;
  final long maxUpdateIndex;

  /** Where blocks end and the footer begins. */
  final int end;

  @Nullable private final Section refs;
  @Nullable private final Section ids;
  private final int idLength;

  /** Null until they are asked for. */
  @Nullable private volatile List<String> symbolicNames;

  Table(String name, ByteBuffer file) throws IOException {
    this.name = name;
    this.file = file;
    this.end = file.limit() - TableFormat.FOOTER_BYTES;
    int version = file.getInt(TableFormat.VERSION_AND_BLOCK_SIZE) >>> 24;
    if (file.getInt(0) != TableFormat.MAGIC || version != TableFormat.VERSION) {
      throw broken("header");
    }
    for (int i = 0; i < TableFormat.HEADER_BYTES; i += Long.BYTES) {
      if (file.getLong(i) != file.getLong(end + i)) {
        throw broken("header in the footer");
      }
    }
    byte[] footer = new byte[TableFormat.FOOTER_CRC];
    file.get(end, footer);
    CRC32 crc = new CRC32();
    crc.update(footer);
    if ((int) crc.getValue() != file.getInt(end + TableFormat.FOOTER_CRC)) {
      throw broken("checksum of the footer");
    }
    this.blockSize = file.getInt(TableFormat.VERSION_AND_BLOCK_SIZE) & TableFormat.LENGTH_MASK;
    this.minUpdateIndex = file.getLong(end + TableFormat.MIN_UPDATE_INDEX);
    this.maxUpdateIndex = file.getLong(end + TableFormat.MAX_UPDATE_INDEX);
    if (minUpdateIndex < 0 || maxUpdateIndex < minUpdateIndex) {
      throw broken("update indexes");
    }
    int refIndex = place(TableFormat.REF_INDEX, 0);
    int idStart = place(TableFormat.OBJECTS, 5);
    int idIndex = place(TableFormat.OBJECT_INDEX, 0);
    int logs = place(TableFormat.LOGS, 0);
    boolean hasRefs = file.get(FIRST_BLOCK_TYPE) == TableFormat.REFS;
    requireOrder(hasRefs ? FIRST_BLOCK_TYPE : 0, refIndex, idStart, idIndex, logs);
    this.idLength = (int) file.getLong(end + TableFormat.OBJECTS) & 0x1f;
    this.refs =
        hasRefs
            ? new Section(
                TableFormat.REFS,
                0,
                firstOf(refIndex, idStart, logs, end),
                refIndex,
                firstOf(idStart, logs, end))
            : null;
    this.ids =
        idStart > 0
            ? new Section(
                TableFormat.IDS, idStart, firstOf(idIndex, logs, end), idIndex, firstOf(logs, end))
            : null;
  }

  /**
   * Opens a table.
   *
   * @throws java.nio.file.NoSuchFileException if a compaction has replaced it
   */
  static Table open(Path path) throws IOException {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      long size = channel.size();
      if (size < TableFormat.HEADER_BYTES + TableFormat.FOOTER_BYTES || size > Integer.MAX_VALUE) {
        throw new IOException(path + ": a reftable of " + size + " bytes");
      }
      return new Table(path.toString(), content(channel, (int) size));
    }
  }

  private static ByteBuffer content(FileChannel channel, int size) throws IOException {
    if (size >= MIN_MAPPED) {
      return channel.map(FileChannel.MapMode.READ_ONLY, 0, size);
    }
    ByteBuffer bytes = ByteBuffer.allocate(size);
    while (bytes.hasRemaining() && channel.read(bytes) >= 0) {
      // A read may end early.
    }
    return bytes.flip();
  }

  private int place(int field, int shift) throws IOException {
    long place = file.getLong(end + field) >>> shift;
    if (place < 0 || place > end) {
      throw broken("footer");
    }
    return (int) place;
  }

  /** Sections that are there stand in this order. */
  private void requireOrder(int first, int... places) throws IOException {
    int last = first;
    for (int place : places) {
      if (place > 0 && place <= last) {
        throw broken("order of sections");
      }
      last = Math.max(last, place);
    }
  }

  private static int firstOf(int... places) {
    return IntStream.of(places).filter(place -> place > 0).findFirst().orElseThrow();
  }

  IOException broken(String what) {
    return new IOException(name + ": invalid " + what);
  }

  /** A cursor of the refs; null if the table has none. */
  @Nullable
  Cursor refs() {
    return refs == null ? null : new Cursor(this, refs);
  }

  /** The size of the refs, without reflogs. */
  int refBytes() {
    return refs == null ? 0 : refs.end();
  }

  /** Whether the refs of an object are found without reading all of them. */
  boolean hasIdIndex() {
    return ids != null || refs == null || refs.index() == 0;
  }

  /** Adds the names of the refs that have an id or peeled id in this table. */
  void addNamesOf(AnyObjectId id, Collection<String> names) throws IOException {
    if (refs == null) {
      return;
    }
    int[] words = new int[Constants.OBJECT_ID_LENGTH / Integer.BYTES];
    id.copyRawTo(words, 0);
    Cursor cursor = refs();
    int[] blocks = ids == null ? null : new Cursor(this, ids).blocksOf(id, idLength);
    if (blocks == null) {
      cursor.toStart();
      while (cursor.next()) {
        addIfOf(words, cursor, names);
      }
      return;
    }
    for (int block : blocks) {
      cursor.toBlock(block);
      while (cursor.nextInBlock()) {
        addIfOf(words, cursor, names);
      }
    }
  }

  private static void addIfOf(int[] id, Cursor cursor, Collection<String> names) {
    if (cursor.hasId(id)) {
      names.add(cursor.name());
    }
  }

  /** Returns the names of the symbolic refs. Only the first call reads the table. */
  List<String> symbolicNames() throws IOException {
    List<String> known = symbolicNames;
    if (known == null) {
      List<String> found = new ArrayList<>();
      if (refs != null) {
        Cursor cursor = refs();
        cursor.toStart();
        while (cursor.next()) {
          if (cursor.isSymbolic()) {
            found.add(cursor.name());
          }
        }
      }
      known = List.copyOf(found);
      symbolicNames = known;
    }
    return known;
  }
}
