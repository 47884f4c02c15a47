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

/**
 * A record as it was read from the file, or a value that was joined from its parts. The payload
 * belongs to the caller.
 *
 * @param kind with the mark of an invalidated record
 * @param crc the checksum of the record
 * @param payload null if the record is invalidated, or there was no room for it
 * @param length bytes of the payload
 */
public record StoredValue(int kind, int crc, long created, byte[] payload, int length) {
  public boolean isInvalidated() {
    return Envelope.isInvalidated(kind);
  }

  /**
   * Whether the payload is the one that was stored for a key.
   *
   * @param from where it begins in its array
   */
  boolean isIntact(byte[] storedKey, int from) {
    return crc
        == Envelope.checksum(storedKey, 0, storedKey.length, kind, created, payload, from, length);
  }
}
