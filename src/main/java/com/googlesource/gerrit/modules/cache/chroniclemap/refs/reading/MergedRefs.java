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

import com.google.common.collect.Iterables;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.BinarySearch;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import org.eclipse.jgit.lib.Ref;

/**
 * A list of some refs merged over the packed refs of a prefix, in the order of names: parts of the
 * packed refs, which are read on demand, and the other refs between them. Each upper ref hides the
 * packed ref of its name. An upper ref without an object is not in the list itself.
 *
 * <p>Construction costs a search in the packed refs for each upper ref. An iteration costs a step
 * for each ref, and the lookup of a place a binary search. Immutable.
 */
final class MergedRefs extends AbstractList<Ref> {
  /** None is empty. */
  final List<List<Ref>> parts = new ArrayList<>();

  /** The place in this list behind each part. */
  private final List<Integer> ends = new ArrayList<>();

  /**
   * Merges refs over packed ones.
   *
   * @param upper refs with distinct names, sorted, that start with the prefix
   */
  MergedRefs(List<Ref> upper, ParsedRefs packed, String prefix) {
    List<Ref> under = packed.refs(prefix);
    int first = packed.rank(prefix);
    int next = 0;
    List<Ref> between = new ArrayList<>();
    for (Ref ref : upper) {
      int found = packed.search(ref.getName());
      int place = (found < 0 ? -1 - found : found) - first;
      if (place > next) {
        add(between);
        add(under.subList(next, place));
        between = new ArrayList<>();
      }
      if (ref.getObjectId() != null) {
        between.add(ref);
      }
      next = found < 0 ? place : place + 1;
    }
    add(between);
    add(under.subList(next, under.size()));
  }

  /** Makes a list of parts of another one. */
  private MergedRefs(MergedRefs whole, int from, int to) {
    for (int i = whole.partAt(from); i < whole.parts.size() && whole.start(i) < to; i++) {
      List<Ref> part = whole.parts.get(i);
      int start = whole.start(i);
      add(part.subList(Math.max(0, from - start), Math.min(part.size(), to - start)));
    }
  }

  private void add(List<Ref> part) {
    if (!part.isEmpty()) {
      ends.add(size() + part.size());
      parts.add(part);
    }
  }

  private int start(int part) {
    return part == 0 ? 0 : ends.get(part - 1);
  }

  /** Returns the number of the part with a place. */
  private int partAt(int place) {
    return BinarySearch.first(0, parts.size(), i -> ends.get(i) > place);
  }

  @Override
  public int size() {
    return start(parts.size());
  }

  @Override
  public Ref get(int index) {
    int part = partAt(Objects.checkIndex(index, size()));
    return parts.get(part).get(index - start(part));
  }

  /** Returns a part, whose iteration reads packed refs by blocks as that of the whole does. */
  @Override
  public List<Ref> subList(int from, int to) {
    Objects.checkFromToIndex(from, to, size());
    return new MergedRefs(this, from, to);
  }

  @Override
  public Iterator<Ref> iterator() {
    return Iterables.unmodifiableIterable(Iterables.concat(parts)).iterator();
  }
}
