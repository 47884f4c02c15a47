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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.values;

import static com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.ChunkRoot.ID_LENGTH;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.ChunkRoot;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.PartList;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredKey;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredValue;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds the parts of values that are too large for one record, from the payloads of their heads. A
 * head has a {@link PartList}, or a {@link ChunkRoot} if the value was cut by its content.
 *
 * <p>For any thread.
 */
record SplitValues(RecordMap map) {
  /** Returns a value; null if a part of it is missing, perhaps because it was just replaced. */
  byte[] join(byte[] key, byte[] head) throws DamagedEntryException {
    PartList list = PartList.decode(head);
    ChunkRoot root = ChunkRoot.decode(head);
    int length = list != null ? list.length() : root != null ? root.length() : -1;
    // The limit is not that of values, which may have been higher when this one was put.
    if (length < 0 || length > map.geometry.dataBytes()) {
      throw new DamagedEntryException("the head of a split value makes no sense");
    }
    List<byte[]> parts = partsOf(key, list);
    for (byte[] listKey : listsOf(key, root)) {
      parts.addAll(chunksOf(key, listKey));
    }
    byte[] out = new byte[length];
    int end = 0;
    for (byte[] partKey : parts) {
      int part = map.readInto(partKey, out, end);
      if (part < 0) {
        return null;
      }
      end += part;
    }
    // A list of chunks that is missing has none.
    return end < length ? null : out;
  }

  /**
   * Returns the stored keys of all parts whose ids can be found, whether the parts are there or
   * not: chunks and their lists, too.
   *
   * @param head null for a value that is not split
   */
  List<byte[]> parts(byte[] key, byte[] head) {
    if (head == null) {
      return List.of();
    }
    List<byte[]> keys = partsOf(key, PartList.decode(head));
    for (byte[] listKey : listsOf(key, ChunkRoot.decode(head))) {
      try {
        keys.addAll(chunksOf(key, listKey));
      } catch (DamagedEntryException e) {
        // The ids of its chunks cannot be found.
      }
      keys.add(listKey);
    }
    return keys;
  }

  private List<byte[]> partsOf(byte[] key, PartList list) {
    List<byte[]> keys = new ArrayList<>();
    // The limit is not that of values, as above.
    for (int i = 0; list != null && list.parts() <= map.geometry.slots() && i < list.parts(); i++) {
      keys.add(StoredKey.ofPart(key, list.id(), i));
    }
    return keys;
  }

  private static List<byte[]> listsOf(byte[] key, ChunkRoot root) {
    return root == null ? List.of() : keysOf(key, root.lists());
  }

  private List<byte[]> chunksOf(byte[] key, byte[] listKey) throws DamagedEntryException {
    StoredValue ids = map.read(listKey);
    return ids == null || ids.isInvalidated() ? List.of() : keysOf(key, ids.payload());
  }

  private static List<byte[]> keysOf(byte[] key, byte[] ids) {
    List<byte[]> keys = new ArrayList<>(ids.length / ID_LENGTH);
    for (int i = 0; i + ID_LENGTH <= ids.length; i += ID_LENGTH) {
      keys.add(StoredKey.ofPart(key, ids, i));
    }
    return keys;
  }
}
