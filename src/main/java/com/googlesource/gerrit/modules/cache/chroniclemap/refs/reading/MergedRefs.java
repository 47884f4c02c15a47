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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.BinarySearch;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import java.util.AbstractList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
import org.eclipse.jgit.lib.Ref;

/**
 * A list of some refs merged over the packed refs of a prefix, in the order of names. Each upper
 * ref hides the packed ref of its name. An upper ref without an object is not in the list itself.
 * Packed refs are read on demand.
 *
 * <p>Construction costs a search in the packed refs for each upper ref. An iteration costs a step
 * for each ref. Immutable.
 */
final class MergedRefs extends AbstractList<Ref> {
  final List<Ref> under;
  private final Ref[] over;

  /** Whether each of {@link #over} hides a packed ref. */
  private final boolean[] hides;

  /** The position of each of {@link #over} in this list, or of the next ref if it is not in it. */
  private final int[] positions;

  /** The difference of positions in {@link #under} and in this list, behind each upper ref. */
  private final int[] shifts;

  private int count;

  /**
   * Merges refs over packed ones.
   *
   * @param upper refs with distinct names, sorted, that start with the prefix
   */
  MergedRefs(List<Ref> upper, ParsedRefs packed, String prefix) {
    under = packed.refs(prefix);
    over = new Ref[upper.size()];
    hides = new boolean[over.length];
    positions = new int[over.length];
    shifts = new int[over.length];
    int first = packed.rank(prefix);
    int shift = 0;
    for (Ref ref : upper) {
      int found = packed.search(ref.getName());
      int place = (found < 0 ? -1 - found : found) - first;
      boolean shows = ref.getObjectId() != null;
      if (shows || found >= 0) {
        over[count] = ref;
        hides[count] = found >= 0;
        positions[count] = place - shift;
        shift += (found >= 0 ? 1 : 0) - (shows ? 1 : 0);
        shifts[count++] = shift;
      }
    }
  }

  @Override
  public int size() {
    return under.size() - (count == 0 ? 0 : shifts[count - 1]);
  }

  @Override
  public Ref get(int index) {
    Objects.checkIndex(index, size());
    // The last upper ref at or before the index.
    int at = upperBefore(index + 1) - 1;
    if (at < 0) {
      return under.get(index);
    }
    return positions[at] == index && over[at].getObjectId() != null
        ? over[at]
        : under.get(index + shifts[at]);
  }

  /** Returns how many upper refs have a position before an index. */
  private int upperBefore(int index) {
    return BinarySearch.first(0, count, i -> positions[i] >= index);
  }

  @Override
  public Iterator<Ref> iterator() {
    return iterator(0, size());
  }

  /** Returns a part, whose iteration reads packed refs by blocks as that of the whole does. */
  @Override
  public List<Ref> subList(int from, int to) {
    Objects.checkFromToIndex(from, to, size());
    return new AbstractList<>() {
      @Override
      public int size() {
        return to - from;
      }

      @Override
      public Ref get(int index) {
        return MergedRefs.this.get(from + Objects.checkIndex(index, size()));
      }

      @Override
      public Iterator<Ref> iterator() {
        return MergedRefs.this.iterator(from, to);
      }
    };
  }

  private Iterator<Ref> iterator(int from, int end) {
    int first = upperBefore(from);
    int start = from + (first == 0 ? 0 : shifts[first - 1]);
    return new Iterator<>() {
      private final Iterator<Ref> below = under.subList(start, under.size()).iterator();
      private int index = from;
      private int next = first;

      @Override
      public boolean hasNext() {
        return index < end;
      }

      @Override
      public Ref next() {
        if (index >= end) {
          throw new NoSuchElementException();
        }
        while (next < count && positions[next] == index) {
          int at = next++;
          if (hides[at]) {
            below.next();
          }
          if (over[at].getObjectId() != null) {
            index++;
            return over[at];
          }
        }
        index++;
        return below.next();
      }
    };
  }
}
