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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gerrit.common.Nullable;
import com.google.gerrit.common.Version;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * The form of one cache's keys and values on the shared server, which nobody can make or change
 * without the secret of the site.
 *
 * <p>A key on the server is the prefix and 20 bytes of a digest (HMAC-SHA256, RFC 2104) over
 * Gerrit's minor version, the cache, its version and the key. A value is a header, the value as the
 * cache's serializer made it, and a digest of 32 bytes over its key on the server, the header and
 * the value. With encryption, AES-256-GCM (NIST SP 800-38D) takes the place of that digest, with a
 * random nonce of 12 bytes. Each key on the server has an AES key of its own, so that no AES key
 * sees many nonces. Header: 8 bytes with the time at which the value was made, in milliseconds
 * since the epoch; 4 bytes with the time that it took, in microseconds; 4 bytes with the size of a
 * compressed value before its compression (DEFLATE, RFC 1951), otherwise 0.
 *
 * <p>The cost grows with the size of the value: about 10 microseconds for each 10 KB. Safe for any
 * thread.
 */
final class Seal {
  /** Smaller values are not compressed: they fit into a few packets anyway. */
  static final int COMPRESSED_FROM = 4096;

  /**
   * The minor version of Gerrit, such as 3.13. The messages of which values are made differ between
   * minors even where the version of the cache does not.
   */
  private static final String GERRIT_MINOR =
      Version.getVersion().replaceFirst("^([0-9]+\\.[0-9]+).*", "$1");

  private static final String MAC = "HmacSHA256";
  private static final int NAME_BYTES = 20;
  private static final int DIGEST_BYTES = 32;
  private static final int NONCE_BYTES = 12;
  private static final int TAG_BYTES = 16;
  private static final int HEADER_BYTES = Long.BYTES + 2 * Integer.BYTES;
  private static final SecureRandom RANDOM = new SecureRandom();

  private final byte[] prefix;
  private final SecretKeySpec nameKey;
  private final SecretKeySpec valueKey;
  private final boolean encrypts;

  Seal(SharedSettings settings, String cache, int version) {
    byte[] secret = settings.secret().getBytes(UTF_8);
    // Each purpose has its own key, so that what one makes means nothing to another.
    String purpose =
        "%s %s %d %s".formatted(settings.encrypts() ? "aes" : "mac", GERRIT_MINOR, version, cache);
    this.prefix = settings.prefix().getBytes(UTF_8);
    this.nameKey = derive(secret, "names " + purpose);
    this.valueKey = derive(secret, "values " + purpose);
    this.encrypts = settings.encrypts();
  }

  private static SecretKeySpec derive(byte[] secret, String purpose) {
    byte[] key = mac(new SecretKeySpec(secret, MAC), purpose.getBytes(UTF_8));
    return new SecretKeySpec(key, MAC);
  }

