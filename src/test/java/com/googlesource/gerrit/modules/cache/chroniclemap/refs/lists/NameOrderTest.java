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
import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Names whose order by bytes, in which native git sorts, is not JGit's. */
class NameOrderTest {
  private static final Comparator<String> BY_BYTES =
      (a, b) -> Arrays.compareUnsigned(a.getBytes(UTF_8), b.getBytes(UTF_8));

  @TempDir Path folder;
  @AutoClose private Differential differential;
  private final Random random = new Random(11);

  @BeforeEach
  void open() throws IOException {
    differential = new Differential(folder);
  }

  private static byte[] text(Map<String, String> lines) {
    return PackedRefsText.text(lines);
  }

  private ParsedRefs regular(byte[] text, ParsedRefs old) throws IOException {
    ParsedRefs list = differential.check(text, old);
    assertWithMessage("irregular").that(list).isNotNull();
    return list;
  }

  /** JGit sorts otherwise, and answers for what it has packed. */
  @Test
  void namesInJGitsOrderAreJGits() throws Exception {
    String a = PackedRefsText.line(random, "refs/heads/\uff5e");
    String b = PackedRefsText.line(random, "refs/heads/\ud83d\ude00");
    ParsedRefs bytes = regular((PackedRefsText.HEADER + a + b).getBytes(UTF_8), null);
    assertThat(bytes.root.inStringOrder).isFalse();
    byte[] utf16 = (PackedRefsText.HEADER + b + a).getBytes(UTF_8);
    assertThat(differential.check(utf16, bytes)).isNull();
    ParsedRefs one = regular((PackedRefsText.HEADER + b).getBytes(UTF_8), bytes);
    assertThat(one.root.inStringOrder).isTrue();
  }

  /** The one pair of names in question stands at the edge of a block that is used again. */
  @Test
  void aSwapBetweenReusedBlocksIsSeen() throws Exception {
    TreeMap<String, String> lines = new TreeMap<>(BY_BYTES);
    for (int i = 1000; i < 3000; i++) {
      String name = "refs/heads/" + (i < 2000 ? "\uff5e" : "\ud83d\ude00") + i;
      lines.put(name, PackedRefsText.line(random, name));
    }
    ParsedRefs list = regular(text(lines), null);
    TreeMap<String, String> half = new TreeMap<>(lines);
    for (int i = 1000; i < 2000; i++) {
      half.remove("refs/heads/\uff5e" + i);
      if (i % 100 == 0) {
        TreeMap<String, String> ordered = new TreeMap<>(BY_BYTES);
        ordered.putAll(half);
        ParsedRefs next = regular(text(ordered), list);
        assertThat(next.root.inStringOrder).isFalse();
        assertThat(next.refs().get(0).getName()).isEqualTo("refs/heads/\ud83d\ude002000");
      }
    }
    ParsedRefs plain = regular(text(half), list);
    assertThat(plain.root.inStringOrder).isTrue();
    assertThat(plain.blocks() - differential.parsedBlocks).isGreaterThan(1);
  }

  /** No block has a pair of names in question; two of them are in another order than JGit's. */
  @Test
  void aSwapAtTheEdgeOfABlockIsSeen() throws Exception {
    SortedMap<String, String> behind = new TreeMap<>(BY_BYTES);
    for (int i = 1000; i < 1500; i++) {
      String name = "refs/heads/\ud83d\ude00" + i;
      behind.put(name, PackedRefsText.line(random, name));
    }
    SortedMap<String, String> lines = withBlocksBefore(behind, "refs/heads/\uff5e");
    ParsedRefs list = regular(text(lines), null);
    assertThat(list.root.inStringOrder).isFalse();

    // Both blocks are used again.
    lines.replace(lines.lastKey(), PackedRefsText.line(random, lines.lastKey()));
    ParsedRefs changed = regular(text(lines), list);
    assertThat(differential.parsedBlocks).isEqualTo(1);
    assertThat(changed.root.inStringOrder).isFalse();

    // The second one is used again.
    ParsedRefs other = regular(text(withBlocksBefore(behind, "refs/heads/\ue000")), null);
    changed = regular(text(lines), other);
    assertThat(changed.blocks() - differential.parsedBlocks).isGreaterThan(1);
    assertThat(changed.root.inStringOrder).isFalse();
  }

  /** Adds names in front of others that a block begins with. */
  private SortedMap<String, String> withBlocksBefore(SortedMap<String, String> behind, String start)
      throws IOException {
    SortedMap<String, String> lines = new TreeMap<>(behind);
    for (int count = 1; count < 5000; count++) {
      String name = start + (10_000 + count);
      lines.put(name, PackedRefsText.line(random, name));
      if (count < 200) {
        continue;
      }
      Root root =
          differential
              .reader()
              .read(new MemoryText(text(lines)), Differential.builder(), null)
              .list()
              .root;
      for (int block = 1; block < root.blocks; block++) {
        if (root.refsBefore(block) == count) {
          return lines;
        }
      }
    }
    throw new AssertionError("no block begins there");
  }
}
