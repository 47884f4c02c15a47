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

package com.googlesource.gerrit.modules.cache.chroniclemap.shared;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.hash.HashFunction;
import com.google.common.hash.Hashing;
import com.google.common.primitives.Bytes;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * The seal of a record: AES-256-GCM (NIST SP 800-38D), which hides what is in it, and lets only who
 * has the site's secret make one. Nothing of a record is used before its seal was checked.
 *
 * <p>The format: one byte of version, 8 random bytes that name the run of the server which made the
 * record, 8 random bytes of the record, 8 bytes with the record's number in that run, and the
 * ciphertext with its 16-byte tag. Each record has its own key: HMAC-SHA-256, with the site's
 * secret as its key, of a label and the 16 random bytes. The record's number is the nonce. So no
 * key sees a nonce twice, even if the machine is restored to an earlier state of its memory, and
 * the same numbers come again. The head and the name of the log are authenticated, too. (In 1.0.0,
 * all 16 bytes named the run; either version opens the records of the other.)
 *
 * <p>A record that is appended once more is a right one still, and does no harm: its values depend
 * on their keys alone. Safe for any thread.
 */
final class Seal {
  private static final byte VERSION = 1;
  private static final int RUN_LENGTH = 8;
  private static final int NAME_LENGTH = 16;
  private static final int HEAD_LENGTH = 1 + NAME_LENGTH + Long.BYTES;
  private static final int TAG_BYTES = 16;
  private static final String LABEL = "cache-chroniclemap shared values 1";
  private static final String FINGERPRINT_LABEL = "cache-chroniclemap fingerprint 1";

  /** HMAC-SHA-256 with the site's secret. */
  private final HashFunction mac;

  private final byte[] log;
  private final SecureRandom random = new SecureRandom();
  private final byte[] run = new byte[RUN_LENGTH];
  private final AtomicLong number = new AtomicLong();

  /**
   * Makes the seal of a run.
   *
   * @param secret of the site
   * @param log the name of the log; a record of one is not valid in another
   */
  Seal(String secret, String log) {
    this.mac = Hashing.hmacSha256(secret.getBytes(UTF_8));
    this.log = log.getBytes(UTF_8);
    random.nextBytes(run);
  }

  /** Distinguishes secrets, and does not tell them. */
  String fingerprint() {
    return mac.hashString(FINGERPRINT_LABEL, UTF_8).toString().substring(0, 16);
  }

  private Cipher cipher(int mode, byte[] head) throws GeneralSecurityException {
    byte[] name = Arrays.copyOfRange(head, 1, 1 + NAME_LENGTH);
    // The nonce has twelve bytes, the number eight.
    byte[] nonce = Arrays.copyOfRange(head, HEAD_LENGTH - 12, HEAD_LENGTH);
    Arrays.fill(nonce, 0, 4, (byte) 0);
    Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
    byte[] key = mac.newHasher().putString(LABEL, UTF_8).putBytes(name).hash().asBytes();
    SecretKey ofRecord = new SecretKeySpec(key, "AES");
    cipher.init(mode, ofRecord, new GCMParameterSpec(8 * TAG_BYTES, nonce));
    cipher.updateAAD(head);
    cipher.updateAAD(log);
    return cipher;
  }

  /** Seals a record of this run. */
  byte[] close(byte[] content) {
    byte[] ofRecord = new byte[NAME_LENGTH - RUN_LENGTH];
    random.nextBytes(ofRecord);
    byte[] head =
        ByteBuffer.allocate(HEAD_LENGTH)
            .put(VERSION)
            .put(run)
            .put(ofRecord)
            .putLong(number.incrementAndGet())
            .array();
    try {
      return Bytes.concat(head, cipher(Cipher.ENCRYPT_MODE, head).doFinal(content));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("this Java has no AES-GCM", e);
    }
  }

  /** Whether a record claims to be of this run. */
  boolean isOwn(byte[] record) {
    return record.length >= HEAD_LENGTH
        && Arrays.equals(run, 0, RUN_LENGTH, record, 1, 1 + RUN_LENGTH);
  }

  /** Opens a record; empty if it was not sealed with the site's secret for this log. */
  Optional<byte[]> open(byte[] record) {
    if (record.length < HEAD_LENGTH + TAG_BYTES || record[0] != VERSION) {
      return Optional.empty();
    }
    try {
      Cipher cipher = cipher(Cipher.DECRYPT_MODE, Arrays.copyOf(record, HEAD_LENGTH));
      return Optional.of(cipher.doFinal(record, HEAD_LENGTH, record.length - HEAD_LENGTH));
    } catch (GeneralSecurityException e) {
      return Optional.empty();
    }
  }
}
