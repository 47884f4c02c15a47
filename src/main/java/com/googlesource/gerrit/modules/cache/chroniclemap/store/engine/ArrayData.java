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
import net.openhft.chronicle.algo.hashing.LongHashFunction;
import net.openhft.chronicle.bytes.BytesStore;
import net.openhft.chronicle.bytes.RandomDataInput;
import net.openhft.chronicle.bytes.RandomDataOutput;
import net.openhft.chronicle.core.OS;
import net.openhft.chronicle.hash.AbstractData;

/**
 * Bytes in arrays that are passed to Chronicle-Map: a key, or the header and the payload of a
 * record. They are copied straight into the mapped file. Chronicle-Map itself would wrap each array
 * in a new store of bytes, which counts itself in a variable of the whole process, for which the
 * processors contend, and would copy 8 bytes at a time.
 */
final class ArrayData extends AbstractData<byte[]> {
  private final byte[] head;
  private final byte[] tail;
  private final int tailOffset;
  private final int tailLength;

  private ArrayData(byte[] head, byte[] tail, int tailOffset, int tailLength) {
    this.head = head;
    this.tail = tail;
    this.tailOffset = tailOffset;
    this.tailLength = tailLength;
  }

  static ArrayData of(byte[] key) {
    return new ArrayData(key, key, 0, 0);
  }

  static ArrayData of(NewRecord record) {
    return new ArrayData(
        record.header(), record.payload(), record.offset(), record.payloadLength());
  }

  @Override
  public long size() {
    return (long) head.length + tailLength;
  }

  @Override
  @SuppressWarnings("rawtypes") // so Chronicle-Map declares it
  public void writeTo(RandomDataOutput target, long targetOffset) {
    // Checks that the target is so long.
    long end = target.addressForWrite(targetOffset + size());
    OS.memory().writeBytes(end - size(), head, 0, head.length);
    OS.memory().writeBytes(end - tailLength, tail, tailOffset, tailLength);
  }

  @Override
  public long hash(LongHashFunction function) {
    return function.hashBytes(get());
  }

  @Override
  public boolean equivalent(RandomDataInput source, long sourceOffset) {
    byte[] bytes = get();
    int at = 0;
    for (; at <= bytes.length - Long.BYTES; at += Long.BYTES) {
      if (source.readLong(sourceOffset + at) != (long) Envelope.LONG.get(bytes, at)) {
        return false;
      }
    }
    for (; at < bytes.length; at++) {
      if (source.readByte(sourceOffset + at) != bytes[at]) {
        return false;
      }
    }
    return true;
  }

  @Override
  public RandomDataInput bytes() {
    return BytesStore.wrap(get());
  }

  @Override
  public long offset() {
    return 0;
  }

  @Override
  public byte[] get() {
    if (tailLength == 0) {
      return head;
    }
    byte[] out = Arrays.copyOf(head, head.length + tailLength);
    System.arraycopy(tail, tailOffset, out, head.length, tailLength);
    return out;
  }

  @Override
  public byte[] getUsing(byte[] unused) {
    return get().clone();
  }
}
