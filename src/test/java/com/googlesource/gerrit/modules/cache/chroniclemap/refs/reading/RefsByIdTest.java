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
import static com.google.common.truth.Truth.assertWithMessage;

import com.google.common.collect.Iterables;
import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Lists;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.SortedSet;
import java.util.TreeMap;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.junit.jupiter.api.Test;

class RefsByIdTest {
  private static final ObjectId ONE = ObjectId.fromString("1".repeat(40));
  private static final ObjectId TWO = ObjectId.fromString("2".repeat(40));

  private static ParsedRefs packed(Map<String, ObjectId> refs, boolean isSorted) {
    ParsedRefs list = Lists.of(refs);
    assertThat(list.isInJGitsOrder()).isEqualTo(isSorted);
    return list;
  }

  private static Ref named(String name, ObjectId id) {
    return new ObjectIdRef.Unpeeled(Ref.Storage.LOOSE, name, id);
  }

  private static List<String> names(Iterable<Ref> refs) {
    List<String> names = new ArrayList<>();
    refs.forEach(ref -> names.add(ref.getName()));
    return names;
  }

  @Test
  void eachPartHasTheRefsThatAreBetweenItsNames() {
    Random random = new Random(7);
    for (int round = 0; round < 60; round++) {
      TreeMap<String, ObjectId> refs = new TreeMap<>();
      // These two are in another order in a file than in JGit.
      boolean isSorted = random.nextBoolean();
      refs.put("refs/heads/\uE000", ONE);
      refs.put(isSorted ? "refs/heads/\uE001" : "refs/heads/\uD83D\uDE00", ONE);
      int count = random.nextInt(5000);
      for (int i = 0; i < count; i++) {
        refs.put("refs/" + random.nextInt(100) + "/" + i, random.nextInt(3) == 0 ? ONE : TWO);
      }
      TreeMap<String, ObjectId> inFile = new TreeMap<>(PackedRefsText.BY_BYTES);
      inFile.putAll(refs);
      ParsedRefs packed = packed(inFile, isSorted);
      List<Ref> over = new ArrayList<>();
      for (int i = random.nextInt(20); i > 0; i--) {
        String name = "refs/" + random.nextInt(100) + "/" + random.nextInt(count + 1);
        if (!names(over).contains(name)) {
          over.add(named(name, random.nextInt(3) == 0 ? null : ONE));
          refs.put(name, Iterables.getLast(over).getObjectId());
        }
      }
      SortedSet<Ref> tips = new RefsById(packed, over).of(ONE);
      refs.values().removeIf(id -> !ONE.equals(id));
      assertThat(names(tips)).containsExactlyElementsIn(refs.keySet()).inOrder();
      for (int i = 0; i < 20; i++) {
        String from = "refs/" + random.nextInt(100) + "/";
        String to = from + Character.MAX_VALUE;
        SortedSet<Ref> some = tips.subSet(named(from, null), named(to, null));
        List<String> expected = List.copyOf(refs.subMap(from, to).keySet());
        assertThat(some.isEmpty()).isEqualTo(expected.isEmpty());
        assertThat(names(some)).isEqualTo(expected);
        assertThat(some).hasSize(expected.size());
        assertThat(names(some)).isEqualTo(expected);
      }
      assertThat(tips).hasSize(refs.size());
    }
  }

  /**
   * Each name that is read is made anew, so what a thread allocates tells how many were: about 100
   * bytes each. Of the others, the index has an entry for each block.
   */
  @Test
  void someRefsOfAnIdCostTheSameHoweverManyHaveIt() throws Exception {
    for (String folder : List.of("refs/changes/", "refs/heads/", "refs/tags/")) {
      long few = bytesToRead(folder, 26);
      long many = bytesToRead(folder, 260_000);
      assertWithMessage("%s: %s and %s bytes", folder, few, many)
          .that(many)
          .isLessThan(few + 260_000);
    }
  }

  private static long bytesToRead(String folder, int count) throws Exception {
    TreeMap<String, ObjectId> refs = new TreeMap<>();
    for (int i = 0; i < count; i++) {
      refs.put(folder + (1_000_000 + i), ONE);
    }
    for (int i = 0; i < 5000; i++) {
      refs.put("refs/heads/" + i, ObjectId.fromString(String.format(Locale.ROOT, "%040x", i)));
    }
    refs.put("refs/heads/master", ONE);
    RefsById ids = new RefsById(packed(refs, true), List.of());
    Ref from = named("refs/heads/", null);
    Ref to = named("refs/heads/" + Character.MAX_VALUE, null);
    Threads.Act reading =
        () -> {
          List<String> some = names(Iterables.limit(ids.of(ONE).subSet(from, to), 26));
          assertThat(some).hasSize(folder.equals("refs/heads/") ? 26 : 1);
        };
    reading.run(); // the index is made
    return Threads.allocated(reading);
  }
}
