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

import java.util.Arrays;

/**
 * A view of a record and its key within a copy of a segment. The view is reused, so that reading a
 * whole file makes no garbage.
 *
 * <p>For one thread.
 */
public final class RecordView {
  private static final int MAX_STOP_BIT_BYTES = 5;

  byte[] bytes;
  int keyAt;
  int keyLength;
  private int recordAt;
  private int recordLength;

  // The end of the number that was read last.
  private int numberEnd;

  /**
   * Moves this view to the entry of a slot.
   *
   * @param segment all its bytes
   * @return whether there is a record with the right checksum
   */
  boolean parse(FileLayout layout, byte[] segment, long slot) {
    long chunk = layout.chunkOf(slot);
    return chunk < layout.chunks && parse(segment, layout.startOf(chunk), layout.maxRecord);
  }

  /** The same for an entry at an offset. */
  boolean parse(byte[] segment, int start, int maxRecord) {
    bytes = segment;
    keyLength = length(start, segment.length);
    if (keyLength < 0) {
      return false;
    }
    keyAt = numberEnd;
    recordLength = length(keyAt + keyLength, maxRecord);
    recordAt = numberEnd;
    return Envelope.isValid(bytes, keyAt, keyLength, bytes, recordAt, recordLength);
  }

  /** Reads the length of the bytes that follow it; returns -1 if it is invalid. */
  private int length(int start, int maxLength) {
    long length = 0;
    for (int i = 0; i < MAX_STOP_BIT_BYTES && start + i < bytes.length; i++) {
      byte next = bytes[start + i];
      length |= (long) (next & 0x7f) << (7 * i);
      if (next >= 0) {
        numberEnd = start + i + 1;
        return length > maxLength || length > bytes.length - numberEnd ? -1 : (int) length;
      }
    }
    return -1;
  }

  /** The offset at which the entry ends. */
  int end() {
    return recordAt + recordLength;
  }

  /** The bytes of key and record. */
  public int length() {
    return keyLength + recordLength;
  }

  /** Returns a copy of the stored key. */
  public byte[] storedKey() {
    return Arrays.copyOfRange(bytes, keyAt, keyAt + keyLength);
  }

  /** Returns a copy of the record's payload. */
  public byte[] payload() {
    return Arrays.copyOfRange(bytes, recordAt + Envelope.HEADER_LENGTH, recordAt + recordLength);
  }

  /** The time at which the value was made, in milliseconds since the epoch. */
  public long created() {
    return Envelope.createdOf(bytes, recordAt);
  }

  public boolean isPart() {
    return StoredKey.isPart(bytes, keyAt, keyLength);
  }

  public boolean isNote() {
    return StoredKey.isNote(bytes, keyAt, keyLength);
  }

  boolean isInvalidated() {
    return Envelope.isInvalidated(Envelope.storedKindOf(bytes, recordAt));
  }

  public int kind() {
    return Envelope.kind(Envelope.storedKindOf(bytes, recordAt));
  }
}
