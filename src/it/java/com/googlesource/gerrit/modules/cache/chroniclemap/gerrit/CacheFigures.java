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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import com.google.common.collect.ImmutableSortedMap;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.util.Comparator;
import java.util.Map;

/** What {@code cache-chroniclemap show --json} says about one cache. Counts are since the start. */
record CacheFigures(
    String name,
    long entries,
    long diskBytes,
    long heapHits,
    long diskHits,
    long diskMisses,
    long damaged,
    long notStored) {

  /** All persistent caches by name. */
  static ImmutableSortedMap<String, CacheFigures> of(SshUser admin) throws IOException {
    return admin.json("show").getAsJsonArray("caches").asList().stream()
        .map(JsonElement::getAsJsonObject)
        .map(CacheFigures::parse)
        .collect(
            ImmutableSortedMap.toImmutableSortedMap(
                Comparator.<String>naturalOrder(), CacheFigures::name, c -> c));
  }

  private static CacheFigures parse(JsonObject cache) {
    return new CacheFigures(
        cache.get("name").getAsString(),
        number(cache, "entries"),
        number(cache, "disk_bytes"),
        number(cache, "heap_hits"),
        number(cache, "disk_hits"),
        number(cache, "disk_misses"),
        number(cache, "damaged"),
        number(cache, "not_stored"));
  }

  private static long number(JsonObject cache, String field) {
    JsonElement value = cache.get(field);
    if (value == null) {
      throw new IllegalStateException("no such field: field=" + field + ", cache=" + cache);
    }
    return value.getAsLong();
  }

  /** What was counted after an earlier look at the same daemon. */
  CacheFigures since(Map<String, CacheFigures> before) {
    CacheFigures old = before.get(name);
    return old == null
        ? this
        : new CacheFigures(
            name,
            entries,
            diskBytes,
            heapHits - old.heapHits,
            diskHits - old.diskHits,
            diskMisses - old.diskMisses,
            damaged - old.damaged,
            notStored - old.notStored);
  }
}
