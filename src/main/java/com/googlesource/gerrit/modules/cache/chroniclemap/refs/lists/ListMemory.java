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

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import org.eclipse.jgit.annotations.Nullable;

/**
 * The memory of all lists in use, up to a bound. Contract:
 *
 * <ul>
 *   <li>A holder (one repository) has at most one list. Holders of the same content share one list,
 *       and lists share equal blocks.
 *   <li>If all slabs (direct memory) and roots (heap) together exceed the bound, the least recently
 *       used lists are evicted.
 *   <li>One list that is larger than the bound is held in addition to it, as long as a holder has
 *       the list. That list evicts no other list and is never evicted. A second such list is
 *       refused. All lists together thus take at most the bound and one list.
 *   <li>An evicted list is only removed from this class. Its users can keep using it; its memory is
 *       freed afterwards.
 * </ul>
 *
 * <p>Safe for any thread. Readers of lists never call this class.
 */
public final class ListMemory {
  /** The part of the bound that an eviction leaves in use, so that not each new list evicts. */
  private static final double LEFT = 0.95;

  private static final long NO_ID_INDEX_NANOS = TimeUnit.MINUTES.toNanos(10);

  /** A user of a list. */
  public interface Holder {
    /** The last use of the list, as a time of {@link ListMemory#now}. */
    long lastUse();

    /** The list if it is in memory. */
    @Nullable
    ParsedRefs lastList();

    /** Called without any lock, after the list was evicted. */
    void onEvicted(ParsedRefs list);

    /**
     * Called without any lock, when the holder's list is held in addition to the bound.
     *
     * @param enough a bound, in bytes, that the list would not exceed
     */
    void onOversized(long enough);

    /** Called without any lock, after a list was replaced by a copy. */
    void onReplaced(ParsedRefs list, ParsedRefs copy);
  }

  /** A block in memory. */
  record HeldBlock(Slab slab, int start) {}

  private static final class Shared {
    final ParsedRefs list;
    int holders;

    Shared(ParsedRefs list) {
      this.list = list;
    }
  }

  /** The most heap for Ref objects that are kept: an eighth of what the process may have. */
  private static final long MAX_MADE_BYTES = Runtime.getRuntime().maxMemory() / 8;

  /** How long Ref objects are kept that nobody asks for. */
  private static final int MAX_IDLE_SECONDS = 600;

  public final long limit;
  private final IntFunction<ByteBuffer> allocator;

  /** A time of {@link System#nanoTime}. */
  private volatile long noIdIndexUntil = System.nanoTime();

  /** The heap of all Ref objects that are kept, in bytes, about: it is counted once a second. */
  final AtomicLong madeBytes = new AtomicLong();

  private volatile boolean madeIsFull;

  /** The number of seconds since the start, about. */
  volatile int seconds;

  /** A logical clock, which advances with each new list and with {@link #tick}. */
  private volatile long now = 1;

  // All guarded by this.
  private final IdentityHashMap<Holder, Shared> holders = new IdentityHashMap<>();
  private final Map<ContentDigest, Shared> lists = new HashMap<>();
  private final BlockIndex index = new BlockIndex();
  private final List<Slab> slabs = new ArrayList<>();
  private final List<Integer> freeNumbers = new ArrayList<>();
  private long bytes;
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

  /**
   * Makes an empty memory.
   *
   * @param limit bound, bytes
   * @param allocator allocates direct memory
   */
  ListMemory(long limit, IntFunction<ByteBuffer> allocator) {
    this.limit = limit;
    this.allocator = allocator;
  }

  /**
   * Allocates direct memory.
   *
   * @throws OutOfMemoryError if there is not enough
   */
  ByteBuffer allocate(int size) {
    return allocator.apply(size);
  }

  /** The logical time of a use. */
  public long now() {
    return now;
  }

  /** Advances the time. Must be called every second. */
  synchronized void tick() {
    now++;
    seconds++;
    if (madeBytes.get() > 0) {
      forgetMade();
    }
  }

  // ---- Ref objects

  /** Takes room for Ref objects. Returns false if there is none. */
  boolean reserveMade(long size) {
    if (madeBytes.addAndGet(size) <= MAX_MADE_BYTES) {
      return true;
    }
    madeBytes.addAndGet(-size);
    madeIsFull = true;
    return false;
  }

