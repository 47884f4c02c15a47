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

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The secret key of the hashes that identify contents on this site. Authors of ref names must learn
 * neither the key nor an id that was made with it; see {@link TextHash}.
 *
 * <p>Immutable and safe for any thread.
 */
final class SiteKey {
  /** The size of a site's secret in bytes. */
  static final int SECRET_BYTES = 32;

  /** The words of NH, two more than in the longest chunk as the second pass is shifted by two. */
  private static final int NH_WORDS = Chunks.HARD_MAX / Long.BYTES + 2;

  /**
   * The words of the finaliser: one more 128-bit number than {@link TextHash#FINAL_WORDS}, twice.
   */
  private static final int FINAL_WORDS = 2 * 2 * (TextHash.FINAL_WORDS + 1);

  private static final int BOUNDARY_WORDS = 2;

  final long[] nh;
  final long[] finish;
  final long boundary0;
  final long boundary1;

  /**
   * Derives the key from a site's secret.
   *
   * @param secret {@value #SECRET_BYTES} bytes from a secure random source
   */
  SiteKey(byte[] secret) {
    if (secret.length != SECRET_BYTES) {
      throw new IllegalArgumentException("a secret of " + secret.length + " bytes");
    }
    long[] words = expand(secret, NH_WORDS + FINAL_WORDS + BOUNDARY_WORDS);
    nh = Arrays.copyOf(words, NH_WORDS);
    finish = Arrays.copyOfRange(words, NH_WORDS, NH_WORDS + FINAL_WORDS);
    // The factors are odd, so that the multiplication loses no bit of the text.
    boundary0 = words[words.length - 2] | 1;
    boundary1 = words[words.length - 1] | 1;
  }

  /** Expands the secret by HMAC-SHA-256 in counter mode. */
  private static long[] expand(byte[] secret, int count) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(secret, mac.getAlgorithm()));
      byte[] label = "cache-chroniclemap refs 1".getBytes(UTF_8);
      long[] words = new long[count];
      for (int i = 0; i < count; ) {
        mac.update(label);
        ByteBuffer bytes =
            ByteBuffer.wrap(mac.doFinal(ByteBuffer.allocate(Integer.BYTES).putInt(i).array()));
        while (bytes.hasRemaining() && i < count) {
          words[i++] = bytes.getLong();
        }
      }
      return words;
    } catch (GeneralSecurityException e) {
      throw new LinkageError("every Java runtime has HmacSHA256", e);
    }
  }
}
