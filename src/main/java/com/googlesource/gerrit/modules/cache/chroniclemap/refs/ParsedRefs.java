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

import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.RandomAccess;
import java.util.function.Consumer;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.AnyObjectId;
import org.eclipse.jgit.lib.Ref;

/**
 * The refs of one {@code packed-refs} content, as JGit's RefDirectory would read them: immutable,
 * in JGit's order, held off-heap in blocks.
 *
 * <p>Only refs that are asked for become objects. Any thread may ask; nothing waits.
 */
final class ParsedRefs {
  private final HeldBlocks held;
  private final Root root;

  ParsedRefs(Root root, HeldBlocks held) {
    this.held = held;
    this.root = root;
  }

  Root root() {
    return root;
  }

  /** The blocks. */
  HeldBlocks held() {
    return held;
  }

  /** Identity of the content. */
  ContentDigest digest() {
    return root.digest();
  }

  /** Number of refs. */
  int size() {
    return root.refs();
  }

  /** Bytes of the {@code packed-refs} file. */
  long textBytes() {
    return root.textBytes();
  }

  /** Number of blocks. */
  int blocks() {
    return root.blocks();
  }

  /** Bytes of the blocks. */
  long blockBytes() {
    long bytes = 0;
    for (int i = 0; i < blocks(); i++) {
      bytes += held.slab(i).lengthAt(held.start(i));
    }
    return bytes;
  }

  /** Bytes of direct memory that this list takes beside its blocks. */
  int rootBytes() {
    return root.bytes().limit();
  }

  /** Returns the ref of that name, or null. */
  @Nullable
  Ref exactRef(String name) {
    Lookup lookup = Lookup.start(name);
    if (lookup == null || !find(lookup, Lookup.Task.REF)) {
      return null;
    }
    return lookup.takeRef();
  }

  /** Returns whether there is a ref of that name. */
  boolean contains(String name) {
    Lookup lookup = Lookup.start(name);
    return lookup != null && find(lookup, Lookup.Task.FIND);
  }

  private boolean find(Lookup lookup, Lookup.Task task) {
    int block = blockOf(lookup);
    return block >= 0 && read(block, lookup, task).found();
  }

  /**
   * Returns how many refs come before a name.
   *
   * <p>Order is that of {@link String#compareTo(String)}, as everywhere in JGit.
   */
  int rank(String name) {
    Lookup bound = Lookup.startBound(name, false);
    return bound != null ? rank(bound) : rankByChars(name);
  }

  /** For names that no bytes stand for. */
  private int rankByChars(String name) {
    int low = 0;
    int high = size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (get(middle).getName().compareTo(name) < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** How many refs come before all that start so, or those and all that start so. */
  private int rank(Lookup bound) {
    int block = blockOf(bound);
    return block < 0 ? 0 : root.first(block) + read(block, bound, Lookup.Task.PLACE).index();
  }

  /** Returns the ref at a position in the order of names. */
  Ref get(int position) {
    int block = blockAt(position);
    Lookup lookup = Lookup.start();
    lookup.collect(position - root.first(block), 1, Collections.emptyList());
    read(block, lookup, Lookup.Task.REF_AT);
    return lookup.takeRef();
  }

  private int blockAt(int position) {
    if (position < 0 || position >= size()) {
      throw new IndexOutOfBoundsException(position);
    }
    int low = 0;
    int high = root.blocks();
    while (low + 1 < high) {
      int middle = (low + high) >>> 1;
      if (root.first(middle) <= position) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** Returns all refs, read while they are walked through. */
  List<Ref> refs() {
    return new Range(0, size());
  }

  /**
   * Returns the refs whose names start so, in order.
   *
   * <p>Few are read at once; many are read while they are walked through, so a caller that needs
   * only whether there are any, or how many, pays for no more.
   */
  List<Ref> refs(String prefix) {
    if (prefix.isEmpty()) {
      return refs();
    }
    if (size() == 0) {
      return List.of();
    }
    Lookup lookup = Lookup.startBound(prefix, false);
    if (lookup == null) {
      // A prefix may end with the first half of a character; else nothing starts so.
      int from = rank(prefix);
      int to = from;
      while (to < size() && get(to).getName().startsWith(prefix)) {
        to++;
      }
      return new Range(from, to);
    }
    int block = Math.max(0, blockOf(lookup));
    List<Ref> few = new ArrayList<>(4);
    lookup.collect(0, Lookup.FEW, few);
    if (read(block, lookup, Lookup.Task.PREFIX).atEnd()) {
      return Collections.unmodifiableList(few);
    }
    int from = root.first(block) + lookup.index();
    return new Range(from, rank(Lookup.startBound(prefix, true)));
  }

  /** Calls back for each ref whose id or peeled id is this one, in order. Reads all ids. */
  void pointingTo(AnyObjectId id, Consumer<Ref> found) {
    List<Ref> refs = new ArrayList<>();
    for (int block = 0; block < root.blocks() && size() > 0; block++) {
      Lookup lookup = Lookup.start();
      lookup.collectTips(id, refs);
      read(block, lookup, Lookup.Task.TIPS);
      refs.forEach(found);
      refs.clear();
    }
  }

  /** Block that has the name, if any has; -1 if it comes before all. */
  private int blockOf(Lookup lookup) {
    return size() == 0 ? -1 : root.blockOf(lookup.target(), lookup.length());
  }

  private Lookup read(int block, Lookup lookup, Lookup.Task task) {
    lookup.run(task, held.slab(block).memory, held.start(block));
    return lookup;
  }

  /** Reads refs from a position to the end of its block, or to another position. */
  private int readSome(int position, int end, List<Ref> target) {
    int block = blockAt(position);
    int first = root.first(block);
    int count = Math.min(end, root.first(block + 1)) - position;
    Lookup lookup = Lookup.start();
    lookup.collect(position - first, count, target);
    read(block, lookup, Lookup.Task.REFS);
    return count;
  }

  /** Some of the refs, made one by one, or block by block when walked through. */
  private final class Range extends AbstractList<Ref> implements RandomAccess {
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
      if (index < 0 || index >= size()) {
        throw new IndexOutOfBoundsException(index);
      }
      return ParsedRefs.this.get(from + index);
    }

    @Override
    public List<Ref> subList(int fromIndex, int toIndex) {
      if (fromIndex < 0 || toIndex > size() || fromIndex > toIndex) {
        throw new IndexOutOfBoundsException("from " + fromIndex + " to " + toIndex);
      }
      return new Range(from + fromIndex, from + toIndex);
    }

    @Override
    public Iterator<Ref> iterator() {
      return new Iterator<>() {
        private final List<Ref> ahead = new ArrayList<>();
        private int at;
        private int next = from;

        @Override
        public boolean hasNext() {
          return at < ahead.size() || next < to;
        }

        @Override
        public Ref next() {
          if (at == ahead.size()) {
            if (next >= to) {
              throw new NoSuchElementException();
            }
            ahead.clear();
            at = 0;
            next += readSome(next, to, ahead);
          }
          return ahead.get(at++);
        }
      };
    }
  }
}
