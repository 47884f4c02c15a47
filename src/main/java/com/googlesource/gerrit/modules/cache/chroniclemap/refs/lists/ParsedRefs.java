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

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Preconditions;
import com.google.common.base.Strings;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.AnyObjectId;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefComparator;

/**
 * A parsed list: the refs of one {@code packed-refs} content as JGit's RefDirectory would read
 * them, off-heap in blocks. They are in the order of the file, by bytes, and listed in JGit's
 * order.
 *
 * <p>Immutable. Only refs that are read become objects. Any thread may read, without waiting.
 */
public final class ParsedRefs {
  /** Smaller lists (of 130,000 refs) are indexed within some 10 ms. */
  static final int LARGE_BLOCKS = 1000;

  /** Many folders of short names, such as those of 100 shards of changes, and few bytes. */
  private static final int MAX_KNOWN = 1000;

  private static final int MAX_KNOWN_LENGTH = 64;

  /** The most refs of a prefix that are made at once. More refs are made on demand. */
  private static final int MAX_REFS_AT_ONCE = 64;

  final Block[] blocks;
  final Root root;
  private final ContentDigest digest;
  private final ListMemory memory;

  /** Made on demand. */
  @Nullable private volatile IdIndex ids;

  /** The size of the root and the blocks. */
  final long bytes;

  /** Some short names of folders that have refs and are none, by {@link #freeFolder}. */
  private final Set<String> noRefs = ConcurrentHashMap.newKeySet();

  /**
   * Makes a list.
   *
   * @param memory bounds what is made on demand
   */
  ParsedRefs(Root root, ContentDigest digest, Block[] blocks, ListMemory memory) {
    this.blocks = blocks;
    this.root = root;
    this.memory = memory;
    this.digest = digest;
    this.bytes = root.heapBytes() + Arrays.stream(blocks).mapToLong(block -> block.length).sum();
  }

  /** Identity of the content. */
  ContentDigest digest() {
    return digest;
  }

  /** Number of refs. */
  public int size() {
    return root.refs;
  }

  /** Bytes of the text. */
  public long textBytes() {
    return root.textBytes;
  }

  /** Whether the names are in JGit's order, so that {@link #rank} and {@link #search} work. */
  public boolean isInJGitsOrder() {
    return root.inStringOrder;
  }

  /** Number of blocks. */
  public int blocks() {
    return root.blocks;
  }

  /** Bytes of the blocks. */
  public long blockBytes() {
    return bytes - root.heapBytes();
  }

  /** Returns the ref of that name, or null. */
  @Nullable
  public Ref exactRef(String name) {
    Target target = name.length() > Names.MAX_BYTES ? null : Target.of(name);
    int block = target == null ? -1 : root.blockOf(target);
    if (block < 0) {
      return null;
    }
    BlockView view = open(block);
    return view.find(target) ? view.ref(name) : null;
  }

  /** Returns whether there is a ref of that name. */
  public boolean contains(String name) {
    return exactRef(name) != null;
  }

  /**
   * Looks for packed refs above and below a name, beside which there could be no ref of that name.
   * Returns the first folder of the name, or else the name as a folder, that has no refs in it;
   * with a slash at its end. Nor is that folder a ref, or one above it. Returns null if there is a
   * ref above or below the name.
   *
   * <p>Nearly always costs one search, for the place of the name: refs that share a folder with it
   * are next to that place. So only the folders that a neighbour shares, and the first one that
   * none shares, may be refs. That one would be next to the place too, or only names that begin
   * with it, such as {@code x-y} between {@code x} and {@code x/z}. A shared one is a ref only if
   * other programs have packed a ref and one below it. Each is searched for once, as nearly all
   * names share their upper folders.
   *
   * @param name has a UTF-8 form
   * @param gone folders that do not count, even if they are refs
   */
  @Nullable
  public String freeFolder(String name, Set<String> gone) {
    String below = name + '/';
    Target bound = Objects.requireNonNull(Target.of(below));
    int block = root.blockOf(bound);
    int place = 0;
    int shared = 0;
    if (block >= 0) {
      BlockView view = open(block);
      boolean unused = view.find(bound);
      place = root.refsBefore(block) + view.index;
      shared = new String(bound.bytes(), 0, view.matched, UTF_8).length();
    }
    if (place < size() && place == root.refsBefore(block + 1)) {
      shared = Math.max(shared, Strings.commonPrefix(below, get(place).getName()).length());
    }
    if (shared == below.length()) {
      return null;
    }
    for (int slash = name.indexOf('/', 1); slash > 0; slash = name.indexOf('/', slash + 1)) {
      String folder = name.substring(0, slash);
      if (slash <= shared && !noRefs.contains(folder) && !gone.contains(folder)) {
        if (contains(folder)) {
          return null;
        }
        if (slash < Math.min(shared, MAX_KNOWN_LENGTH) && noRefs.size() < MAX_KNOWN) {
          noRefs.add(folder);
        }
      }
      if (slash >= shared) {
        return folder + '/';
      }
    }
    return below;
  }

