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

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.CRC32C;
import net.openhft.chronicle.algo.hashing.LongHashFunction;
import net.openhft.chronicle.bytes.BytesStore;
import net.openhft.chronicle.bytes.RandomDataInput;
import net.openhft.chronicle.bytes.RandomDataOutput;
import net.openhft.chronicle.core.OS;
import net.openhft.chronicle.hash.Data;

/**
 * The envelope of a payload, which together are a record: a header of {@value #HEADER_LENGTH}
 * bytes, then the payload.
 *
 * <pre>
 *    0        8     12    16
 *   +--------+-----+-----+---------------+
 *   |created | crc |kind | payload ...   |
 *   +--------+-----+-----+---------------+
 * </pre>
 *
 * <ul>
 *   <li>created: milliseconds since the epoch at which the value was made
 *   <li>crc: CRC32C of the stored key, created, kind and payload. It includes the key to detect a
 *       damaged index that leads to another key's record
 *   <li>kind: {@link #WHOLE}, {@link #HEAD} or {@link #PART}. The top bit marks the record as
 *       invalidated, because its key was put again or removed, until the writer removes the record.
 *       Any thread can set it at once, as it is in the one byte at {@link #INVALIDATED_OFFSET}. The
 *       checksum does not include this bit
 * </ul>
 *
 * All numbers are little endian, like Chronicle-Map's own on all supported processors.
 */
public final class Envelope {
  static final int CREATED_OFFSET = 0;
  static final int CRC_OFFSET = 8;
  static final int KIND_OFFSET = 12;
  public static final int HEADER_LENGTH = 16;

  /** The byte of the kind whose top bit marks a record as invalidated. */
  public static final int INVALIDATED_OFFSET = KIND_OFFSET + 3;

  static final int INVALIDATED_BYTE = 0x80;

  private static final int INVALIDATED_BIT = 0x8000_0000;

  /** The payload is the value. */
  public static final int WHOLE = 0;

  /** The payload is the {@link PartList} of a value that is too large for one record. */
  public static final int HEAD = 1;

  /** The payload is a part of a value. */
  public static final int PART = 2;

  static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private Envelope() {}

  /**
   * A record that is to be stored, made by {@link #wrap}; or a key, which is all header. The
   * payload stays where it is, in a part of an array that must not be changed before the record is
   * stored.
   *
   * <p>The bytes are copied straight into the mapped file. Chronicle-Map itself would wrap each
   * array in a new store of bytes, which counts itself in a variable of the whole process, for
   * which the processors contend, and would copy 8 bytes at a time.
   */
  public record NewRecord(byte[] header, byte[] payload, int from, int payloadLength)
      implements Data<byte[]> {
    /** A key as stored. */
    NewRecord(byte[] storedKey) {
      this(storedKey, storedKey, 0, 0);
    }

    /** The bytes of header and payload. */
    public int length() {
      return header.length + payloadLength;
    }

    @Override
    public long size() {
      return length();
    }

    @Override
    @SuppressWarnings("rawtypes") // so Chronicle-Map declares it
    public void writeTo(RandomDataOutput target, long targetOffset) {
      // Checks that the target is so long.
      long end = target.addressForWrite(targetOffset + size());
      OS.memory().writeBytes(end - size(), header, 0, header.length);
      OS.memory().writeBytes(end - payloadLength, payload, from, payloadLength);
    }

    @Override
    public long hash(LongHashFunction function) {
      return function.hashBytes(get());
    }

    @Override
    public boolean equivalent(RandomDataInput source, long sourceOffset) {
      return MappedRecord.isAt(source.addressForRead(sourceOffset + size()) - size(), get());
    }

    @Override
    public RandomDataInput bytes() {
      return BytesStore.wrap(get());
    }

    @Override
    public long offset() {
      return 0;
    }

    @Override
    public byte[] get() {
      byte[] out = Arrays.copyOf(header, length());
      System.arraycopy(payload, from, out, header.length, payloadLength);
      return out;
    }

    @Override
    public byte[] getUsing(byte[] unused) {
      return get();
    }

    /** Whether this and another record, given by its bytes, are the same whole value. */
    boolean hasValueOf(byte[] other) {
      return kind(storedKindOf(header, 0)) == WHOLE
          && kind(storedKindOf(other, 0)) == WHOLE
          && Arrays.equals(payload, from, from + payloadLength, other, HEADER_LENGTH, other.length);
    }
  }

  /** Returns the record with the payload {@code payload[offset, offset + length)}. */
  public static NewRecord wrap(
      byte[] storedKey, int kind, long created, byte[] payload, int offset, int length) {
    byte[] header = new byte[HEADER_LENGTH];
    LONG.set(header, CREATED_OFFSET, created);
    INT.set(header, KIND_OFFSET, kind);
    int crc = checksum(storedKey, 0, storedKey.length, kind, created, payload, offset, length);
    INT.set(header, CRC_OFFSET, crc);
    return new NewRecord(header, payload, offset, length);
  }

  /** Whether a kind, as read from the file, marks its record as invalidated. */
  public static boolean isInvalidated(int storedKind) {
    return (storedKind & INVALIDATED_BIT) != 0;
  }

  /** The kind without the mark. */
  static int kind(int storedKind) {
    return storedKind & ~INVALIDATED_BIT;
  }

  public static long createdOf(byte[] bytes, int recordOffset) {
    return (long) LONG.get(bytes, recordOffset + CREATED_OFFSET);
  }

  /** The kind of a record within other bytes, as stored in the file. */
  static int storedKindOf(byte[] bytes, int recordOffset) {
    return (int) INT.get(bytes, recordOffset + KIND_OFFSET);
  }

  /** Whether these bytes are a record that was stored for this key. */
  public static boolean isValid(byte[] storedKey, byte[] record) {
    return isValid(storedKey, 0, storedKey.length, record, 0, record.length);
  }

  /** The same for a key and a record within other bytes. */
  static boolean isValid(
      byte[] key, int keyOffset, int keyLength, byte[] bytes, int recordOffset, int recordLength) {
    return recordLength >= HEADER_LENGTH
        && (int) INT.get(bytes, recordOffset + CRC_OFFSET)
            == checksum(
                key,
                keyOffset,
                keyLength,
                kind(storedKindOf(bytes, recordOffset)),
                createdOf(bytes, recordOffset),
                bytes,
                recordOffset + HEADER_LENGTH,
                recordLength - HEADER_LENGTH);
  }

  /** Computes the checksum of a record, for a key and a payload within other bytes. */
  static int checksum(
      byte[] key,
      int keyOffset,
      int keyLength,
      int kind,
      long created,
      byte[] payload,
      int offset,
      int length) {
    byte[] fields = new byte[12];
    LONG.set(fields, 0, created);
    INT.set(fields, 8, kind);
    CRC32C crc = new CRC32C();
    crc.update(key, keyOffset, keyLength);
    crc.update(fields, 0, fields.length);
    crc.update(payload, offset, length);
    return (int) crc.getValue();
  }
}