  private static byte[] mac(SecretKeySpec key, byte[]... parts) {
    try {
      Mac mac = Mac.getInstance(MAC);
      mac.init(key);
      for (byte[] part : parts) {
        mac.update(part);
      }
      return mac.doFinal();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A digest by which nodes find out whether they have the same secret, and no more than that. */
  static byte[] fingerprint(SharedSettings settings) {
    byte[] secret = settings.secret().getBytes(UTF_8);
    String purpose = "fingerprint " + (settings.encrypts() ? "aes" : "mac");
    return derive(secret, purpose).getEncoded();
  }

  /** Returns the name of a key on the server. */
  byte[] nameOf(byte[] key) {
    byte[] name = Arrays.copyOf(prefix, prefix.length + NAME_BYTES);
    System.arraycopy(mac(nameKey, key), 0, name, prefix.length, NAME_BYTES);
    return name;
  }

  /** Returns the form of a value on the server. */
  byte[] seal(byte[] name, byte[] value, long created, long loadNanos) {
    byte[] compressed = value.length < COMPRESSED_FROM ? null : compress(value);
    byte[] payload = compressed == null ? value : compressed;
    byte[] header =
        ByteBuffer.allocate(HEADER_BYTES)
            .putLong(created)
            .putInt(Math.clamp(loadNanos / 1000, 0, Integer.MAX_VALUE))
            .putInt(compressed == null ? 0 : value.length)
            .array();
    if (!encrypts) {
      byte[] digest = mac(valueKey, name, header, payload);
      return ByteBuffer.allocate(HEADER_BYTES + payload.length + DIGEST_BYTES)
          .put(header)
          .put(payload)
          .put(digest)
          .array();
    }
    byte[] nonce = new byte[NONCE_BYTES];
    RANDOM.nextBytes(nonce);
    ByteBuffer sealed =
        ByteBuffer.allocate(NONCE_BYTES + HEADER_BYTES + payload.length + TAG_BYTES).put(nonce);
    try {
      Cipher cipher = cipher(Cipher.ENCRYPT_MODE, name, nonce);
      cipher.update(ByteBuffer.wrap(header), sealed);
      cipher.doFinal(ByteBuffer.wrap(payload), sealed);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
    return sealed.array();
  }

  private Cipher cipher(int mode, byte[] name, byte[] nonce) throws GeneralSecurityException {
    Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
    SecretKeySpec key = new SecretKeySpec(mac(valueKey, name), "AES");
    cipher.init(mode, key, new GCMParameterSpec(TAG_BYTES * Byte.SIZE, nonce));
    return cipher;
  }

  /**
   * Returns the value in what the server has under a name; null if this was not made for that name,
   * with that secret. No byte is looked at before that is certain.
   */
  @Nullable
  SharedValue open(byte[] name, byte[] sealed) {
    ByteBuffer plain = encrypts ? decrypt(name, sealed) : check(name, sealed);
    if (plain == null || plain.remaining() < HEADER_BYTES) {
      return null;
    }
    long created = plain.getLong();
    long loadNanos = plain.getInt() * 1000L;
    int size = plain.getInt();
    byte[] payload = new byte[plain.remaining()];
    plain.get(payload);
    byte[] value = size == 0 ? payload : decompress(payload, size);
    return value == null ? null : new SharedValue(value, created, loadNanos);
  }

  @Nullable
  private ByteBuffer check(byte[] name, byte[] sealed) {
    int size = sealed.length - DIGEST_BYTES;
    if (size < 0) {
      return null;
    }
    try {
      Mac mac = Mac.getInstance(MAC);
      mac.init(valueKey);
      mac.update(name);
      mac.update(sealed, 0, size);
      byte[] digest = Arrays.copyOfRange(sealed, size, sealed.length);
      return MessageDigest.isEqual(mac.doFinal(), digest) ? ByteBuffer.wrap(sealed, 0, size) : null;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  @Nullable
  private ByteBuffer decrypt(byte[] name, byte[] sealed) {
    if (sealed.length < NONCE_BYTES + TAG_BYTES) {
      return null;
    }
    try {
      Cipher cipher = cipher(Cipher.DECRYPT_MODE, name, Arrays.copyOf(sealed, NONCE_BYTES));
      return ByteBuffer.wrap(cipher.doFinal(sealed, NONCE_BYTES, sealed.length - NONCE_BYTES));
    } catch (GeneralSecurityException e) {
      return null;
    }
  }

  /** Returns null if compression does not save an eighth. */
  @Nullable
  private static byte[] compress(byte[] value) {
    Deflater deflater = new Deflater(Deflater.BEST_SPEED, /* nowrap= */ true);
    try {
      deflater.setInput(value);
      deflater.finish();
      byte[] room = new byte[value.length - value.length / 8];
      int size = deflater.deflate(room);
      return deflater.finished() ? Arrays.copyOf(room, size) : null;
    } finally {
      deflater.end();
    }
  }

  @Nullable
  private static byte[] decompress(byte[] payload, int size) {
    Inflater inflater = new Inflater(/* nowrap= */ true);
    try {
      inflater.setInput(payload);
      byte[] value = new byte[size];
      return inflater.inflate(value) == size ? value : null;
    } catch (DataFormatException e) {
      return null;
    } finally {
      inflater.end();
    }
  }
}