  /**
   * Has Ref objects forgotten that were not used for long, and those that were not used for the
   * longest time if there was no room for others. The caller holds this object's lock.
   */
  private void forgetMade() {
    long left = madeIsFull ? MAX_MADE_BYTES / 2 : MAX_MADE_BYTES;
    madeIsFull = false;
    long bytes = 0;
    record Used(RefObjectCache made, int lastUse, long bytes) {}
    List<Used> latestFirst = new ArrayList<>();
    for (Shared shared : lists.values()) {
      RefObjectCache made = shared.list.made;
      latestFirst.add(new Used(made, made.lastUse, made.bytes()));
    }
    latestFirst.sort(Comparator.comparingInt(Used::lastUse).reversed());
    for (Used used : latestFirst) {
      boolean isIdle = seconds - used.lastUse > MAX_IDLE_SECONDS;
      if (isIdle || (bytes > 0 && bytes + used.bytes > left)) {
        used.made.forget();
      } else {
        bytes += used.bytes;
      }
    }
    madeBytes.set(bytes);
  }

  /**
   * Whether an index of ids can be allocated. If not, none can for some minutes, as each further
   * try would collect the whole heap several times before it fails.
   */
  boolean mayIndexIds(ParsedRefs list) {
    return System.nanoTime() - noIdIndexUntil >= 0
        && isWithinBound(list.size() * IdIndex.MIN_BYTES_A_REF);
  }

  /**
   * Allocates an index of ids, which is freed with the last list that has it. Indexes are counted
   * beside the bound. Those of the lists in use take at most half of the bound.
   *
   * @return null if there is not enough memory
   */
  @Nullable
  ByteBuffer allocateIdIndex(long size) {
    if (!isWithinBound(size)) {
      return null;
    }
    try {
      return allocate((int) size);
    } catch (OutOfMemoryError e) {
      // The ids are found without an index.
      noIdIndexUntil = System.nanoTime() + NO_ID_INDEX_NANOS;
      return null;
    }
  }

  private boolean isWithinBound(long size) {
    return size <= Integer.MAX_VALUE && idIndexBytes() + size <= limit / 2;
  }

  /** The direct memory of all indexes of ids, in bytes. */
  public synchronized long idIndexBytes() {
    Set<IdIndex> indexes = Collections.newSetFromMap(new IdentityHashMap<>());
    lists.values().forEach(shared -> indexes.add(shared.list.idIndex()));
    indexes.remove(null);
    return indexes.stream().mapToLong(IdIndex::bytes).sum();
  }

  ListBuilder builder() {
    return new ListBuilder(this, true);
  }

  /** Finds the list of a content; null if no holder has it. */
  @Nullable
  synchronized ParsedRefs find(ContentDigest digest) {
    Shared shared = lists.get(digest);
    return shared == null ? null : shared.list;
  }

  @Nullable
  synchronized HeldBlock find(long idHi, long idLo) {
    long place = index.find(idHi, idLo);
    return place < 0 ? null : new HeldBlock(slabs.get((int) (place >>> 32)), (int) place);
  }

