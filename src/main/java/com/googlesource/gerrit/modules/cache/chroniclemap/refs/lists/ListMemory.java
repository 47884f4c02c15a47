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

import com.google.common.base.Ticker;
import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Ref;

/**
 * The memory of all lists in use, up to a bound. Contract:
 *
 * <ul>
 *   <li>A holder (one repository) has at most one list. Holders of the same content share one list,
 *       and lists share equal blocks.
 *   <li>If all blocks (direct memory) and roots (heap) together exceed the bound, the least
 *       recently used lists are evicted.
 *   <li>One list that is larger than the bound is held in addition to it, as long as a holder has
 *       the list. That list evicts no other list and is never evicted. A second such list is
 *       refused. All lists together thus take at most the bound and one list.
 *   <li>A list that is evicted or replaced is only removed from this class. Its readers can keep
 *       using it; see {@link Block}.
 *   <li>Java frees such a list when it next collects the old part of the heap, which may take
 *       hours, as lists take hardly any heap. So this class has the heap collected once they take
 *       twice the bound, or an eighth of the heap if that is more: the larger the heap, the longer
 *       a collection takes, and the more lists are made before one. It looks whenever a quarter of
 *       that was allocated.
 * </ul>
 *
 * <p>Safe for any thread. Readers of lists never call this class.
 */
public final class ListMemory {
  /** The part of the bound that an eviction leaves in use, so that not each new list evicts. */
  private static final double LEFT = 0.95;

  private static final long NO_SPARE_NANOS = TimeUnit.MINUTES.toNanos(10);

  /** A user of a list. */
  public interface Holder {
    /** The last use of the list, as a time of {@link ListMemory#now}. */
    long lastUse();

    /** The list if it is in memory. */
    @Nullable
    ParsedRefs lastList();

    /** Called without any lock, after the list was evicted. */
    void onEvicted(ParsedRefs list);
  }

  private static final class Shared {
    final ParsedRefs list;
    int holders;

    Shared(ParsedRefs list) {
      this.list = list;
    }
  }

  /** The heap of a ref with its name and id, measured with names of the length of changes' refs. */
  static final int BYTES_A_REF = 140;

  /** An eighth of the heap that the process may have: the most for Ref objects that are kept. */
  private static final long HEAP_SHARE = Runtime.getRuntime().maxMemory() / 8;

  /** How long Ref objects are kept that nobody asks for. */
  private static final Duration MAX_IDLE = Duration.ofMinutes(10);

  /** Counts what is freed. Nothing else may delay that, as the heap would be collected again. */
  private static final Cleaner CLEANER = Cleaner.create();

  public final long limit;
  private final IntFunction<ByteBuffer> allocator;
  private final Runnable collector;

  /** Direct memory that was allocated and is not freed. */
  private final AtomicLong allocated = new AtomicLong();

  /** What was allocated since somebody last looked how much of it is garbage. */
  private final AtomicLong unchecked = new AtomicLong();

  /** A time of {@link System#nanoTime}. */
  private volatile long noSpareUntil = System.nanoTime();

  /**
   * The Ref objects of blocks that were read in an iteration, so that lists which are read again
   * and again are made once. All lists with a block share them.
   */
  private final Cache<Block, Ref[]> refObjects;

  /** A logical clock, which advances with each new list and with {@link #tick}. */
  private volatile long now = 1;

  // All guarded by this.
  private final IdentityHashMap<Holder, Shared> holders = new IdentityHashMap<>();
  private final Map<ContentDigest, Shared> lists = new HashMap<>();
  private final Map<ContentDigest, Block> blocks = new HashMap<>();
  private long slabBytes;
  private long rootBytes;
  private long evictions;

  /** The list that is held in addition to the bound, if there is one; below, its size. */
  @Nullable private Shared beside;

  private long besideBytes;

  /**
   * Makes an empty memory.
   *
   * @param limit bound, bytes
   */
  public ListMemory(long limit) {
    this(limit, ByteBuffer::allocateDirect);
  }

  ListMemory(long limit, IntFunction<ByteBuffer> allocator) {
    this(limit, allocator, Ticker.systemTicker(), System::gc);
  }

  /**
   * Makes an empty memory.
   *
   * @param limit bound, bytes
   * @param allocator allocates direct memory
   * @param ticker the time by which Ref objects are forgotten
   * @param collector collects the heap
   */
  ListMemory(long limit, IntFunction<ByteBuffer> allocator, Ticker ticker, Runnable collector) {
    this.limit = limit;
    this.allocator = allocator;
    this.collector = collector;
    this.refObjects =
        CacheBuilder.newBuilder()
            .weakKeys()
            .expireAfterAccess(MAX_IDLE)
            .maximumWeight(HEAP_SHARE)
            .<Block, Ref[]>weigher((block, refs) -> refs.length * BYTES_A_REF)
            .ticker(ticker)
            .build();
  }

