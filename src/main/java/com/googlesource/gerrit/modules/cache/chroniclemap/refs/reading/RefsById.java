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

import com.google.common.collect.ForwardingSortedSet;
import com.google.common.collect.Iterators;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefComparator;

/**
 * The refs of one moment, to be looked up by object id. Construction costs a scan of the loose
 * refs. A lookup costs about a microsecond for any number of packed refs, and the result is read as
 * the caller takes it.
 *
 * <p>Immutable. Any thread may read.
 */
final class RefsById {
  private static final SortedSet<Ref> NONE = new TreeSet<>(RefComparator.INSTANCE);

  private final ParsedRefs packed;

  /** The refs that hide packed refs of the same name, by id and by peeled id. */
  private final Map<ObjectId, SortedSet<Ref>> over = new HashMap<>();

  private final Set<String> hidden = new HashSet<>();

  RefsById(ParsedRefs packed, List<Ref> overPacked) {
    this.packed = packed;
    for (Ref ref : overPacked) {
      hidden.add(ref.getName());
      add(ref.getObjectId(), ref);
      add(ref.getPeeledObjectId(), ref);
    }
  }

  private void add(@Nullable ObjectId id, Ref ref) {
    if (id != null) {
      over.computeIfAbsent(id, unused -> new TreeSet<>(RefComparator.INSTANCE)).add(ref);
    }
  }

  /** Returns the refs with an id or peeled id, in the order of names. */
  SortedSet<Ref> of(ObjectId id) {
    return between(named(""), named("\uffff"), id);
  }

  private static Ref named(String name) {
    return new ObjectIdRef.Unpeeled(Ref.Storage.NEW, name, null);
  }

  /**
   * Returns those between two names, some of which a caller may take without reading the others:
   * the first ones, by iteration, or a part, by {@link SortedSet#subSet}. For one thread.
   */
  private SortedSet<Ref> between(Ref first, Ref end, ObjectId id) {
    return new ForwardingSortedSet<>() {
      /** Null until a caller needs all, as for their number. */
      @Nullable private SortedSet<Ref> all;

      @Override
      protected SortedSet<Ref> delegate() {
        if (all == null) {
          SortedSet<Ref> read = new TreeSet<>(RefComparator.INSTANCE);
          Iterators.addAll(read, iterator());
          all = read;
        }
        return all;
      }

      @Override
      public Iterator<Ref> iterator() {
        if (all != null) {
          return all.iterator();
        }
        Stream<Ref> inPacked = packed.pointingTo(id, first.getName(), end.getName());
        return Iterators.mergeSorted(
            List.of(
                over.getOrDefault(id, NONE).subSet(first, end).iterator(),
                inPacked.filter(ref -> !hidden.contains(ref.getName())).iterator()),
            RefComparator.INSTANCE);
      }

      /** Tells the order without reading all. */
      @Override
      public Comparator<Ref> comparator() {
        return RefComparator.INSTANCE;
      }

      @Override
      public SortedSet<Ref> subSet(Ref from, Ref to) {
        return between(from, to, id);
      }
    };
  }
}