  /**
   * Gives a holder a list, in place of its former list.
   *
   * @param afterUnlock gets calls of holders, which the caller has to run without any lock
   * @return the list, or an equal list of other holders
   * @throws OutOfMemoryError if the list is larger than the bound and another such list is held, or
   *     if there is not enough memory. The holder then has either no list or its former list
   */
  synchronized ParsedRefs hold(Holder holder, ParsedRefs list, List<Runnable> afterUnlock) {
    now++;
    Shared before = holders.get(holder);
    Shared shared = lists.get(list.digest());
    if (shared == null) {
      index.reserve(newBlocks(list.held));
      shared = new Shared(list);
      lists.put(list.digest(), shared);
      rootBytes += list.root.bytes.length;
      enter(list.held);
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
    return bytes() + rootBytes - besideBytes;
  }

  /** The size of a list without the slabs that it shares with the list beside the bound. */
  private long ownBytes(Shared shared) {
    boolean mayShare = beside != null && beside != shared;
    Set<Slab> others = mayShare ? Set.of(beside.list.held.slabs) : Set.of();
    long own = shared.list.root.bytes.length;
    for (Slab slab : shared.list.held.slabs) {
      own += others.contains(slab) ? 0 : slab.bytes();
    }
    return own;
  }

  private boolean isTooLarge(Shared shared) {
    // A list this large would be evicted together with all others.
    return ownBytes(shared) > LEFT * limit;
  }

  private void makeRoom(Holder holder, Shared shared, List<Runnable> afterUnlock) {
    if (beside == null) {
      holdBeside(
          lists.values().stream()
              .filter(this::isTooLarge)
              .max(Comparator.comparingLong(this::ownBytes))
              .orElse(null),
          afterUnlock);
    } else if (shared != beside && isTooLarge(shared)) {
      long enough = limit + besideBytes + ownBytes(shared);
      release(holder);
      throw new OutOfMemoryError(
          "the list is larger than cache.packed_refs.memoryLimit, and so is another list in use: set"
              + " the limit to "
              + ((enough >> 20) + 1)
              + "m or more");
    }
    if (bounded() > limit) {
      evict(holder, afterUnlock);
    }
  }

  private void holdBeside(@Nullable Shared shared, List<Runnable> afterUnlock) {
    beside = shared;
    besideBytes = shared == null ? 0 : ownBytes(shared);
    long enough = limit + besideBytes;
    holders.forEach(
        (holder, held) -> {
          if (held == shared) {
            afterUnlock.add(() -> holder.onOversized(enough));
          }
        });
  }

  /**
   * Replaces a list by a copy, for all its holders.
   *
   * @return the holders, which have to take the copy
   */
  synchronized List<Holder> replace(ParsedRefs list, ParsedRefs copy) {
    List<Holder> having = new ArrayList<>();
    Shared shared = lists.get(list.digest());
    if (shared == null || shared.list != list) {
      return having;
    }
    index.reserve(newBlocks(copy.held));
    Shared replaced = new Shared(copy);
    replaced.holders = shared.holders;
    lists.put(list.digest(), replaced);
    // Slabs of both lists stay in the index.
    List<Slab> kept = Arrays.stream(copy.held.slabs).filter(slab -> slab.users > 0).toList();
    kept.forEach(slab -> slab.users++);
    exit(list.held);
    enter(copy.held);
    kept.forEach(slab -> slab.users--);
    for (Map.Entry<Holder, Shared> entry : holders.entrySet()) {
      if (entry.getValue() == shared) {
        entry.setValue(replaced);
        having.add(entry.getKey());
      }
    }
    if (shared == beside) {
      holdBeside(replaced, new ArrayList<>());
    }
    return having;
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
      rootBytes -= shared.list.root.bytes.length;
      exit(shared.list.held);
      if (shared == beside) {
        beside = null;
        besideBytes = 0;
      }
    }
  }

  private static int newBlocks(ListBlocks blocks) {
    return Arrays.stream(blocks.slabs).filter(slab -> slab.users == 0).mapToInt(Slab::blocks).sum();
  }

  private void enter(ListBlocks blocks) {
    for (Slab slab : blocks.slabs) {
      if (slab.users++ == 0) {
        bytes += slab.bytes();
        number(slab);
        for (int i = 0; i < slab.blocks(); i++) {
          index.add(slab.idHi(i), slab.idLo(i), slab.number, slab.start(i));
        }
      }
    }
  }

  private void number(Slab slab) {
    if (freeNumbers.isEmpty()) {
      slab.number = slabs.size();
      slabs.add(slab);
    } else {
      slab.number = freeNumbers.remove(freeNumbers.size() - 1);
      slabs.set(slab.number, slab);
    }
  }

  private void exit(ListBlocks blocks) {
    for (Slab slab : blocks.slabs) {
      if (--slab.users == 0) {
        bytes -= slab.bytes();
        for (int i = 0; i < slab.blocks(); i++) {
          index.remove(slab.idHi(i), slab.idLo(i), slab.number);
        }
        slabs.set(slab.number, null);
        freeNumbers.add(slab.number);
        slab.number = -1;
      }
    }
  }

  /** Returns all lists, each once. */
  public synchronized List<ParsedRefs> lists() {
    return lists.values().stream().map(shared -> shared.list).toList();
  }

  /** The heap of all roots, and of all Ref objects that are kept, in bytes. */
  public synchronized long heapBytes() {
    return rootBytes + madeBytes.get();
  }

  /** The direct memory of the slabs and the index, in bytes. */
  public synchronized long bytes() {
    return bytes + index.bytes();
  }

  /** The number of distinct blocks. */
  public synchronized int blocks() {
    return index.size();
  }

  /** The number of evictions since the start. */
  public synchronized long evictions() {
    return evictions;
  }
}
