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

package com.googlesource.gerrit.modules.cache.chroniclemap.transport;

import com.google.common.collect.ForwardingSortedSet;
import com.google.common.collect.Iterators;
import java.util.Iterator;
import java.util.SortedSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jgit.lib.Ref;

/** Refs in the order of names, as the module's databases find them by an id, which counts reads. */
final class CountedRefs extends ForwardingSortedSet<Ref> {
  private final SortedSet<Ref> refs;
  private final AtomicInteger read;

  CountedRefs(SortedSet<Ref> refs, AtomicInteger read) {
    this.refs = refs;
    this.read = read;
  }

  @Override
  protected SortedSet<Ref> delegate() {
    return refs;
  }

  @Override
  public Iterator<Ref> iterator() {
    return Iterators.filter(refs.iterator(), ref -> read.incrementAndGet() > 0);
  }

  @Override
  public SortedSet<Ref> subSet(Ref from, Ref to) {
    return new CountedRefs(refs.subSet(from, to), read);
  }
}
