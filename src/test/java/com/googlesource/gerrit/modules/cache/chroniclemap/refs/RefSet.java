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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.eclipse.jgit.lib.ObjectId;

/**
 * Refs that one writer moves together, from one generation to the next: all have the value of their
 * generation, and which of them are there depends on it. So whatever is found says of which
 * generation it is, or that it is of none.
 */
record RefSet(int number) {
  /** So many sets each repository has. */
  static final int COUNT = 12;

  /**
   * So many values that a ref does not get one again within any packing: {@code git pack-refs} lets
   * the lock of packed-refs go before it deletes the loose files that still have the values that it
   * has packed, and so loses a ref that is deleted and made again with the same value meanwhile.
   * Divisible by 2 and 3, so that a value says which refs are there.
   */
  static final int VALUES = 1200;

  /** Which refs of a set are there, by generation. */
  enum Kind {
    /** All, always. */
    UPDATED,
    /** Two of three; each batch creates, updates and deletes, if there are enough. */
    MIXED,
    /** All or none, in turn. */
    WHOLE,
    /** One ref, by single updates, deleted every third time. */
    SINGLE
  }

  private static final List<Kind> KINDS = List.of(Kind.values());

  /** The sets of a repository, which has a number, too. */
  static List<RefSet> of(int repository) {
    return IntStream.range(repository * COUNT, (repository + 1) * COUNT)
        .mapToObj(RefSet::new)
        .toList();
  }

  Kind kind() {
    return KINDS.get(number % KINDS.size());
  }

  int size() {
    return kind() == Kind.SINGLE ? 1 : 2 + number * 7 % 19;
  }

  String prefix() {
    return String.format(Locale.ROOT, "refs/changes/%02d/%d/", number, 1000 + number);
  }

  /** The name of one of its refs. Some are in folders that come and go with them. */
  String name(int i) {
    return String.format(Locale.ROOT, i % 4 == 3 ? "%s%02d/deep/meta" : "%s%02d", prefix(), i);
  }

  boolean has(int generation, int i) {
    return switch (kind()) {
      case UPDATED -> true;
      case MIXED -> (generation + i) % 3 != 0;
      case WHOLE -> generation % 2 == 0;
      case SINGLE -> generation % 3 != 2;
    };
  }

  /** The refs of a generation. All have its value, and those of the one before have another. */
  Map<String, ObjectId> at(int generation, List<ObjectId> values) {
    Map<String, ObjectId> refs = new TreeMap<>();
    for (int i = 0; i < size(); i++) {
      if (has(generation, i)) {
        refs.put(name(i), values.get(generation % VALUES));
      }
    }
    return refs;
  }
}
