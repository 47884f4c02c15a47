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
import static com.google.common.truth.Truth.assertWithMessage;

import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.junit.jupiter.api.Test;

/** Questions for the refs of an id, against a look at all refs. */
class IdIndexTest {
  private static final String SHARED = "5".repeat(40);

  private final Random random = new Random(3);
  private final ListMemory memory = new ListMemory(1 << 30);
  private final Lists lists = new Lists();

  private ParsedRefs parse(SortedMap<String, String> lines, ParsedRefs old) {
    return lists.parse(memory, PackedRefsText.text(lines), old);
  }

  private SortedMap<String, String> lines(int count) {
    return PackedRefsText.gerrit(random, count);
  }

  private static List<String> tips(ParsedRefs list, ObjectId id) {
    List<String> names = new ArrayList<>();
    for (Ref ref : list.pointingTo(id, "", "\uffff").toList()) {
      assertThat(points(ref, id)).isTrue();
      names.add(ref.getName());
    }
    return names;
  }

  private static boolean points(Ref ref, ObjectId id) {
    return id.equals(ref.getObjectId()) || id.equals(ref.getPeeledObjectId());
  }

  private static void check(ParsedRefs list, ObjectId id) {
    assertWithMessage(id.name())
        .that(tips(list, id))
        .isEqualTo(list.refs().stream().filter(ref -> points(ref, id)).map(Ref::getName).toList());
  }

  /** Checks some ids that exist, and one that does not. */
  private static void check(ParsedRefs list, Random random, int ids) {
    for (int i = 0; i < ids; i++) {
      Ref ref = list.get(random.nextInt(list.size()));
      check(list, ref.getObjectId());
      if (ref.getPeeledObjectId() != null) {
        check(list, ref.getPeeledObjectId());
      }
    }
    check(list, ObjectId.fromString(PackedRefsText.id(random)));
  }

  @Test
  void eachIdIsFound() {
    ParsedRefs list = parse(lines(6000), null);
    check(list, random, 150);
    assertThat(list.idIndex().bytes()).isLessThan(10L * list.size());
    for (Ref ref : list.refs()) {
      assertThat(tips(list, ref.getObjectId())).containsExactly(ref.getName());
      if (ref.getPeeledObjectId() != null) {
        assertThat(tips(list, ref.getPeeledObjectId())).containsExactly(ref.getName());
      }
    }
  }

  /** Each new list of a large repository has an index made, so the heap for it counts. */
  @Test
  void isMadeWithLittleMoreHeapThanItTakes() throws Exception {
    ParsedRefs list = parse(lines(100_000), null);
    long allocated = Threads.allocated(() -> assertThat(IdIndex.of(list, memory)).isNotNull());
    assertThat(allocated).isLessThan(12L * list.size());
  }

  @Test
  void tagsHaveTwoIds() {
    SortedMap<String, String> lines = new TreeMap<>();
    for (int i = 0; i < 5000; i++) {
      String name = "refs/tags/v" + i;
      // Some tags have the same object, and the tag of a tag is a ref to the first one's id.
      String peeled = i % 10 == 0 ? SHARED : PackedRefsText.id(random);
      lines.put(name, PackedRefsText.line(random, name) + "^" + peeled + "\n");
    }
    lines.put("refs/heads/main", SHARED + " refs/heads/main\n");
    ParsedRefs list = parse(lines, null);
    check(list, random, 100);
    assertThat(tips(list, ObjectId.fromString(SHARED))).hasSize(501);
    assertThat(list.idIndex().bytes()).isLessThan(16L * list.size());
  }

  @Test
  void manyRefsOfOneId() {
    SortedMap<String, String> lines = lines(6000);
    int count = 0;
    for (var line : lines.entrySet()) {
      if (count++ < 5000) {
        line.setValue(SHARED + " " + line.getKey() + "\n");
      }
    }
    ParsedRefs list = parse(lines, null);
    assertThat(tips(list, ObjectId.fromString(SHARED))).hasSize(5000);
    check(list, ObjectId.fromString(SHARED));
    check(list, random, 30);
    // Each block has one entry for this id.
    assertThat(list.idIndex().bytes()).isLessThan(3L * list.size());
  }

  @Test
  void idsThatBeginAlike() {
    SortedMap<String, String> lines = lines(5000);
    lines.replaceAll(
        (name, line) -> "0123456789abcdef" + PackedRefsText.id(random, 12) + " " + name + "\n");
    ParsedRefs list = parse(lines, null);
    check(list, random, 100);
    check(list, ObjectId.fromString("0123456789abcdef" + "0".repeat(24)));
    Ref some = list.get(7);
    assertThat(tips(list, some.getObjectId())).containsExactly(some.getName());
  }

