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

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * What a file holds, counted record by record after its last user died: values, their bytes, and
 * which parts and heads of split values belong together.
 *
 * <p>For one thread.
 */
final class Census {
  private final List<byte[]> misplaced = new ArrayList<>();
  private final List<byte[]> parts = new ArrayList<>();
  private final Map<Long, PartList> heads = new HashMap<>();
  private final Map<Long, byte[]> headKeys = new HashMap<>();
  private long values;
  private long bytes;

  /** Counts a record that is valid and not void. */
  void add(RecordView record) {
    boolean part = record.isPart();
    int kind = record.kind();
    PartList list = kind == Envelope.HEAD ? PartList.decode(record.payload()) : null;
    if (part != (kind == Envelope.PART) || (kind == Envelope.HEAD && list == null)) {
      misplaced.add(record.storedKey());
      return;
    }
    bytes += record.length();
    if (part) {
      parts.add(record.storedKey());
      return;
    }
    values++;
    if (list != null) {
      heads.put(list.id(), list);
      headKeys.put(list.id(), record.storedKey());
    }
  }

  /** Values, with those that lack a part. */
  long values() {
    return values;
  }

  /** Bytes of all that was counted. */
  long bytes() {
    return bytes;
  }

  /** Keys of records that are not what their key says; they were not counted. */
  List<byte[]> misplaced() {
    return misplaced;
  }

  /** Tells the keys of the heads that lack a part, and of the parts that no head needs. */
  void orphans(Consumer<byte[]> storedKey) {
    Map<Long, Integer> found = new HashMap<>();
    for (byte[] partKey : parts) {
      found.merge(StoredKey.partId(partKey), 1, Integer::sum);
    }
    heads.forEach(
        (id, list) -> {
          if (found.getOrDefault(id, 0) != list.parts()) {
            storedKey.accept(headKeys.get(id));
            found.remove(id);
          }
        });
    for (byte[] partKey : parts) {
      long id = StoredKey.partId(partKey);
      if (!heads.containsKey(id) || !found.containsKey(id)) {
        storedKey.accept(partKey);
      }
    }
  }
}
