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
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.base.Splitter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Names whose order by bytes, in which native git sorts, is not JGit's. */
class NameOrderTest {
  private static final Comparator<String> BY_BYTES =
      (a, b) -> Arrays.compareUnsigned(a.getBytes(UTF_8), b.getBytes(UTF_8));

  /** In UTF-16 the last two come before the two in front of them. */
  private static final String[] PARTS = {
    "a", "/", "\u00e9", "\ue000", "\uff5e", "\ud83d\ude00", "\udbff\udfff"
  };

  @TempDir Path folder;
  @AutoClose private Differential differential;
  private final Random random = new Random(11);

  @BeforeEach
  void open() throws IOException {
    differential = new Differential(folder);
  }

  /** Names of all kinds, many of them swapped, swaps within swaps. */
  private String name(int most) {
    StringBuilder name = new StringBuilder(random.nextInt(6) == 0 ? "" : "refs/heads/");
    for (int i = random.nextInt(most); i >= 0; i--) {
      name.append(PARTS[random.nextInt(PARTS.length)]);
    }
    return name.toString();
  }

  private Map<String, String> lines(Comparator<String> order, int count, int most) {
    TreeMap<String, String> lines = new TreeMap<>(order);
    for (int i = 0; i < count; i++) {
      String name = name(most);
      lines.put(
          name,
          PackedRefsText.line(random, name)
              + (random.nextInt(6) == 0 ? PackedRefsText.peeled(random) : ""));
    }
    return lines;
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

  @Test
  void namesInNoOrderAreIrregular() throws Exception {
    for (String names :
        new String[] {
          "a\uff5e a\ud83d\ude00 b\ud83d\ude00 b\uff5e",
          "a\ud83d\ude00 a\uff5e b\uff5e b\ud83d\ude00",
          "b a",
          "a a",
        }) {
      StringBuilder text = new StringBuilder(PackedRefsText.HEADER);
      for (String name : Splitter.on(' ').split(names)) {
        text.append(PackedRefsText.line(random, name));
      }
      ParsedRefs list = differential.check(text.toString().getBytes(UTF_8), null);
      assertThat(list).isNull();
    }
  }

  @Test
  void answersAreJGits() throws Exception {
    for (int count : new int[] {2, 3, 5, 9, 40, 300, 3000}) {
      for (int most : new int[] {2, 4, 12}) {
        checkAll(text(lines(BY_BYTES, count, most)));
      }
    }
  }

  @Test
  void swapsAreNestedDeeply() throws Exception {
    TreeMap<String, String> lines = new TreeMap<>(BY_BYTES);
    StringBuilder start = new StringBuilder("r");
    while (start.toString().getBytes(UTF_8).length < 4080) {
      for (String part : new String[] {"\ue000", "\ud83d\ude00", "\uff5e"}) {
        lines.put(start + part, PackedRefsText.line(random, start + part));
      }
      start.append(PARTS[3 + random.nextInt(4)]);
    }
    ParsedRefs list = regular(text(lines), null);
    assertThat(list.blocks()).isGreaterThan(10);
    List<Ref> all = list.refs();
    List<String> names = new ArrayList<>(new TreeSet<>(lines.keySet()));
    for (int i = 0; i < names.size(); i += 1 + random.nextInt(50)) {
      assertThat(all.get(i).getName()).isEqualTo(names.get(i));
    }
  }

  private void checkAll(byte[] text) throws Exception {
    ParsedRefs list = regular(text, null);
    List<Ref> peer = new ArrayList<>(list.size());
    list.refs().forEach(peer::add); // compared with JGit's above
    List<String> names = peer.stream().map(Ref::getName).toList();
    assertThat(names).isInStrictOrder();
    TreeSet<String> asked = new TreeSet<>(List.of("", "refs/heads/", "\uffff", "\udfff"));
    for (int i = 0; i < Math.min(200, names.size()); i++) {
      String some = names.get(random.nextInt(names.size()));
      asked.add(some);
      asked.add(some + "\ud83d");
      asked.add(some + "\uffff");
      asked.add(some.substring(0, random.nextInt(some.length())));
      asked.add(name(6));
    }
    for (String name : asked) {
      int low = 0;
      while (low < names.size() && names.get(low).compareTo(name) < 0) {
        low++;
      }
      int high = low;
      while (high < names.size() && names.get(high).startsWith(name)) {
        high++;
      }
      boolean there = low < high && names.get(low).equals(name);
      Differential.assertSame(list.exactRef(name), there ? peer.get(low) : null);
      assertThat(list.contains(name)).isEqualTo(there);
      if (list.root.inStringOrder) {
        assertThat(list.rank(name)).isEqualTo(low);
      } else {
        assertThrows(IllegalStateException.class, () -> list.rank(name));
      }
      Differential.assertSame(list.refs(name), peer.subList(low, high));
    }
    List<Ref> all = list.refs();
    for (int i = 0; i < peer.size(); i += 1 + random.nextInt(5)) {
      Differential.assertSame(all.get(i), peer.get(i));
      Differential.assertSame(all.subList(i, peer.size()).iterator().next(), peer.get(i));
    }
    ObjectId id = peer.get(random.nextInt(peer.size())).getObjectId();
    Differential.assertSame(
        list.pointingTo(id, "", "\uffff").toList(),
        peer.stream()
            .filter(r -> r.getObjectId().equals(id) || id.equals(r.getPeeledObjectId()))
            .toList());
  }

  @Test
  void rewritesGiveTheListAsParsedAnew() throws Exception {
    Map<String, String> lines = lines(BY_BYTES, 1500, 7);
    ParsedRefs list = null;
    for (int i = 0; i < 60; i++) {
      for (int change = random.nextInt(3); change >= 0; change--) {
        List<String> names = new ArrayList<>(lines.keySet());
        String some = names.get(random.nextInt(names.size()));
        switch (random.nextInt(3)) {
          case 0 -> {
            // All that are of one kind, so that neighbours change at the edge of a block.
            String start = some.substring(0, random.nextInt(some.length()) + 1);
            lines.keySet().removeIf(name -> name.startsWith(start) && names.size() > 700);
            lines.put(some, PackedRefsText.line(random, some));
          }
          case 1 -> lines.putAll(lines(BY_BYTES, 20, 7));
          default -> lines.put(some, PackedRefsText.line(random, some));
        }
      }
      list = regular(text(lines), list);
      assertThat(list.root.bytes).isEqualTo(regular(text(lines), null).root.bytes);
    }
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
    assertThat(differential.reader().reusedBlocks).isGreaterThan(1);
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
    assertThat(differential.reader().parsedBlocks).isEqualTo(1);
    assertThat(changed.root.inStringOrder).isFalse();

    // The second one is used again.
    ParsedRefs other = regular(text(withBlocksBefore(behind, "refs/heads/\ue000")), null);
    changed = regular(text(lines), other);
    assertThat(differential.reader().reusedBlocks).isGreaterThan(1);
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
              .root;
      for (int block = 1; block < root.blocks; block++) {
        if (root.refsBefore(block) == count) {
          return lines;
        }
      }
    }
    throw new AssertionError("no block begins there");
  }

