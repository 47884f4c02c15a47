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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.Random;
import java.util.zip.CRC32C;

/** Values that say in their bytes which they are, with a checksum. */
public final class SoakValues {
  /** Stands for the bytes of no value, or of a broken one. */
  static final int BROKEN = -1;

  private static final int HEADER = 4 * Integer.BYTES + Long.BYTES;
  private static final int NOISE = 1 << 20;
  private static final byte[] noise = new byte[3 * NOISE];

  static {
    new Random(1).nextBytes(noise);
  }

  private SoakValues() {}

  public static byte[] key(int store, int number) {
    // Of different lengths.
    return ("key " + number + "/" + store + "x".repeat(number % 64)).getBytes(UTF_8);
  }

  /** A value of that many bytes, or a few more. */
  public static byte[] of(int store, int key, int version, long created, int length) {
    byte[] out = new byte[Math.max(HEADER, length)];
    int from = (version * 0x9E3779B9) >>> 12;
    System.arraycopy(noise, from, out, HEADER, out.length - HEADER);
    ByteBuffer header = ByteBuffer.wrap(out);
    header.putInt(Integer.BYTES, store * SoakModel.KEYS + key);
    header.putInt(2 * Integer.BYTES, version);
    header.putInt(3 * Integer.BYTES, out.length);
    header.putLong(4 * Integer.BYTES, created);
    header.putInt(0, checksum(out));
    return out;
  }

  private static int checksum(byte[] value) {
    CRC32C crc = new CRC32C();
    crc.update(value, Integer.BYTES, value.length - Integer.BYTES);
    return (int) crc.getValue();
  }

  /** The version of a value that has bytes; BROKEN if it is not one of this key, whole. */
  public static int versionOf(int store, int key, Value value) {
    byte[] bytes = value.bytes();
    if (bytes.length < HEADER) {
      return BROKEN;
    }
    ByteBuffer header = ByteBuffer.wrap(bytes);
    boolean whole =
        header.getInt(0) == checksum(bytes)
            && header.getInt(Integer.BYTES) == store * SoakModel.KEYS + key
            && header.getInt(3 * Integer.BYTES) == bytes.length
            && header.getLong(4 * Integer.BYTES) == value.created();
    return whole ? header.getInt(2 * Integer.BYTES) : BROKEN;
  }
}
