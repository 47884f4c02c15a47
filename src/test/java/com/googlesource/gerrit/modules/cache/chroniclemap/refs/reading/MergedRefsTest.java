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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading;

import static com.google.common.truth.Truth.assertThat;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Lists;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.junit.jupiter.api.Test;

class MergedRefsTest {
  private static String name(int i) {
    return String.format(Locale.ROOT, "refs/heads/%05d", i);
  }

  private static ObjectId id(int i) {
    return ObjectId.fromString(String.format(Locale.ROOT, "%040x", i + 1));
  }

  private static ParsedRefs packed(int count) {
    Map<String, ObjectId> refs = new TreeMap<>();
    for (int i = 0; i < count; i++) {
      refs.put(name(2 * i), id(i));
    }
    return Lists.of(refs);
  }

  /** Changed, new and missing refs; all packed refs are even. */
  private static Map<String, Ref> upper(Random random, int most, int count) {
    Map<String, Ref> upper = new TreeMap<>();
    for (int i = random.nextInt(most); i >= 0; i--) {
      String name = name(random.nextInt(2 * count + 2));
      upper.put(
          name,
          random.nextInt(3) == 0
              ? new ObjectIdRef.Unpeeled(Ref.Storage.NEW, name, null)
              : new ObjectIdRef.PeeledNonTag(Ref.Storage.LOOSE, name, id(70_000 + i)));
    }
    return upper;
  }

  private static List<String> lines(Iterable<Ref> refs) {
    List<String> lines = new ArrayList<>();
    refs.forEach(ref -> lines.add(ref.getName() + ' ' + ref.getObjectId().name()));
    return lines;
  }

  @Test
  void eachPartIsThatOfACopy() {
    Random random = new Random(7);
    for (int count : new int[] {0, 1, 5, 40, 700}) {
      ParsedRefs packed = packed(count);
      for (int round = 0; round < 60; round++) {
        Map<String, Ref> upper = upper(random, 30, count);
        Map<String, Ref> expected = new TreeMap<>();
        packed.refs().forEach(ref -> expected.put(ref.getName(), ref));
        expected.putAll(upper);
        List<String> all =
            lines(expected.values().stream().filter(ref -> ref.getObjectId() != null).toList());
        List<Ref> merged = new MergedRefs(new ArrayList<>(upper.values()), packed, "refs/");
        assertThat(lines(merged)).isEqualTo(all);
        for (int i = 0; i < 40; i++) {
          int from = random.nextInt(all.size() + 1);
          int to = from + random.nextInt(all.size() - from + 1);
          List<Ref> part = merged.subList(from, to);
          assertThat(lines(part)).isEqualTo(all.subList(from, to));
          assertThat(lines(new ArrayList<>(part))).isEqualTo(all.subList(from, to));
          for (int j = 0; j < part.size(); j += 1 + random.nextInt(9)) {
            assertThat(part.get(j).getName()).isEqualTo(merged.get(from + j).getName());
          }
        }
      }
    }
  }
}
