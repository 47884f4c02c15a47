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
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.eclipse.jgit.lib.Ref;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Lookups, against a plain list of the same refs. */
class ParsedRefsTest {
  @TempDir Path folder;
  private final Random random = new Random(7);
  @AutoClose private JGitPackedRefs jgit;

  @BeforeEach
  void open() throws IOException {
    jgit = new JGitPackedRefs(folder);
  }

  private static ParsedRefs parse(byte[] text) {
    return new Lists().parse(new ListMemory(0), text, null);
  }

  @Test
  void gerritNames() throws Exception {
    for (int count : new int[] {1, 2, 7, 8, 9, 15, 16, 17, 700}) {
      checkAll(PackedRefsText.text(PackedRefsText.gerrit(new Random(count), count)));
    }
  }

  @Test
  void oddNames() throws Exception {
    for (int i = 0; i < 8; i++) {
      checkAll(PackedRefsText.oddNames(random, 20 + i * i * 12, true));
    }
  }

  private void checkAll(byte[] text) throws Exception {
    ParsedRefs list = parse(text);
    List<Ref> peer = jgit.parse(text);
    Differential.assertSame(list.refs(), peer);
    TreeSet<String> asked = new TreeSet<>(List.of("", "/", "refs/heads/", "\uffff", "\udfff"));
    for (Ref ref : peer) {
      String name = ref.getName();
      for (String end : List.of("", "\0", "\uffff", "/", "\ud83d", "\ud83dx", "\udc00")) {
        asked.add(name + end);
      }
      asked.add(name.substring(0, random.nextInt(name.length())));
      asked.add(PackedRefsText.oddName(random));
    }
    for (String name : asked) {
      check(list, peer, name);
    }
    List<Ref> all = list.refs();
    for (int i = 0; i < peer.size(); i++) {
      Differential.assertSame(all.get(i), peer.get(i));
    }
    assertThrows(IndexOutOfBoundsException.class, () -> all.get(peer.size()));
    assertThrows(IndexOutOfBoundsException.class, () -> all.get(-1));
  }

  private static void check(ParsedRefs list, List<Ref> peer, String name) {
    int low = 0;
    while (low < peer.size() && peer.get(low).getName().compareTo(name) < 0) {
      low++;
    }
    Ref ceiling = low < peer.size() ? peer.get(low) : null;
    Ref exact = ceiling != null && ceiling.getName().equals(name) ? ceiling : null;
    int high = low;
    while (high < peer.size() && peer.get(high).getName().startsWith(name)) {
      high++;
    }
    Differential.assertSame(list.exactRef(name), exact);
    assertThat(list.contains(name)).isEqualTo(exact != null);
    if (UTF_8.newEncoder().canEncode(name)) {
      boolean isFree = list.refs(name + '/').isEmpty();
      for (int i = name.indexOf('/', 1); i >= 0; i = name.indexOf('/', i + 1)) {
        isFree &= !list.contains(name.substring(0, i));
      }
      String folder = list.freeFolder(name, Set.of());
      assertThat(folder != null).isEqualTo(isFree);
      if (isFree) {
        assertThat(name + '/').startsWith(folder);
        assertThat(folder).endsWith("/");
        assertThat(list.refs(folder)).isEmpty();
      }
    }
    if (list.root.inStringOrder) {
      assertThat(list.rank(name)).isEqualTo(low);
    }
    List<Ref> refs = list.refs(name);
    assertThat(refs.size()).isEqualTo(high - low);
    if (high - low < 200) {
      Differential.assertSame(refs, peer.subList(low, high));
    } else {
      Differential.assertSame(refs.get(0), peer.get(low));
      Differential.assertSame(refs.get(high - low - 1), peer.get(high - 1));
    }
  }

  @Test
  void namesLongerThanAnyRef() throws Exception {
    ParsedRefs list = parse(PackedRefsText.text(PackedRefsText.gerrit(random, 500)));
    String name = "refs/heads/" + "\u4e2d".repeat(20_000);
    assertThat(list.exactRef(name)).isNull();
    assertThat(list.refs(name)).isEmpty();
    assertThat(list.rank(name)).isEqualTo(list.rank("refs/heads/\u4e2d"));
  }

  @Test
  void listsThatAreReadLazily() throws Exception {
    byte[] text = PackedRefsText.text(PackedRefsText.gerrit(random, 3000));
    ParsedRefs list = parse(text);
    List<Ref> all = list.refs();
    assertThat(all).hasSize(list.size());
    Iterator<Ref> iterator = all.iterator();
    iterator.next();
    while (iterator.hasNext()) {
      iterator.next();
    }
    assertThrows(NoSuchElementException.class, iterator::next);

    List<Ref> changes = list.refs("refs/changes/");
    assertThat(changes.get(0).getName()).startsWith("refs/changes/");
    assertThat(changes.subList(3, 5)).hasSize(2);
    assertThat(changes.subList(3, 5).get(1).getName()).isEqualTo(changes.get(4).getName());
    assertThrows(IndexOutOfBoundsException.class, () -> changes.get(changes.size()));
    assertThrows(IndexOutOfBoundsException.class, () -> changes.subList(4, 3));
    assertThat(list.exactRef("refs/changes/01/1/1")).isNotNull();
    assertThat(list.refs("refs/changes/01/1/").size()).isAtMost(3);
  }
}
