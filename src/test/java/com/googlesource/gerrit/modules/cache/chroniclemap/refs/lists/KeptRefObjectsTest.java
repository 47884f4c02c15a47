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

import static com.google.common.truth.Truth.assertThat;

import com.google.common.base.Ticker;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.eclipse.jgit.lib.Ref;
import org.junit.jupiter.api.Test;

/** Ref objects that are made once for all readers of a list. */
class KeptRefObjectsTest {
  private static final int REFS = 5000;

  private long nanos;
  private final ListMemory memory =
      new ListMemory(
          1 << 30,
          ByteBuffer::allocateDirect,
          new Ticker() {
            @Override
            public long read() {
              return nanos;
            }
          },
          System::gc);
  private final Lists lists = new Lists();
  private final ParsedRefs list = hold(lists.parse(memory, Lists.text(1, REFS), null));

  private ParsedRefs hold(ParsedRefs list) {
    return memory.hold(new Lists.Holder(), list, new ArrayList<>());
  }

  private static Set<Ref> objects(Iterable<Ref> refs) {
    Set<Ref> objects = Collections.newSetFromMap(new IdentityHashMap<>());
    refs.forEach(objects::add);
    return objects;
  }

  @Test
  void allWaysToReadAListGiveTheSameObjects() {
    Set<Ref> first = objects(list.refs());
    assertThat(first).hasSize(list.size());
    assertThat(memory.refObjectBytes()).isEqualTo((long) list.size() * ListMemory.BYTES_A_REF);
    List<Ref> looped = new ArrayList<>();
    for (Ref ref : list.refs()) {
      looped.add(ref);
    }
    assertThat(objects(looped)).isEqualTo(first);
    assertThat(objects(new ArrayList<>(list.refs()))).isEqualTo(first);
    assertThat(objects(list.refs().stream().collect(Collectors.toList()))).isEqualTo(first);
    assertThat(first).containsAtLeastElementsIn(objects(list.refs("refs/changes/")));
    assertThat(first).contains(list.get(77));
    assertThat(objects(list.refs().subList(3, 3000))).hasSize(2997);
    assertThat(list.refs().subList(3, 3000)).isEqualTo(looped.subList(3, 3000));
    assertThat(Arrays.asList(list.refs().toArray())).isEqualTo(looped);
  }

  /** Or they would cost the heap of their neighbours. */
  @Test
  void fewRefsAreNotKept() {
    Ref ref = list.get(77);
    assertThat(objects(list.refs(ref.getName()))).isNotEmpty();
    assertThat(objects(list.refs().subList(5, 10))).hasSize(5);
    assertThat(list.exactRef(ref.getName())).isNotNull();
    assertThat(memory.refObjectBytes()).isEqualTo(0);
  }

  /** Between two loose refs of a block, for example. */
  @Test
  void partsOfABlockShareItsRefs() {
    Set<Ref> first = objects(list.refs().subList(0, 150));
    long bytes = memory.refObjectBytes();
    assertThat(bytes).isGreaterThan(0L);
    assertThat(bytes).isLessThan(500L * ListMemory.BYTES_A_REF);
    assertThat(objects(list.refs().subList(20, 30))).hasSize(10);
    assertThat(memory.refObjectBytes()).isEqualTo(bytes);
    assertThat(objects(list.refs())).containsAtLeastElementsIn(first);
  }

  @Test
  void listsShareThoseOfEqualBlocks() {
    Set<Ref> before = objects(list.refs());
    byte[] text = Lists.textWith(1, REFS, "refs/heads/one-more");
    ParsedRefs next = lists.parse(memory, text, list);
    Set<Ref> after = objects(next.refs());
    after.removeAll(before);
    // One or two blocks have changed.
    assertThat(after).isNotEmpty();
    assertThat(after.size()).isLessThan(500);
    lists.assertIs(next, text);
  }

  @Test
  void objectsThatNobodyUsesAreForgotten() {
    Set<Ref> first = objects(list.refs());
    nanos += TimeUnit.SECONDS.toNanos(599);
    assertThat(objects(list.refs())).isEqualTo(first);
    nanos += TimeUnit.SECONDS.toNanos(599);
    memory.tick();
    assertThat(memory.refObjectBytes()).isGreaterThan(0L);
    nanos += TimeUnit.SECONDS.toNanos(1);
    memory.tick();
    assertThat(memory.refObjectBytes()).isEqualTo(0);
    assertThat(objects(list.refs())).hasSize(list.size());
  }

  /** Or each listing would fill the heap with objects that the next one does not find. */
  @Test
  void thoseOfAListThatIsTooLargeAreNotKept() {
    int most = (int) (Runtime.getRuntime().maxMemory() / 8 / ListMemory.BYTES_A_REF);
    assertThat(memory.mayKeepRefs(list.size())).isTrue();
    assertThat(memory.mayKeepRefs(most)).isTrue();
    assertThat(memory.mayKeepRefs(most + 1)).isFalse();
  }
}
