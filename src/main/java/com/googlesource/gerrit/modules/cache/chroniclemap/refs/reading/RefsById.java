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
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
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
    return new Tips(id, named(""), named("\uffff"));
  }

  private static Ref named(String name) {
    return new ObjectIdRef.Unpeeled(Ref.Storage.NEW, name, null);
  }

  /**
   * The refs with an id, some of which a caller may take without reading the others: the first
   * ones, by iteration, or those between two names, by {@link #subSet}. For one thread.
   */
  private final class Tips extends ForwardingSortedSet<Ref> {
    private final ObjectId id;
    private final Ref first;
    private final Ref end;

    /** Null until a caller needs all, as for their number. */
    @Nullable private SortedSet<Ref> all;

    Tips(ObjectId id, Ref first, Ref end) {
      this.id = id;
      this.first = first;
      this.end = end;
    }

    @Override
    protected SortedSet<Ref> delegate() {
      if (all == null) {
        SortedSet<Ref> read = new TreeSet<>(RefComparator.INSTANCE);
        iterator().forEachRemaining(read::add);
        all = read;
      }
      return all;
    }

    @Override
    public Iterator<Ref> iterator() {
      if (all != null) {
        return all.iterator();
      }
      Iterator<Ref> inPacked =
          packed
              .pointingTo(id, first.getName(), end.getName())
              .filter(ref -> !hidden.contains(ref.getName()))
              .iterator();
      SortedSet<Ref> others = over.get(id);
      return others == null
          ? inPacked
          : Iterators.mergeSorted(
              List.of(others.subSet(first, end).iterator(), inPacked), RefComparator.INSTANCE);
    }

    @Override
    public boolean isEmpty() {
      return !iterator().hasNext();
    }

    @Override
    public SortedSet<Ref> subSet(Ref from, Ref to) {
      return new Tips(id, from, to);
    }
  }
}