  /**
   * Returns how many refs precede a name, in the order of {@link String#compareTo(String)} that
   * JGit uses everywhere. The file must have this order ({@link Root#inStringOrder}).
   */
  public int rank(String name) {
    int at = search(name);
    return at < 0 ? -1 - at : at;
  }

  /**
   * Returns the position of a ref in that order, or -1 - {@link #rank} if there is no such ref.
   * Costs one search.
   */
  public int search(String name) {
    Preconditions.checkState(root.inStringOrder, "the list has another order");
    Target bound = Names.ascendAlike(name) ? Target.of(name) : null;
    if (bound != null) {
      return place(bound);
    }
    int rank = BinarySearch.first(0, size(), i -> get(i).getName().compareTo(name) >= 0);
    return rank < size() && get(rank).getName().equals(name) ? rank : -1 - rank;
  }

  /** Like {@link #search}, in the order of the file. */
  private int place(Target bound) {
    int block = root.blockOf(bound);
    if (block < 0) {
      return -1;
    }
    BlockView view = open(block);
    boolean found = view.find(bound);
    int place = root.refsBefore(block) + view.index;
    return found ? place : -1 - place;
  }

  /** Returns the ref at a place in the file. */
  Ref get(int place) {
    Objects.checkIndex(place, size());
    int block = blockAt(place);
    int index = place - root.refsBefore(block);
    Ref[] known = memory.refObjects(blocks[block]);
    return known != null ? known[index] : make(block, index, 1)[0];
  }

  /** Makes some refs of a block. */
  private Ref[] make(int block, int index, int count) {
    Ref[] refs = new Ref[count];
    BlockView view = open(block);
    view.seek(index);
    for (int i = 0; i < count; i++) {
      refs[i] = view.ref(view.name());
      view.advance();
    }
    return refs;
  }

  private int blockAt(int place) {
    return BinarySearch.first(1, root.blocks, i -> root.refsBefore(i) > place) - 1;
  }

  /** Returns all refs in JGit's order, as {@link #refs(String)} does. */
  public List<Ref> refs() {
    return inOrder(new Range(0, size()));
  }

  /**
   * Returns the refs whose names start with a prefix, in order.
   *
   * <p>A few refs are read at once. Many refs are read during the iteration, so a caller that only
   * needs their number does not pay for more.
   */
  public List<Ref> refs(String prefix) {
    if (prefix.isEmpty()) {
      return refs();
    }
    if (size() == 0) {
      return List.of();
    }
    Target target = Target.of(prefix);
    if (target == null) {
      // Names only match if the lone surrogate is the first half of a character at the end.
      String whole = prefix.substring(0, prefix.length() - 1);
      return Target.of(whole) == null
          ? List.of()
          : refs(whole).stream().filter(ref -> ref.getName().startsWith(prefix)).toList();
    }
    int block = Math.max(0, root.blockOf(target));
    BlockView view = open(block);
    boolean unused = view.find(target);
    int from = root.refsBefore(block) + view.index;
    List<Ref> few = new ArrayList<>(4);
    for (view.seek(view.index); view.index < view.count; view.advance()) {
      if (!view.nameStartsWith(target)) {
        return Collections.unmodifiableList(inOrder(few));
      }
      if (few.size() == MAX_REFS_AT_ONCE) {
        break;
      }
      few.add(view.ref(view.name()));
    }
    return inOrder(new Range(from, -1 - place(target.afterAll())));
  }

  /**
   * Returns the refs with an id or peeled id whose names are between two, in order. They are made
   * block by block, as the caller takes them, so the cost grows with what is taken. Only the first
   * call for a list reads all ids, unless they have been {@linkplain #indexIfLarge indexed} before.
   *
   * @param end is greater than the last name
   */
  public Stream<Ref> pointingTo(AnyObjectId id, String first, String end) {
    if (size() == 0) {
      return Stream.empty();
    }
    int[] words = new int[Constants.OBJECT_ID_LENGTH / Integer.BYTES];
    id.copyRawTo(words, 0);
    long start = ((long) words[0] << Integer.SIZE) | (words[1] & 0xFFFFFFFFL);
    IdIndex index = ids();
    boolean isPlaced = root.inStringOrder && Names.ascendAlike(first);
    int from = isPlaced ? Math.max(0, root.blockOf(Target.of(first))) : 0;
    IntStream blocks = index == null ? IntStream.range(from, root.blocks) : index.find(start, from);
    Stream<Ref> refs =
        blocks
            .boxed()
            .flatMap(block -> pointingTo(words, block).stream())
            .filter(ref -> ref.getName().compareTo(first) >= 0);
    Stream<Ref> inOrder = root.inStringOrder ? refs : refs.sorted(RefComparator.INSTANCE);
    return inOrder.takeWhile(ref -> ref.getName().compareTo(end) < 0);
  }

