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

import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import java.nio.ByteBuffer;

/**
 * The identity of a {@code packed-refs} content on this site: the first 128 bits of the SHA-256
 * over the keyed ids of its chunks.
 *
 * <p>Different files that were chosen without knowledge of the site's key have the same digest with
 * a probability of at most 2^-121 (see {@code TextHash}), plus that of a collision of SHA-256
 * truncated to 128 bits. A digest must not leave the server.
 *
 * @param hi first 64 bits
 * @param lo last 64 bits
 */
record ContentDigest(long hi, long lo) {
  /** Separates these hashes from any other use of SHA-256 over the same bytes. */
  private static final byte DOMAIN = 'D';

  /**
   * Digests the ids of chunks.
   *
   * @param ids 16 bytes each, between position and limit, which do not move
   */
  static ContentDigest of(ByteBuffer ids) {
    Hasher hasher = Hashing.sha256().newHasher().putByte(DOMAIN).putBytes(ids.duplicate());
    ByteBuffer result = ByteBuffer.wrap(hasher.hash().asBytes());
    return new ContentDigest(result.getLong(), result.getLong());
  }
}
