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
import net.openhft.chronicle.bytes.BytesStore;
import net.openhft.chronicle.bytes.RandomDataInput;
import net.openhft.chronicle.hash.AbstractData;
import net.openhft.chronicle.map.ChronicleMap;
import net.openhft.chronicle.map.ExternalMapQueryContext;

/**
 * The key of a thread's current query, reused for its next one. Chronicle-Map would wrap each key
 * in a new store of bytes, and each of these counts itself in a variable of the whole process, for
 * which the processors contend.
 *
 * <p>A thread makes one query at a time.
 */
final class QueryKey extends AbstractData<byte[]> {
  /** Longer keys are wrapped each by itself. */
  private static final int MAX_BYTES = 512;

  private static final ThreadLocal<QueryKey> MINE = ThreadLocal.withInitial(QueryKey::new);

  private final byte[] bytes = new byte[MAX_BYTES];
  private final BytesStore<?, byte[]> store = BytesStore.wrap(bytes);
  private final long offset = store.start();
  private int size;

  private QueryKey() {}

  /** Begins to look up a key, which may be changed once this returns. */
  static ExternalMapQueryContext<byte[], byte[], ?> query(
      ChronicleMap<byte[], byte[]> map, byte[] key) {
    if (key.length > MAX_BYTES) {
      return map.queryContext(key);
    }
    QueryKey mine = MINE.get();
    System.arraycopy(key, 0, mine.bytes, 0, key.length);
    mine.size = key.length;
    return map.queryContext(mine);
  }

  @Override
  public RandomDataInput bytes() {
    return store;
  }

  @Override
  public long offset() {
    return offset;
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public byte[] get() {
    return Arrays.copyOf(bytes, size);
  }

  @Override
  public byte[] getUsing(byte[] unused) {
    return get();
  }
}
