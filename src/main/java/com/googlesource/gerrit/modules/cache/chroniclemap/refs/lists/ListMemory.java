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
import java.util.function.IntFunction;
import org.eclipse.jgit.annotations.Nullable;

/**
 * The lists in use, held whole in direct memory, up to a bound. Contract:
 *
 * <ul>
 *   <li>A holder (one repository) has at most one list here. Holders of the same content share one
 *       list, and lists share their equal blocks.
 *   <li>When all slabs (direct memory) and roots (on the heap) together take more than the bound,
 *       the holders whose last use is longest ago lose their lists.
 *   <li>One list that is larger than the bound is held beside it, for as long as a holder has it:
 *       it evicts no other list, and none evicts it. A second one is refused. So all lists together
 *       take the bound and one list at most.
 *   <li>What is evicted is forgotten here and nothing more: whoever has the list goes on using it,
 *       and the memory is freed when nobody has it any more.
 * </ul>
 *
 * <p>Safe for any thread; readers of lists never come here.
 */
public final class ListMemory {
  /** When there is too much, so much is left: else each list that comes in would look at all. */
  private static final double LEFT = 0.95;

  /** Who uses a list. */
  public interface Holder {
    /** When the list was last used, as {@link ListMemory#now} said. */
    long lastUse();

    /** Called, with no lock held, after the list has left: it is to be found again when needed. */
    void leave(ParsedRefs list);

    /**
     * Called, with no lock held, when the holder's list is held beside the bound.
     *
     * @param enough bytes of a bound within which it would fit
     */
    void isBeside(long enough);

    /** Called, with no lock held, to say that a list was copied: the copy is to be used instead. */
    void take(ParsedRefs list, ParsedRefs copy);
  }

  /** A block that is here. */
  record Found(Slab slab, int start) {}

  private static final class Shared {
    final ParsedRefs list;
    int holders;

    Shared(ParsedRefs list) {
      this.list = list;
    }
  }

  private final long limit;
  private final IntFunction<ByteBuffer> allocator;

  /** Rises with each list that comes in, and now and then. */
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

  /** The list that is held beside the bound, if there is one, and what it takes. */
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
   * @param allocator gives direct memory
   */
  public ListMemory(long limit, IntFunction<ByteBuffer> allocator) {
    this.limit = limit;
    this.allocator = allocator;
  }

  /**
   * Takes direct memory.
   *
   * @throws OutOfMemoryError if there is none
   */
  ByteBuffer allocate(int size) {
    return allocator.apply(size);
  }

  /** The time as uses are told in: larger is later. */
  public long now() {
    return now;
  }

  /** Tells uses from here on from those before. */
  public synchronized void tick() {
    now++;
  }

  public Draft draft() {
    return new Draft(this);
  }

  /** The list of a content if any holder has it. */
  @Nullable
  public synchronized ParsedRefs find(ContentDigest digest) {
    Shared shared = lists.get(digest);
    return shared == null ? null : shared.list;
  }

  @Nullable
  public synchronized Found find(long idHi, long idLo) {
    long place = index.find(idHi, idLo);
    if (place < 0) {
      return null;
    }
    return new Found(slabs.get((int) (place >>> 32)), (int) place);
  }

  /**
   * Gives a holder a list, in place of the one it has.
   *
   * @param tell gets what is to be run when no lock is held: it tells holders what has become of
   *     their lists
   * @return the list, or an equal one that others have
   * @throws OutOfMemoryError if it is larger than the bound, and another such list is held already;
   *     or if there is no memory. The holder has no list then, or still the one of before
   */
  public synchronized ParsedRefs hold(Holder holder, ParsedRefs list, List<Runnable> tell) {
    now++;
    Shared before = holders.get(holder);
    Shared shared = lists.get(list.digest());
    if (shared == null) {
      index.reserve(newBlocks(list.held()));
      shared = new Shared(list);
      lists.put(list.digest(), shared);
      rootBytes += list.rootBytes();
      enter(list.held());
    }
    shared.holders++;
    holders.put(holder, shared);
    if (before != null) {
      drop(before);
    }
    if (bounded() > limit) {
      makeRoom(holder, shared, tell);
    }
    return shared.list;
  }

  /** What counts towards the bound. */
  private long bounded() {
    return bytes() + rootBytes - besideBytes;
  }

