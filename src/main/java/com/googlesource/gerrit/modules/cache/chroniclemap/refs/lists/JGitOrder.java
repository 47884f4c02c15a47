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

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * JGit's order of a list whose file is sorted by bytes, as native git sorts, and whose names are
 * not in JGit's order. It consists of runs of refs that are contiguous in both orders.
 *
 * <p>The two orders differ by swaps. Of the names with a common start, those that continue with a
 * byte EE or EF precede those that continue with F0 to F4 by bytes, and follow them by UTF-16
 * units. Each swap shows in one pair of neighbours in the file. The root marks the blocks with such
 * pairs, so only these blocks are read. The cost grows with the number of swaps.
 */
final class JGitOrder {
  private record Swap(int from, int middle, int to) {}

  /** The start of each run in JGit's order, followed by the end of the last run. */
  private int[] starts = new int[8];

  /** The start of each run in the file. */
  private int[] places = new int[8];

  int runs;

  private JGitOrder() {}

  /** Finds the runs of a list that is sorted by bytes. */
  static JGitOrder of(ParsedRefs list) {
    List<Swap> swaps = swaps(list);
    // A swap within another one comes after that one.
    swaps.sort(
        Comparator.comparingInt(Swap::from).thenComparing(Comparator.comparingInt(s -> -s.to)));
    JGitOrder order = new JGitOrder();
    order.add(swaps, 0, list.size());
    order.starts = Arrays.copyOf(order.starts, order.runs + 1);
    order.places = Arrays.copyOf(order.places, order.runs);
    return order;
  }

  private static List<Swap> swaps(ParsedRefs list) {
    Root root = list.root;
    List<Swap> swaps = new ArrayList<>();
    BlockView view = new BlockView();
    byte[] before = {};
    for (int block = 0; block < root.blocks; block++) {
      int flags = root.pairs(block);
      if ((NamePairs.any(flags) & NamePairs.BYTES_ONLY) == 0) {
        continue;
      }
      int beforeLength = 0;
      if (NamePairs.isFirstByBytesOnly(flags)) {
        list.open(view, block - 1);
        view.seek(view.count - 1);
        before = Arrays.copyOf(view.nameBytes(), view.nameLength);
        beforeLength = before.length;
      }
      list.open(view, block);
      for (view.seek(0); view.index < view.count; view.advance()) {
        byte[] name = view.nameBytes();
        int same = Arrays.mismatch(before, 0, beforeLength, name, 0, view.nameLength);
        if (same >= 0
            && same < beforeLength
            && NamePairs.of(before[same], name[same]) == NamePairs.BYTES_ONLY) {
          swaps.add(
              new Swap(
                  list.place(Lookup.startBound(name, same, Names.FIRST_REORDERED)),
                  root.first(block) + view.index,
                  list.place(Lookup.startBound(name, same, Names.AFTER_ALL))));
        }
        beforeLength = view.nameLength;
        if (before.length < beforeLength) {
          before = new byte[2 * beforeLength];
        }
        System.arraycopy(name, 0, before, 0, beforeLength);
      }
    }
    return swaps;
  }

  /** Adds the refs between two places in the file, given the swaps between them. */
  private void add(List<Swap> swaps, int from, int to) {
    int place = from;
    int next = 0;
    while (next < swaps.size()) {
      Swap swap = swaps.get(next);
      int middle = first(swaps, next + 1, swap.middle);
      int after = first(swaps, middle, swap.to);
      addRun(place, swap.from);
      add(swaps.subList(middle, after), swap.middle, swap.to);
      add(swaps.subList(next + 1, middle), swap.from, swap.middle);
      place = swap.to;
      next = after;
    }
    addRun(place, to);
  }

  /** The first swap, from an index on, that starts at a place or behind. */
  private static int first(List<Swap> swaps, int from, int place) {
    int low = from;
    int high = swaps.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (swaps.get(middle).from < place) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  private void addRun(int from, int to) {
    if (from == to) {
      return;
    }
    if (runs + 1 == starts.length) {
      starts = Arrays.copyOf(starts, 2 * starts.length);
      places = Arrays.copyOf(places, 2 * places.length);
    }
    places[runs] = from;
    starts[runs + 1] = starts[runs] + to - from;
    runs++;
  }

  /** The start of a run in JGit's order. For {@link #runs}, the end of the last run. */
  int start(int run) {
    return starts[run];
  }

  /** The start of a run in the file. */
  int place(int run) {
    return places[run];
  }

  int length(int run) {
    return starts[run + 1] - starts[run];
  }

  /** The run with a position in JGit's order. */
  int runAt(int position) {
    int at = Arrays.binarySearch(starts, position);
    return at >= 0 ? at : -at - 2;
  }
}
