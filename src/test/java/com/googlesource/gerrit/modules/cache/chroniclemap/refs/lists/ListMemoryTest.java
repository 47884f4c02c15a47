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
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.base.Ticker;
import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.eclipse.jgit.lib.Ref;
import org.junit.jupiter.api.Test;

class ListMemoryTest {
  private static final int REFS = 3000;

  private ListMemory memory = new ListMemory(1 << 30);
  private final Lists lists = new Lists();

  private final class Repo extends Lists.Holder {
    void use() {
      lastUse = memory.now();
    }

    Repo read(byte[] text) {
      ParsedRefs read = lists.parse(memory, text, list);
      List<Runnable> afterUnlock = new ArrayList<>();
      list = memory.hold(this, read, afterUnlock);
      afterUnlock.forEach(Runnable::run);
      use();
      return this;
    }
  }

  private static long bytes(ParsedRefs... of) {
    Set<Block.Slab> slabs = new HashSet<>();
    for (ParsedRefs list : of) {
      Arrays.stream(list.blocks).forEach(block -> slabs.add(block.slab));
    }
    return slabs.stream().mapToLong(slab -> slab.bytes).sum();
  }

  @Test
  void equalContentsShareOneList() {
    byte[] text = Lists.text(1, REFS);
    Repo a = new Repo().read(text);
    long bytes = memory.bytes();
    Repo b = new Repo().read(text);
    assertThat(b.list).isSameInstanceAs(a.list);
    assertThat(memory.bytes()).isEqualTo(bytes);
    assertThat(memory.lists()).hasSize(1);
    memory.release(a);
    assertThat(memory.lists()).contains(b.list);
    memory.release(b);
    memory.release(b);
    assertThat(memory.lists()).doesNotContain(a.list);
    assertThat(memory.lists()).hasSize(0);
    assertThat(memory.blocks()).isEqualTo(0);
    assertThat(memory.bytes()).isEqualTo(0);
  }

  @Test
  void aRewriteSharesWhatHasNotChanged() {
    Repo a = new Repo().read(Lists.text(1, REFS));
    ParsedRefs before = a.list;
    byte[] other = Lists.textWith(1, REFS, "refs/changes/50/9/1");
    a.read(other);
    lists.assertIs(a.list, other);
    lists.assertIs(before, Lists.text(1, REFS));
    long own = bytes(a.list);
    assertThat(own).isLessThan(bytes(before) + (40 << 10));
    assertThat(memory.lists()).hasSize(1);
  }

  @Test
  void manyRewritesTakeNoMoreAndMore() {
    SortedMap<String, String> lines = PackedRefsText.gerrit(new Random(1), REFS);
    List<String> names = List.copyOf(lines.keySet());
    Random random = new Random(2);
    Repo a = new Repo().read(PackedRefsText.text(lines));
    for (int i = 0; i < 10_000; i++) {
      String name = names.get(random.nextInt(names.size()));
      lines.put(name, PackedRefsText.line(random, name));
      a.read(PackedRefsText.text(lines));
      assertThat(memory.bytes()).isAtMost(2 * a.list.blockBytes());
    }
    assertThat(memory.bytes()).isEqualTo(bytes(a.list));
    assertThat(memory.blocks()).isEqualTo(a.list.blocks());
    lists.assertIs(a.list, PackedRefsText.text(lines));
    memory.release(a);
    assertThat(memory.bytes()).isEqualTo(0);
  }

  /** As one thread has a view of a block, and another moves the block to other memory. */
  @Test
  void aListThatLosesMostRefsGivesBackItsMemory() {
    SortedMap<String, String> lines = PackedRefsText.gerrit(new Random(1), 100 * REFS);
    byte[] all = PackedRefsText.text(lines);
    Repo a = new Repo().read(all);
    // Few blocks of each slab stay.
    int i = 0;
    for (Iterator<String> names = lines.keySet().iterator(); names.hasNext(); i++) {
      names.next();
      if (i % 20_000 > 200) {
        names.remove();
      }
    }
    byte[] few = PackedRefsText.text(lines);
    ParsedRefs before = a.list;
    Iterator<Ref> walk = before.refs().iterator();
    Ref first = walk.next();
    BlockView view = before.open(0);
    ByteBuffer memory0 = before.blocks[0].memory;
    a.read(few);
    assertThat(memory.bytes()).isAtMost(2 * a.list.blockBytes());
    assertThat(a.list.blocks[0]).isSameInstanceAs(before.blocks[0]);
    assertThat(before.blocks[0].memory).isNotSameInstanceAs(memory0);
    memory0 = null;
    System.gc();
    new Repo().read(all); // where freed memory would be used again
    view.seek(0);
    assertThat(view.ref(view.name()).getObjectId()).isEqualTo(first.getObjectId());
    assertThat(view.name()).isEqualTo(first.getName());
    assertThat(a.list.size()).isLessThan(before.size() / 50);
    lists.assertIs(a.list, few);
    // Blocks that both lists have were moved meanwhile.
    List<Ref> refs = new ArrayList<>(List.of(first));
    walk.forEachRemaining(refs::add);
    Differential.assertSame(refs, new ArrayList<>(lists.parse(memory, all, null).refs()));
  }