  private List<Ref> pointingTo(int[] id, int block) {
    List<Ref> refs = new ArrayList<>();
    BlockView view = open(block);
    for (view.first(); view.index < view.count; view.skip()) {
      if (view.pointsTo(id)) {
        view.seek(view.index);
        refs.add(view.ref(view.name()));
      }
    }
    return refs;
  }

  /** Returns the index of ids; null if all blocks have to be read. */
  @Nullable
  private IdIndex ids() {
    IdIndex known = ids;
    return known != null || !isWorthAnIndex() ? known : makeIds();
  }

  private boolean isWorthAnIndex() {
    return blocks() > IdIndex.MAX_UNINDEXED_BLOCKS && memory.mayIndexIds(this);
  }

  /** Makes the index. Others wait, as reading all blocks would take them about as long. */
  @Nullable
  private synchronized IdIndex makeIds() {
    if (ids == null && isWorthAnIndex()) {
      ids = memory.makeSpare(() -> IdIndex.of(this, memory));
    }
    return ids;
  }

  /**
   * Makes the index of a large list, so that the first who asks need not wait for all of it: it
   * takes 0.1 s for each million refs. Does nothing if there is no memory.
   */
  void indexIfLarge() {
    if (blocks() >= LARGE_BLOCKS) {
      var unused = ids();
    }
  }

  /** The index of ids; null if there is none. */
  @Nullable
  IdIndex idIndex() {
    return ids;
  }

  /**
   * Returns refs in JGit's order. If that is another than the file's, they are read and sorted at
   * once. This concerns only the few repositories whose names have both characters from U+E000 to
   * U+FFFF and characters behind them.
   */
  private List<Ref> inOrder(List<Ref> inTheFile) {
    return root.inStringOrder
        ? inTheFile
        : inTheFile.stream().sorted(RefComparator.INSTANCE).toList();
  }

  /**
   * Returns the place behind a block; -1 if this list does not have it.
   *
   * @param firstName of the block
   */
  int behind(Block block, byte[] firstName) {
    int place = root.blockOf(new Target(firstName, firstName.length));
    return place >= 0 && blocks[place] == block ? place + 1 : -1;
  }

  /** Opens a block of this list. */
  BlockView open(int block) {
    return new BlockView(blocks[block].memory);
  }

  /** The refs of a range, block by block. For one thread. */
  private final class Blocks {
    /** The place of the next ref to read. */
    private int next;

    private final int end;

    /** The current block's refs, of which those from {@code at} to {@code to} are in the range. */
    private Ref[] refs = {};

    private int at;
    private int to;

    Blocks(int from, int end) {
      this.next = from;
      this.end = end;
    }

    boolean hasNext() {
      return next < end;
    }

    /** Reads refs to the end of their block or of the range. */
    void read() {
      int block = blockAt(next);
      int first = root.refsBefore(block);
      int inBlock = root.refsBefore(block + 1) - first;
      int index = next - first;
      int count = Math.min(end - first, inBlock) - index;
      next += count;
      Ref[] known = memory.refObjects(blocks[block]);
      // Not for a few refs, such as those of a change. A list with loose refs comes in parts.
      if (known == null && 4 * count >= inBlock && memory.mayKeepRefs(size())) {
        known = make(block, 0, inBlock);
        memory.keep(blocks[block], known);
      }
      refs = known != null ? known : make(block, index, count);
      at = known != null ? index : 0;
      to = at + count;
    }
  }

  /**
   * A range of the refs in the order of the file, which are made one by one, or block by block in
   * an iteration. The class is not {@link java.util.RandomAccess} although access is quick, as
   * streams would then read the refs one by one.
   */
  private final class Range extends AbstractList<Ref> {
    private final int from;
    private final int to;

    Range(int from, int to) {
      this.from = from;
      this.to = to;
    }

    @Override
    public int size() {
      return to - from;
    }

    @Override
    public Ref get(int index) {
      return ParsedRefs.this.get(from + Objects.checkIndex(index, size()));
    }

    @Override
    public List<Ref> subList(int fromIndex, int toIndex) {
      Objects.checkFromToIndex(fromIndex, toIndex, size());
      return new Range(from + fromIndex, from + toIndex);
    }

    /** Copies whole blocks, as most users of all refs copy them into a list of their own. */
    @Override
    public Object[] toArray() {
      Object[] all = new Object[size()];
      int count = 0;
      for (Blocks blocks = new Blocks(from, to); blocks.hasNext(); ) {
        blocks.read();
        System.arraycopy(blocks.refs, blocks.at, all, count, blocks.to - blocks.at);
        count += blocks.to - blocks.at;
      }
      return all;
    }

    @Override
    public Iterator<Ref> iterator() {
      return new Iterator<>() {
        private final Blocks blocks = new Blocks(from, to);

        @Override
        public boolean hasNext() {
          return blocks.at < blocks.to || blocks.hasNext();
        }

        @Override
        public Ref next() {
          if (blocks.at == blocks.to) {
            if (!blocks.hasNext()) {
              throw new NoSuchElementException();
            }
            blocks.read();
          }
          return blocks.refs[blocks.at++];
        }
      };
    }
  }
}