  @Test
  void listsWithoutSuchNamesHaveNothingOfIt() throws Exception {
    TreeMap<String, String> lines = new TreeMap<>(PackedRefsText.gerrit(random, 3000));
    lines.put("refs/heads/\ud83d\ude00", PackedRefsText.line(random, "refs/heads/\ud83d\ude00"));
    Root root = regular(text(lines), null).root;
    assertThat(root.inStringOrder).isTrue();
  }

  @Test
  void theyComeBackFromOtherMemory() throws Exception {
    ParsedRefs list = regular(text(lines(BY_BYTES, 2000, 6)), null);
    ParsedRefs copy =
        new ParsedRefs(new Root(list.root.bytes.clone()), list.blocks, new ListMemory(0), false);
    Differential.assertSame(copy.refs(), new ArrayList<>(list.refs()));
  }

  @Test
  void whatNativeGitPacksIsRegular() throws Exception {
    Path git = folder.resolve("native.git");
    git("init", "-q", "--bare", git.toString());
    String tree = git("-C", git.toString(), "hash-object", "-w", "-t", "tree", "/dev/null").strip();
    String commit =
        git(
                "-C",
                git.toString(),
                "-c",
                "user.name=n",
                "-c",
                "user.email=e",
                "commit-tree",
                tree,
                "-m",
                "m")
            .strip();
    StringBuilder packed = new StringBuilder();
    for (String name : new TreeSet<>(lines(BY_BYTES, 400, 5).keySet())) {
      if (name.startsWith("refs/heads/") && !name.contains("//") && !name.endsWith("/")) {
        packed.append(commit).append(' ').append("refs/heads/x").append(name.replace("/", "-"));
        packed.append('\n');
      }
    }
    Files.writeString(git.resolve("packed-refs"), packed);
    git("-C", git.toString(), "update-ref", "refs/heads/one", commit);
    git("-C", git.toString(), "pack-refs", "--all");
    byte[] text = Files.readAllBytes(git.resolve("packed-refs"));
    assertThat(new String(text, UTF_8)).contains(" sorted");
    ParsedRefs list = regular(text, null);
    assertThat(list.root.inStringOrder).isFalse();
    List<String> listed =
        Splitter.on('\n')
            .omitEmptyStrings()
            .splitToList(git("-C", git.toString(), "for-each-ref", "--format=%(refname)"));
    assertThat(list.refs().stream().map(Ref::getName).toList())
        .isEqualTo(listed.stream().sorted().toList());
    checkAll(text);
  }

  private static String git(String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of("git"));
    command.addAll(Arrays.asList(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    process.getOutputStream().close();
    String output = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertThat(process.waitFor(60, SECONDS)).isTrue();
    assertWithMessage(output).that(process.exitValue()).isEqualTo(0);
    return output;
  }
}
