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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import static com.google.common.truth.Truth.assertThat;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.Differential;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.Lists;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.PackedRefsText;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.eclipse.jgit.lib.Ref;
import org.junit.jupiter.api.Test;

class RefCursorTest {
  private final Random random = new Random(5);
  private final Lists lists = new Lists();

  private static final Comparator<String> BY_BYTES =
      (a, b) -> Arrays.compareUnsigned(a.getBytes(UTF_8), b.getBytes(UTF_8));

  private ParsedRefs parse(byte[] text) {
    return lists.parse(new ListMemory(1 << 30), text, null);
  }

  @Test
  void anEmptyListIsAtItsEnd() {
    RefCursor cursor = new RefCursor(parse(new byte[0]));
    assertThat(cursor.isAtEnd()).isTrue();
    assertThat(cursor.seek("refs/heads/a")).isFalse();
    assertThat(cursor.isAtEnd()).isTrue();
    assertThat(cursor.startsWith("")).isFalse();
    assertThat(new RefCursor(parse(PackedRefsText.HEADER.getBytes(UTF_8))).isAtEnd()).isTrue();
  }

  @Test
  void walksThroughAll() {
    ParsedRefs list = parse(Lists.text(3, 3000));
    RefCursor cursor = new RefCursor(list);
    for (Ref ref : list.refs()) {
      assertThat(cursor.isAtEnd()).isFalse();
      Differential.assertSame(cursor.ref(), ref);
      cursor.next();
    }
    assertThat(cursor.isAtEnd()).isTrue();
    assertThat(cursor.seek(list.get(0).getName())).isTrue();
    Differential.assertSame(cursor.ref(), list.get(0));
  }

  @Test
  void seeksAsAListWould() {
    check(parse(Lists.text(3, 3000)));
    check(parse(Lists.text(4, 5)));
    for (int i = 0; i < 10; i++) {
      // Sorted by bytes, of which JGit's order differs.
      check(parse(PackedRefsText.oddNames(random, 1000, true)));
    }
  }

  private void check(ParsedRefs list) {
    RefCursor cursor = new RefCursor(list);
    Comparator<String> order = cursor.isInBytes() ? BY_BYTES : Comparator.naturalOrder();
    List<String> names = new ArrayList<>();
    list.refs().forEach(ref -> names.add(ref.getName()));
    names.sort(order);
    TreeSet<String> asked = new TreeSet<>(order);
    for (int i = 0; i < 300; i++) {
      String name = names.get(random.nextInt(names.size()));
      asked.add(name);
      asked.add(name + "x");
      asked.add(name.substring(0, random.nextInt(name.length())));
      asked.add(PackedRefsText.oddName(random));
    }
    asked.removeIf(name -> Names.encode(name, new byte[3 * name.length()]) < 0);
    asked.forEach(name -> check(cursor, list, names, order, name));
    asked.forEach(name -> check(new RefCursor(list), list, names, order, name));
    List<String> anyOrder = new ArrayList<>(asked);
    for (int i = 0; i < 1000; i++) {
      if (random.nextBoolean() && !cursor.isAtEnd()) {
        cursor.next();
      }
      check(cursor, list, names, order, anyOrder.get(random.nextInt(anyOrder.size())));
    }
  }

  private static void check(
      RefCursor cursor,
      ParsedRefs list,
      List<String> names,
      Comparator<String> order,
      String name) {
    int at = Collections.binarySearch(names, name, order);
    int place = at >= 0 ? at : -1 - at;
    assertThat(cursor.seek(name)).isEqualTo(at >= 0);
    assertThat(cursor.isAtEnd()).isEqualTo(place == names.size());
    if (place < names.size()) {
      assertThat(cursor.name()).isEqualTo(names.get(place));
      Differential.assertSame(cursor.ref(), list.exactRef(names.get(place)));
      for (String prefix : new String[] {name, name + "x", "", "refs/", name + "\ud83d"}) {
        assertThat(cursor.startsWith(prefix)).isEqualTo(names.get(place).startsWith(prefix));
      }
    }
  }

  @Test
  void aNameThatNoBytesStandForIsNotThere() {
    ParsedRefs list = parse(PackedRefsText.oddNames(random, 1000, true));
    RefCursor cursor = new RefCursor(list);
    assertThat(cursor.seek("refs/heads/a\ud83d")).isFalse();
    assertThat(cursor.seek("refs/heads/\ud83d\ude00\udc00x")).isFalse();
    assertThat(cursor.seek("\udc00")).isFalse();
    String some = list.get(500).getName();
    assertThat(cursor.seek(some)).isTrue();
    assertThat(cursor.name()).isEqualTo(some);
  }

  @Test
  void whatASeekMakesDoesNotGrowWithTheList() {
    long small = made(parse(Lists.text(3, 3000)));
    long large = made(parse(Lists.text(3, 100_000)));
    assertThat(large).isAtMost(small + 4096);
  }

  /** Bytes that 1,000 seeks allocate. */
  private static long made(ParsedRefs list) {
    String[] names = new String[1000];
    for (int i = 0; i < names.length; i++) {
      names[i] = list.get(i * (list.size() / names.length)).getName() + "x";
    }
    com.sun.management.ThreadMXBean threads =
        (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = 0;
    for (int round = 0; round < 2; round++) {
      before = threads.getCurrentThreadAllocatedBytes();
      RefCursor cursor = new RefCursor(list);
      boolean found = false;
      for (String name : names) {
        found |= cursor.seek(name);
      }
      assertThat(found).isFalse();
    }
    return threads.getCurrentThreadAllocatedBytes() - before;
  }
}
