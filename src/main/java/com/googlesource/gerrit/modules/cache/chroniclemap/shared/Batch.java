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

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;

/**
 * The format of a record before it is sealed: values, deflated together, as they have much in
 * common. For each one: the cache's name, its version, the time of creation, the key and the value,
 * the last two after their length. Numbers are big-endian.
 */
final class Batch {
  /** The most values of a batch. */
  static final int MAX_VALUES = 64;

  /** A batch takes no further value once it has so many bytes, before it is deflated. */
  static final int FULL_BYTES = 64 << 10;

  /** A value with its key that has more bytes is not shared. */
  static final int MAX_VALUE_BYTES = 1 << 20;

  /** No batch has more bytes, before it is deflated. */
  static final int MAX_BYTES = FULL_BYTES + MAX_VALUE_BYTES + (64 << 10);

  private Batch() {}

  static byte[] encode(List<SharedValue> values) {
    // A fast level: higher ones need several times as long for a tenth fewer bytes.
    Deflater deflater = new Deflater(Deflater.BEST_SPEED, /* nowrap= */ true);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out =
        new DataOutputStream(new DeflaterOutputStream(bytes, deflater, 8192))) {
      out.writeShort(values.size());
      for (SharedValue value : values) {
        out.writeUTF(value.cache());
        out.writeInt(value.version());
        out.writeLong(value.created());
        out.writeInt(value.key().length);
        out.writeInt(value.value().length);
        out.write(value.key());
        out.write(value.value());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      deflater.end();
    }
    return bytes.toByteArray();
  }

  /**
   * Decodes a batch.
   *
   * @throws IOException if the bytes are no batch. Takes little more than a megabyte of memory in
   *     any case
   */
  static List<SharedValue> decode(byte[] bytes) throws IOException {
    Inflater inflater = new Inflater(/* nowrap= */ true);
    List<SharedValue> values = new ArrayList<>();
    try (DataInputStream in =
        new DataInputStream(
            new InflaterInputStream(new ByteArrayInputStream(bytes), inflater, 8192))) {
      int count = in.readUnsignedShort();
      if (count > MAX_VALUES) {
        throw new IOException("a batch has too many values");
      }
      int left = MAX_BYTES;
      for (int i = 0; i < count; i++) {
        String cache = in.readUTF();
        int version = in.readInt();
        long created = in.readLong();
        int keyLength = in.readInt();
        int valueLength = in.readInt();
        if (keyLength < 0 || valueLength < 0 || (long) keyLength + valueLength > left) {
          throw new IOException("a batch has an impossible length");
        }
        left -= keyLength + valueLength + cache.length();
        byte[] key = in.readNBytes(keyLength);
        byte[] value = in.readNBytes(valueLength);
        if (key.length < keyLength || value.length < valueLength) {
          throw new IOException("a batch is cut off");
        }
        values.add(new SharedValue(cache, version, key, value, created));
      }
    } finally {
      inflater.end();
    }
    return values;
  }
}