  @Test
  void oneThreadMakesTheIndex() throws Exception {
    Lists.Direct direct = new Lists.Direct();
    ListMemory counted = new ListMemory(1 << 30, direct);
    ParsedRefs list = lists.parse(counted, PackedRefsText.text(lines(6000)), null);
    int before = direct.tries.get();
    Threads.together(8, thread -> check(list, new Random(thread), 3));
    assertThat(direct.tries.get()).isEqualTo(before + 1);
  }

  /**
   * Parses a list as a repository's next one, and has the upkeep done that follows within a second.
   */
  private ParsedRefs next(ListTiers tiers, Lists.Holder holder, SortedMap<String, String> lines) {
    ParsedRefs old = holder.list;
    ParsedRefs next = parse(lines, old);
    holder.list = tiers.hold(holder, next, new ArrayList<>());
    tiers.changed(holder);
    tiers.upkeep();
    return holder.list;
  }

  @Test
  void aLargeListIsIndexedBeforeAnyoneAsks() {
    ListTiers tiers = Lists.tiers(memory);
    Lists.Holder holder = new Lists.Holder();
    SortedMap<String, String> lines = lines(140_000);
    ParsedRefs list = next(tiers, holder, lines);
    assertThat(list.blocks()).isAtLeast(ParsedRefs.LARGE_BLOCKS);
    IdIndex first = list.idIndex();
    assertThat(first).isNotNull();
    check(list, random, 5);
    assertThat(list.idIndex()).isSameInstanceAs(first);
    lines.subMap("refs/changes/30", "refs/changes/32").clear(); // some blocks are gone
    lines.replaceAll((name, line) -> random.nextInt(1000) == 0 ? SHARED + " " + name + "\n" : line);
    list = next(tiers, holder, lines);
    assertThat(list.idIndex()).isNotNull();
    assertThat(list.idIndex()).isNotSameInstanceAs(first);
    check(list, random, 5);
    check(list, ObjectId.fromString(SHARED));
    // The index of the former list is gone with it.
    assertThat(memory.idIndexBytes()).isEqualTo(list.idIndex().bytes());
  }

  @Test
  void aLargeListWithoutMemoryForItsIndexIsOfUse() {
    Lists.Direct direct = new Lists.Direct();
    ListMemory small = new ListMemory(1 << 30, direct);
    ListTiers tiers = Lists.tiers(small);
    Lists.Holder holder = new Lists.Holder();
    SortedMap<String, String> lines = lines(140_000);
    // The first one has its blocks, and only an index has still to be allocated.
    holder.list =
        tiers.hold(holder, lists.parse(small, PackedRefsText.text(lines), null), new ArrayList<>());
    direct.left.set(0);
    int before = direct.tries.get();
    for (int i = 0; i < 3; i++) {
      tiers.changed(holder);
      tiers.upkeep();
    }
    assertThat(holder.list.idIndex()).isNull();
    assertThat(direct.tries.get()).isEqualTo(before + 1);
    check(holder.list, random, 3);
    assertThat(direct.tries.get()).isEqualTo(before + 1);
  }

  @Test
  void indexesOfListsInUseAreCounted() {
    ListMemory.Holder a = new Lists.Holder();
    ListMemory.Holder b = new Lists.Holder();
    ParsedRefs list = memory.hold(a, parse(lines(5000), null), new ArrayList<>());
    assertThat(memory.hold(b, list, new ArrayList<>())).isSameInstanceAs(list);
    assertThat(memory.idIndexBytes()).isEqualTo(0);
    check(list, random, 1);
    assertThat(memory.idIndexBytes()).isEqualTo(list.idIndex().bytes());
    memory.release(a);
    assertThat(memory.idIndexBytes()).isEqualTo(list.idIndex().bytes());
    memory.release(b);
    assertThat(memory.idIndexBytes()).isEqualTo(0);
  }

  @Test
  void indexesTakeHalfOfTheBoundAtMost() {
    byte[] text = PackedRefsText.text(lines(5000));
    ParsedRefs list = lists.parse(memory, text, null);
    check(list, random, 1);
    long bytes = list.idIndex().bytes();
    ListMemory enough = new ListMemory(2 * bytes);
    ParsedRefs same = lists.parse(enough, text, null);
    check(same, random, 1);
    assertThat(same.idIndex()).isNotNull();
    ListMemory tooSmall = new ListMemory(2 * bytes - 2);
    ParsedRefs without = lists.parse(tooSmall, text, null);
    check(without, random, 5);
    assertThat(without.idIndex()).isNull();
  }
}
