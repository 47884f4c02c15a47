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
 * The identity on this site of a chunk of text and its block, which is the keyed hash of the chunk
 * ({@link TextHash}); or of a {@code packed-refs} content: the first 128 bits of the SHA-256 over
 * the ids of its chunks.
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

  /** Starts the digest of a content, to which the ids of its chunks are to be added. */
  static Hasher start() {
    return Hashing.sha256().newHasher().putByte(DOMAIN);
  }

  /** Adds this id of a chunk to the digest of its content. */
  void addTo(Hasher content) {
    content.putLong(hi).putLong(lo);
  }

  static ContentDigest finish(Hasher content) {
    ByteBuffer result = ByteBuffer.wrap(content.hash().asBytes());
    return new ContentDigest(result.getLong(), result.getLong());
  }
}