  /**
   * Allocates direct memory, after a collection of the heap if lists have left too much behind.
   *
   * @throws OutOfMemoryError if there is not enough
   */
  ByteBuffer allocate(int size) {
    long maxGarbage = Math.max(2 * limit, HEAP_SHARE);
    if (unchecked.addAndGet(size) > maxGarbage / 4
        && unchecked.getAndSet(0) > maxGarbage / 4
        && allocated.get() - bytes() - idIndexBytes() > maxGarbage) {
      collector.run();
    }
    ByteBuffer memory = allocator.apply(size);
    // Not this object, which has the memory.
    AtomicLong counted = allocated;
    counted.addAndGet(size);
    var unused = CLEANER.register(memory, () -> counted.addAndGet(-size));
    return memory;
  }

  /** The logical time of a use. */
  public long now() {
    return now;
  }

  /** Advances the time. Must be called every second. */
  synchronized void tick() {
    now++;
    refObjects.cleanUp();
  }

  // ---- Ref objects

  /** Returns the refs of a block, which must not be changed; null if they are not kept. */
  @Nullable
  Ref[] refObjects(Block block) {
    return refObjects.getIfPresent(block);
  }

  /** Whether there is room for the refs of a whole list. */
  boolean mayKeepRefs(int inList) {
    return (long) inList * BYTES_A_REF <= HEAP_SHARE;
  }

  /** Keeps the refs of a block of such a list. */
  void keep(Block block, Ref[] refs) {
    refObjects.put(block, refs);
  }

  /** The heap of all Ref objects that are kept, in bytes, about. */
  long refObjectBytes() {
    return refObjects.asMap().values().stream()
        .mapToLong(refs -> (long) refs.length * BYTES_A_REF)
        .sum();
  }

  // ---- direct memory

  private boolean maySpare() {
    return System.nanoTime() - noSpareUntil >= 0;
  }

  /**
   * Makes something without which lists can be used, too.
   *
   * @return null if there is not enough memory, and then for some minutes, as each further try
   *     would collect the whole heap several times before it fails
   */
  @Nullable
  <T> T makeSpare(Supplier<T> make) {
    try {
      return maySpare() ? make.get() : null;
    } catch (OutOfMemoryError e) {
      noSpareUntil = System.nanoTime() + NO_SPARE_NANOS;
      return null;
    }
  }

  /** Whether an index of ids can be made. */
  boolean mayIndexIds(ParsedRefs list) {
    return maySpare() && hasRoomForIndex(list.size() * IdIndex.BYTES_A_REF);
  }

  /**
   * Whether there is room for an index of ids, which is freed with the last list that has it.
   * Indexes are counted beside the bound. Those of the lists in use take at most half of the bound.
   */
  boolean hasRoomForIndex(long size) {
    return size <= Integer.MAX_VALUE && idIndexBytes() + size <= limit / 2;
  }

  /** The direct memory of all indexes of ids, in bytes. */
  public synchronized long idIndexBytes() {
    return lists.values().stream()
        .map(shared -> shared.list.idIndex())
        .filter(Objects::nonNull)
        .mapToLong(IdIndex::bytes)
        .sum();
  }

  /** Finds a block; null if no list in use has it. */
  @Nullable
  synchronized Block block(ContentDigest id) {
    return blocks.get(id);
  }

  /**
   * Gives a holder a list, in place of its former list.
   *
   * @param afterUnlock gets calls of holders, which the caller has to run without any lock
   * @return the list, or an equal list of other holders
   * @throws OutOfMemoryError if the list is larger than the bound and another such list is held.
   *     The holder then has no list
   */
  synchronized ParsedRefs hold(Holder holder, ParsedRefs list, List<Runnable> afterUnlock) {
    now++;
    Shared before = holders.get(holder);
    Shared shared = lists.get(list.digest());
    if (shared == null) {
      shared = new Shared(list);
      lists.put(list.digest(), shared);
      enter(list);
    }
    shared.holders++;
    holders.put(holder, shared);
    if (before != null) {
      drop(before);
    }
    if (bounded() > limit) {
      makeRoom(holder, shared, afterUnlock);
    }
    return shared.list;
  }

  /** The bytes that count towards the bound. */
  private long bounded() {
    return slabBytes + heapOfLists() - (beside == null ? 0 : besideBytes);
  }

  private long heapOfLists() {
    return rootBytes + (long) blocks.size() * Block.HEAP_BYTES;
  }

  /** Whether a list takes so much that it would be evicted together with all others. */
  private boolean isTooLarge(Shared shared) {
    double most = LEFT * limit;
    // What it shares with others does not count: a fork of a large list is small.
    return shared.list.bytes > most && ownBytes(shared.list) > most;
  }

