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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Envelope.NewRecord;
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
  private final int from;
  private final int tailLength;

  ArrayData(NewRecord record) {
    this(record.header(), record.payload(), record.offset(), record.payloadLength());
  }

  ArrayData(byte[] key) {
    this(key, key, 0, 0);
  }

  private ArrayData(byte[] head, byte[] tail, int from, int tailLength) {
    this.head = head;
    this.tail = tail;
    this.from = from;
    this.tailLength = tailLength;
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
    OS.memory().writeBytes(end - tailLength, tail, from, tailLength);
  }

  @Override
  public long hash(LongHashFunction function) {
    return function.hashBytes(get());
  }

  @Override
  public boolean equivalent(RandomDataInput source, long sourceOffset) {
    return MappedRecord.isAt(source.addressForRead(sourceOffset + size()) - size(), get());
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
    byte[] out = Arrays.copyOf(head, head.length + tailLength);
    System.arraycopy(tail, from, out, head.length, tailLength);
    return out;
  }

  @Override
  public byte[] getUsing(byte[] unused) {
    return get();
  }
}
