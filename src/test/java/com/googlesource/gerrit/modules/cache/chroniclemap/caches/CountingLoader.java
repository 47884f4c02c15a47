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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import com.google.common.cache.CacheLoader;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.Maps;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** The source of a cache's values, which counts who asks for what. */
class CountingLoader extends CacheLoader<String, String> {
  /** What a test answers with; it is told how many loads there were. */
  interface Answer {
    String to(String key, int count) throws Exception;
  }

  /** What the source holds; an absent key has the value {@code "loaded " + key}. */
  final Map<String, String> source = new ConcurrentHashMap<>();

  /** The keys that were loaded, in order, each as often as it was. */
  final List<String> loads = new CopyOnWriteArrayList<>();

  private final Answer answer;

  CountingLoader() {
    answer = (key, count) -> source.getOrDefault(key, "loaded " + key);
  }

  CountingLoader(Answer answer) {
    this.answer = answer;
  }

  @Override
  public String load(String key) throws Exception {
    loads.add(key);
    return answer.to(key, loads.size());
  }

  /** A source with a bulk operation. */
  static class Bulk extends CountingLoader {
    /** What a test answers with. */
    interface BulkAnswer {
      Map<String, String> to(List<String> keys) throws Exception;
    }

    final List<List<String>> bulks = new CopyOnWriteArrayList<>();
    private final BulkAnswer answer;

    Bulk() {
      this(keys -> Maps.toMap(keys, key -> "bulk " + key));
    }

    Bulk(BulkAnswer answer) {
      this.answer = answer;
    }

    @Override
    public Map<String, String> loadAll(Iterable<? extends String> keys) throws Exception {
      ImmutableList<String> list = ImmutableList.copyOf(keys);
      bulks.add(list);
      return answer.to(list);
    }
  }
}