  private static long ownBytes(ParsedRefs list) {
    return list.root.heapBytes()
        + Arrays.stream(list.blocks)
            .filter(block -> block.users == 1)
            .mapToLong(block -> block.length)
            .sum();
  }

  private void makeRoom(Holder holder, Shared shared, List<Runnable> afterUnlock) {
    if (beside == null) {
      lists.values().stream()
          .filter(this::isTooLarge)
          .max(Comparator.comparingLong(large -> large.list.bytes))
          .ifPresent(this::holdBeside);
    } else if (shared != beside && isTooLarge(shared)) {
      long enough = limit + besideBytes + shared.list.bytes;
      release(holder);
      throw new OutOfMemoryError(
          "the list is larger than cache.packed_refs.memoryLimit, and so is another list in use:"
              + " set the limit to "
              + ((enough >> 20) + 1)
              + "m or more");
    }
    if (bounded() > limit) {
      evict(holder, afterUnlock);
    }
  }

  private void holdBeside(Shared shared) {
    Block[] blocks = shared.list.blocks;
    beside = shared;
    besideBytes =
        shared.list.root.heapBytes()
            + (long) blocks.length * Block.HEAP_BYTES
            + Arrays.stream(blocks).map(b -> b.slab).distinct().mapToLong(s -> s.bytes).sum();
  }

  /** Removes the list of a holder, if it has one. */
  public synchronized void release(Holder holder) {
    Shared shared = holders.remove(holder);
    if (shared != null) {
      drop(shared);
    }
  }

  private void evict(Holder staying, List<Runnable> afterUnlock) {
    record Candidate(Holder holder, long lastUse) {}
    List<Candidate> candidates = new ArrayList<>();
    holders.forEach(
        (holder, shared) -> {
          if (holder != staying && shared != beside) {
            candidates.add(new Candidate(holder, holder.lastUse()));
          }
        });
    candidates.sort(Comparator.comparingLong(Candidate::lastUse));
    for (Candidate candidate : candidates) {
      if (bounded() <= LEFT * limit) {
        return;
      }
      Shared shared = holders.remove(candidate.holder);
      afterUnlock.add(() -> candidate.holder.onEvicted(shared.list));
      drop(shared);
      evictions++;
    }
  }

  private void drop(Shared shared) {
    if (--shared.holders == 0) {
      lists.remove(shared.list.digest());
      exit(shared.list);
      beside = shared == beside ? null : beside;
    }
  }

  private void enter(ParsedRefs list) {
    rootBytes += list.root.heapBytes();
    for (Block block : list.blocks) {
      if (block.users++ == 0) {
        // Another thread may have made the same block.
        blocks.putIfAbsent(block.id, block);
        count(block, 1);
      }
    }
    clearSlabs(list);
  }

  private void exit(ParsedRefs list) {
    rootBytes -= list.root.heapBytes();
    for (Block block : list.blocks) {
      if (--block.users == 0) {
        blocks.remove(block.id, block);
        count(block, -1);
      }
    }
    clearSlabs(list);
  }

  /** Counts a block as in use in its slab, or no longer if the sign is -1. */
  private void count(Block block, int sign) {
    Block.Slab slab = block.slab;
    boolean wasUsed = slab.used > 0;
    slab.used += sign * block.length;
    if (wasUsed != slab.used > 0) {
      slabBytes += (long) sign * slab.bytes;
    }
  }

  /**
   * Moves the blocks out of each slab of which less than half is in use, so that it can be freed.
   * So slabs take at most twice the bytes of their blocks, and no more bytes are moved than freed.
   */
  private void clearSlabs(ParsedRefs list) {
    for (Block block : list.blocks) {
      Block.Slab slab = block.slab;
      if (slab.used > 0 && 2 * slab.used < slab.bytes) {
        slab.blocks.stream().filter(each -> each.slab == slab).forEach(this::move);
      }
    }
  }

  private void move(Block block) {
    ByteBuffer own = block.users == 0 ? null : makeSpare(() -> allocate(block.length));
    if (own != null) {
      count(block, -1);
      var unused = new Block.Slab(own.put(0, block.memory, 0, block.length), List.of(block));
      count(block, 1);
    }
  }

  /** Returns all lists, each once. */
  public synchronized List<ParsedRefs> lists() {
    return lists.values().stream().map(shared -> shared.list).toList();
  }

  /** The heap of all lists, and of all Ref objects that are kept, in bytes. */
  public synchronized long heapBytes() {
    return heapOfLists() + refObjectBytes();
  }

  /** The direct memory of the blocks, in bytes. */
  public synchronized long bytes() {
    return slabBytes;
  }

  /** The number of distinct blocks. */
  public synchronized int blocks() {
    return blocks.size();
  }

  /** The number of evictions since the start. */
  public synchronized long evictions() {
    return evictions;
  }
}
