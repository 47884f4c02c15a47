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
 * A record that is to be stored, made by {@link Envelope#wrap}. Its payload stays where it is, in a
 * part of an array that must not be changed before the record is stored.
 */
public record NewRecord(byte[] header, byte[] payload, int offset, int payloadLength) {
  /** Takes the bytes of a record of another file. */
  public static NewRecord of(byte[] record) {
    return new NewRecord(
        Arrays.copyOf(record, Envelope.HEADER_LENGTH),
        record,
        Envelope.HEADER_LENGTH,
        record.length - Envelope.HEADER_LENGTH);
  }

  /** The bytes of header and payload. */
  int length() {
    return Envelope.HEADER_LENGTH + payloadLength;
  }

  /** Whether this and another record, given by its bytes, are the same whole value. */
  boolean hasValueOf(byte[] other) {
    return Envelope.kindOf(header) == Envelope.WHOLE
        && Envelope.kindOf(other) == Envelope.WHOLE
        && Arrays.equals(
            payload, offset, offset + payloadLength, other, Envelope.HEADER_LENGTH, other.length);
  }
}