  /** What a list takes of its own, but for what it shares with the one beside the bound. */
  private long ownBytes(Shared shared) {
    Set<Slab> others = Collections.newSetFromMap(new IdentityHashMap<>());
    if (beside != null && beside != shared) {
      others.addAll(Arrays.asList(beside.list.held().slabs()));
    }
    long own = shared.list.rootBytes();
    for (Slab slab : shared.list.held().slabs()) {
      own += others.contains(slab) ? 0 : slab.bytes();
    }
    return own;
  }

  private boolean isTooLarge(Shared shared) {
    // Or it would be evicted with all the others.
    return ownBytes(shared) > LEFT * limit;
  }

  private void makeRoom(Holder holder, Shared shared, List<Runnable> tell) {
    if (beside == null) {
      holdBeside(
          lists.values().stream()
              .filter(this::isTooLarge)
              .max(Comparator.comparingLong(this::ownBytes))
              .orElse(null),
          tell);
    } else if (shared != beside && isTooLarge(shared)) {
      long enough = limit + besideBytes + ownBytes(shared);
      release(holder);
      throw new OutOfMemoryError(
          "it is larger than cache.packed_refs.memoryLimit, and so is another one in use: set that"
              + " to %dm or more".formatted((enough >> 20) + 1));
    }
    if (bounded() > limit) {
      evict(holder, tell);
    }
  }

  private void holdBeside(@Nullable Shared shared, List<Runnable> tell) {
    beside = shared;
    besideBytes = shared == null ? 0 : ownBytes(shared);
    long enough = limit + besideBytes;
    holders.forEach(
        (holder, held) -> {
          if (held == shared) {
            tell.add(() -> holder.isBeside(enough));
          }
        });
  }

  /**
   * Puts a copy of a list in the place of the list, for all who have it.
   *
   * @return who had it; they are to take the copy
   */
  public synchronized List<Holder> replace(ParsedRefs list, ParsedRefs copy) {
    List<Holder> having = new ArrayList<>();
    Shared shared = lists.get(list.digest());
    if (shared == null || shared.list != list) {
      return having;
    }
    index.reserve(newBlocks(copy.held()));
    Shared replaced = new Shared(copy);
    replaced.holders = shared.holders;
    lists.put(list.digest(), replaced);
    // What both have stays in the index.
    List<Slab> kept = Arrays.stream(copy.held().slabs()).filter(slab -> slab.users > 0).toList();
    kept.forEach(slab -> slab.users++);
    exit(list.held());
    enter(copy.held());
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

  /** Takes its list from a holder, if it has one. */
  public synchronized void release(Holder holder) {
    Shared shared = holders.remove(holder);
    if (shared != null) {
      drop(shared);
    }
  }

  private void evict(Holder staying, List<Runnable> tell) {
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
      tell.add(() -> candidate.holder.leave(shared.list));
      drop(shared);
      evictions++;
    }
  }

  private void drop(Shared shared) {
    if (--shared.holders == 0) {
      lists.remove(shared.list.digest());
      rootBytes -= shared.list.rootBytes();
      exit(shared.list.held());
      if (shared == beside) {
        beside = null;
        besideBytes = 0;
      }
    }
  }

  private static int newBlocks(HeldBlocks blocks) {
    int count = 0;
    for (Slab slab : blocks.slabs()) {
      count += slab.users == 0 ? slab.blocks() : 0;
    }
    return count;
  }

  private void enter(HeldBlocks blocks) {
    for (Slab slab : blocks.slabs()) {
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

  private void exit(HeldBlocks blocks) {
    for (Slab slab : blocks.slabs()) {
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

  /** All lists, each once. */
  public synchronized List<ParsedRefs> lists() {
    List<ParsedRefs> all = new ArrayList<>(lists.size());
    lists.values().forEach(shared -> all.add(shared.list));
    return all;
  }

  /** Bytes of the roots, which are on the heap. */
  public synchronized long rootBytes() {
    return rootBytes;
  }

  /** Bytes of direct memory: slabs and the index. */
  public synchronized long bytes() {
    return bytes + index.bytes();
  }

  /** Different blocks. */
  public synchronized int blocks() {
    return index.size();
  }

  public synchronized int size() {
    return lists.size();
  }

  /** Lists that lost their place, since the start. */
  public synchronized long evictions() {
    return evictions;
  }

  public long limit() {
    return limit;
  }
}
