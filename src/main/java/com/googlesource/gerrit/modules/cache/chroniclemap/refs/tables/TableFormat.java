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

/**
 * The format of a reftable, version 1, which git describes in {@code reftable.adoc} ("reftable",
 * Documentation/technical). All numbers are big-endian.
 *
 * <pre>
 *   table:   header, ref blocks, [index], [obj blocks, [index]], [log blocks, [index]], footer
 *   header:  magic, version (1 byte), block size (3), least and greatest update index (8 each)
 *   footer:  the header again, the places of the sections and of their indexes, CRC-32
 *   block:   type (1), length (3), records, places of restarts (3 each), their number (2)
 *   record:  varint length of what its key shares with the key before,
 *            varint (length of the rest of the key &lt;&lt; 3 | type of value), rest of the key, value
 * </pre>
 *
 * <p>The first block begins with the header, and its length and restarts count from there. A
 * restart is a record that shares nothing with the key before. Blocks of refs and objects are
 * padded to the block size, except at the end of a section, and in tables without a block size. A
 * section has an index if it has more than a few blocks: blocks whose records name the last key of
 * each block, of the section or of a lower level of the index.
 */
final class TableFormat {
  /** "REFT". */
  static final int MAGIC = 0x52454654;

  static final int VERSION = 1;

  // The header.
  static final int VERSION_AND_BLOCK_SIZE = 4;
  static final int MIN_UPDATE_INDEX = 8;
  static final int MAX_UPDATE_INDEX = 16;
  static final int HEADER_BYTES = 24;

  // The footer. A place of 0 says that there is no such section or index.
  static final int REF_INDEX = 24;

  /** The place of the section, and in its last 5 bits the length of the keys. */
  static final int OBJECTS = 32;

  static final int OBJECT_INDEX = 40;
  static final int LOGS = 48;
  static final int FOOTER_CRC = 64;
  static final int FOOTER_BYTES = 68;

  // A block.
  static final int BLOCK_HEADER_BYTES = 4;
  static final int RESTART_BYTES = 3;
  static final int RESTART_COUNT_BYTES = 2;
  static final int LENGTH_MASK = 0xffffff;

  // Types of blocks.
  static final byte REFS = 'r';
  static final byte IDS = 'o';
  static final byte INDEX = 'i';

  // Types of values in a block of refs. Each begins with a varint: what the update index of the ref
  // exceeds the least one of the table by.
  static final int VALUE_TYPE_BITS = 3;
  static final int DELETED = 0;
  static final int ID = 1;
  static final int ID_AND_PEELED_ID = 2;

  /** A varint length, and the name of the target. */
  static final int SYMBOLIC = 3;

  // A value in a block of objects is a list of the places of ref blocks: its length in the bits of
  // the type, or 0 and then a varint; the first place, and the distance of each other one from
  // the one before, as varints. Without a place, all blocks have to be read.

  private TableFormat() {}
}