  @Test
  void blocksStayWhereTheyAreIfThereIsNoMemoryToMoveThem() {
    Lists.Direct direct = new Lists.Direct();
    memory = new ListMemory(1 << 30, direct);
    byte[] text = Lists.text(1, 10 * REFS);
    Repo a = new Repo().read(text);
    byte[] start = Arrays.copyOf(text, text.length / 20);
    byte[] few = Arrays.copyOf(start, new String(start, UTF_8).lastIndexOf('\n') + 1);
    long all = memory.bytes();
    direct.left.set(24 << 10); // the last block is another one
    a.read(few);
    lists.assertIs(a.list, few);
    assertThat(memory.bytes()).isAtLeast(all);
    memory.release(a);
    assertThat(memory.bytes()).isEqualTo(0);
    assertThat(memory.blocks()).isEqualTo(0);
  }

  /** What the garbage collector has yet to find of old versions: it need not run in the test. */
  @Test
  void rewritesTakeLittleDirectMemoryThatIsNotCounted() {
    AtomicLong taken = new AtomicLong();
    memory =
        new ListMemory(
            1 << 30,
            size -> {
              taken.addAndGet(size);
              return ByteBuffer.allocateDirect(size);
            });
    SortedMap<String, String> lines = PackedRefsText.gerrit(new Random(1), 50_000);
    Repo a = new Repo().read(PackedRefsText.text(lines));
    assertThat(a.list.root.heapBytes()).isGreaterThan(10_000);
    BufferPoolMXBean direct =
        ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
            .filter(pool -> pool.getName().equals("direct"))
            .findFirst()
            .orElseThrow();
    long before = direct.getMemoryUsed();
    long takenBefore = taken.get();
    for (int i = 0; i < 200; i++) {
      String name = "refs/heads/rewritten";
      lines.put(name, PackedRefsText.line(new Random(i), name));
      a.read(PackedRefsText.text(lines));
    }
    // One block or two of some 4 KB for each; no root, which is six times as large.
    assertThat(taken.get() - takenBefore).isLessThan(200L * (13 << 10));
    // The index may have grown once, and a reader may have been made.
    assertThat(direct.getMemoryUsed() - before).isAtMost(taken.get() - takenBefore + (1 << 20));
  }

  /** In a container, evicted lists would otherwise take all memory before Java frees them. */
  @Test
  void theHeapIsCollectedWhenListsHaveLeftTooMuchDirectMemory() {
    int part = 1 << 30;
    List<ByteBuffer> unfreed = new ArrayList<>();
    AtomicInteger collections = new AtomicInteger();
    memory =
        new ListMemory(
            2L * part, // so four parts are too much, and each part has it look
            size -> {
              unfreed.add(ByteBuffer.allocate(size == part ? 0 : size));
              return unfreed.getLast();
            },
            Ticker.systemTicker(),
            collections::incrementAndGet);
    Repo inUse = new Repo().read(Lists.text(1, REFS));
    long bytes = memory.bytes();
    assertThat(bytes).isGreaterThan(0);
    for (int i = 1; i <= 6; i++) {
      var unused = memory.allocate(part);
      // Four parts of garbage at most when it looks: what is in use is none.
      assertThat(collections.get()).isEqualTo(0);
    }
    var unused = memory.allocate(part);
    assertThat(collections.get()).isEqualTo(1);
    unused = memory.allocate(part);
    // Not again before as much as that was allocated.
    assertThat(collections.get()).isEqualTo(1);
    assertThat(memory.bytes()).isEqualTo(bytes);
    lists.assertIs(inUse.list, Lists.text(1, REFS));

    // What Java has freed is none either.
    unfreed.clear();
    boolean isFreed = false;
    for (int i = 0; i < 100 && !isFreed; i++) {
      System.gc();
      int before = collections.get();
      unused = memory.allocate(part);
      unused = memory.allocate(part);
      unused = memory.allocate(part);
      unfreed.clear();
      isFreed = collections.get() == before;
    }
    assertThat(isFreed).isTrue();
  }

