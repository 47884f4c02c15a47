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

import java.util.AbstractList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.eclipse.jgit.lib.Ref;

/**
 * Few refs laid over many: a list in the order of names where a ref of the first list hides one of
 * the same name in the second. The second is read only where it is asked for. Immutable.
 */
final class MergedRefs extends AbstractList<Ref> {
  private final Ref[] over;

  /** Where in this list each ref of {@link #over} stands. */
  private final int[] positions;

  /** How many refs each of {@link #over}, and those before, hide. */
  private final int[] hidden;

  private final List<Ref> under;

  /**
   * Lays refs over others.
   *
   * @param over in order of names, which are different
   * @param places where in {@code under} the name of each stands; if it does not, -1 - where it
   *     would
   */
  MergedRefs(List<Ref> over, int[] places, List<Ref> under) {
    this.over = over.toArray(Ref[]::new);
    this.under = under;
    positions = new int[this.over.length];
    hidden = new int[this.over.length];
    int hides = 0;
    for (int i = 0; i < positions.length; i++) {
      int place = places[i] < 0 ? -1 - places[i] : places[i];
      positions[i] = place + i - hides;
      if (places[i] >= 0) {
        hides++;
      }
      hidden[i] = hides;
    }
  }

  @Override
  public int size() {
    int count = over.length;
    return under.size() + count - (count == 0 ? 0 : hidden[count - 1]);
  }

  @Override
  public Ref get(int index) {
    if (index < 0 || index >= size()) {
      throw new IndexOutOfBoundsException(index);
    }
    int at = Arrays.binarySearch(positions, index);
    if (at >= 0) {
      return over[at];
    }
    int before = -1 - at;
    return under.get(index - before + (before == 0 ? 0 : hidden[before - 1]));
  }

  @Override
  public Iterator<Ref> iterator() {
    return new Iterator<>() {
      private final Iterator<Ref> below = under.iterator();
      private final int end = size();
      private int index;
      private int next;

      @Override
      public boolean hasNext() {
        return index < end;
      }

      @Override
      public Ref next() {
        if (index >= end) {
          throw new NoSuchElementException();
        }
        int at = index++;
        if (next == over.length || positions[next] != at) {
          return below.next();
        }
        if (hidden[next] > (next == 0 ? 0 : hidden[next - 1])) {
          below.next();
        }
        return over[next++];
      }
    };
  }
}