  @Test
  void theLeastRecentlyUsedLeave() {
    long one = bytes(new Repo().read(Lists.text(0, REFS)).list);
    memory = new ListMemory(5 * one);
    List<Repo> repos = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      repos.add(new Repo().read(Lists.text(i, REFS)));
    }
    repos.get(0).use();
    ParsedRefs held = repos.get(1).list;
    repos.add(new Repo().read(Lists.text(4, REFS)));
    repos.add(new Repo().read(Lists.text(5, REFS)));
    assertThat(memory.bytes()).isAtMost(5 * one);
    assertThat(repos.get(0).list).isNotNull();
    assertThat(repos.get(1).list).isNull();
    assertThat(repos.get(5).list).isNotNull();
    assertThat(memory.evictions()).isAtLeast(1);
    // Whoever has it reads on.
    lists.assertIs(held, Lists.text(1, REFS));
  }

  @Test
  void aSecondListThatIsTooLargeIsRefusedAndEvictsNobody() {
    memory = new ListMemory(100_000);
    Repo small = new Repo().read(Lists.text(1, 100));
    Repo large = new Repo().read(Lists.text(2, 5 * REFS));
    Repo second = new Repo();
    for (int i = 0; i < 3; i++) {
      OutOfMemoryError refused =
          assertThrows(OutOfMemoryError.class, () -> second.read(Lists.text(3, 5 * REFS)));
      assertThat(refused).hasMessageThat().contains("cache.packed_refs.memoryLimit");
    }
    assertThat(memory.lists()).containsExactly(small.list, large.list);
    // A fork of the one that is there has little of its own.
    Repo fork = new Repo().read(Lists.textWith(2, 5 * REFS, "refs/heads/x"));
    assertThat(memory.lists()).containsExactly(small.list, large.list, fork.list);
    memory.release(large);
    memory.release(fork);
    second.read(Lists.text(3, 5 * REFS));
    assertThat(small.list).isNotNull();
    memory.release(second);
    memory.release(small);
    assertThat(memory.bytes()).isEqualTo(0);
  }

  @Test
  void smallListsLieInOnePiece() {
    Repo a = new Repo().read(Lists.text(1, 20));
    // 20 refs of 28 bytes.
    assertThat(bytes(a.list)).isLessThan(800L);
    lists.assertIs(a.list, Lists.text(1, 20));
  }

  @Test
  void whatLeavesWhileItIsSharedComesBack() {
    Repo a = new Repo().read(Lists.text(1, REFS));
    ListBuilder builder = new ListBuilder(memory, null);
    ParsedRefs list = a.list;
    for (int i = 0; i < list.blocks(); i++) {
      Block block = list.blocks[i];
      assertThat(builder.find(block.id, block.textLength)).isSameInstanceAs(block);
      byte[] first = list.get(list.root.refsBefore(i)).getName().getBytes(UTF_8);
      byte[] last = list.get(list.root.refsBefore(i + 1) - 1).getName().getBytes(UTF_8);
      assertThat(builder.append(block, first, last)).isTrue();
    }
    memory.release(a);
    ParsedRefs again = builder.finish(list.root.blockFlags(), list.digest());
    Repo b = new Repo();
    assertThat(memory.hold(b, again, new ArrayList<>())).isSameInstanceAs(again);
    assertThat(memory.bytes()).isEqualTo(bytes(again));
    lists.assertIs(again, Lists.text(1, REFS));
  }

  @Test
  void withoutMemoryForWhatListsCanDoWithoutItIsNotTriedAgainAtOnce() {
    assertThat(memory.makeSpare(() -> "made")).isEqualTo("made");
    assertThat(
            memory.<String>makeSpare(
                () -> {
                  throw new OutOfMemoryError("of the heap");
                }))
        .isNull();
    assertThat(memory.makeSpare(() -> "made")).isNull();
  }

  @Test
  void manyThreadsComeAndGo() throws Exception {
    List<byte[]> texts = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      texts.add(Lists.text(i / 2, 500));
      texts.add(Lists.textWith(i / 2, 500, "refs/heads/x" + i));
    }
    memory = new ListMemory(bytes(new Repo().read(texts.get(0)).list) * 4);
    Threads.together(
        4,
        thread -> {
          Random random = new Random(thread);
          Lists own = new Lists();
          List<Repo> repos = Stream.generate(Repo::new).limit(5).toList();
          for (int i = 0; i < 300; i++) {
            Repo repo = repos.get(random.nextInt(repos.size()));
            byte[] text = texts.get(random.nextInt(texts.size()));
            ParsedRefs read = own.parse(memory, text, repo.list);
            List<Runnable> afterUnlock = new ArrayList<>();
            ParsedRefs list = memory.hold(repo, read, afterUnlock);
            repo.list = list;
            repo.use();
            afterUnlock.forEach(Runnable::run);
            if (i % 10 == 0) {
              own.assertIs(list, text);
            }
            if (random.nextInt(5) == 0) {
              memory.release(repo);
            }
          }
          repos.forEach(memory::release);
        });
    assertThat(memory.lists()).hasSize(0);
    assertThat(memory.blocks()).isEqualTo(0);
    assertThat(memory.bytes()).isEqualTo(0);
  }
}
