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
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListSource.Content;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is accepted, with which refs; what is left to JGit; what is used again. */
class PackedRefsReaderTest {
  private static final String A = "a".repeat(40);
  private static final String B = "0123456789abcdef0123456789abcdef01234567";
  private static final String C = "c".repeat(40);

  @TempDir Path folder;
  @AutoClose private Differential differential;
  private final Random random = new Random(4);

  @BeforeEach
  void open() throws IOException {
    differential = new Differential(folder);
  }

  private ParsedRefs accepted(String text) throws IOException {
    return accepted(text.getBytes(UTF_8));
  }

  private ParsedRefs accepted(byte[] text) throws IOException {
    return accepted(text, null);
  }

  private ParsedRefs accepted(byte[] text, @Nullable ParsedRefs old) throws IOException {
    ParsedRefs list = differential.check(text, old);
    assertWithMessage("left to JGit").that(list).isNotNull();
    return list;
  }

  private void left(String text) throws IOException {
    left(text.getBytes(UTF_8));
  }

  /** Asserts that a content is left to JGit, which {@link Differential} checks to be right. */
  private void left(byte[] text) throws IOException {
    assertThat(differential.check(text, null)).isNull();
  }

  @Test
  void whatHasNoRefs() throws Exception {
    for (String text : List.of("", PackedRefsText.HEADER, "#", "# a comment\n#\n")) {
      ParsedRefs list = accepted(text);
      assertThat(list.refs()).isEmpty();
      assertThat(list.exactRef("refs/heads/a")).isNull();
      assertThat(list.refs("refs/")).isEmpty();
    }
  }

  @Test
  void whatIsAccepted() throws Exception {
    for (String text :
        List.of(
            // without the last line feed
            PackedRefsText.HEADER + A + " refs/heads/a",
            A + " refs/heads/a\n^" + B,
            // names that are no good names
            A + " HEAD\n" + B + " a b  c\n" + C + " zzz..lock~^:\n",
            A + " \u000e\n" + B + " \u007f\u0080\n",
            // sorted by bytes; JGit puts the second before the first
            A + " refs/heads/\uff5e\n" + B + " refs/heads/\ud83d\ude00\n",
            A + " refs/heads/\u00e4\n" + B + " refs/heads/\u4e2d\n")) {
      accepted(text);
    }
    // A comment may be no UTF-8.
    accepted(("# caf\u00e9\n" + A + " refs/heads/a\n").getBytes(ISO_8859_1));
  }

  @Test
  void stateOfPeeling() throws Exception {
    String lines = A + " refs/heads/a\n" + B + " refs/tags/t\n^" + C + "\n";
    ParsedRefs peeled = accepted(PackedRefsText.HEADER + lines);
    assertThat(peeled.exactRef("refs/heads/a")).isInstanceOf(ObjectIdRef.PeeledNonTag.class);
    Ref tag = peeled.exactRef("refs/tags/t");
    assertThat(tag).isInstanceOf(ObjectIdRef.PeeledTag.class);
    assertThat(tag.getObjectId().name()).isEqualTo(B);
    assertThat(tag.getPeeledObjectId().name()).isEqualTo(C);

    ParsedRefs unpeeled = accepted(lines);
    assertThat(unpeeled.exactRef("refs/heads/a")).isInstanceOf(ObjectIdRef.Unpeeled.class);
    assertThat(unpeeled.exactRef("refs/tags/t")).isInstanceOf(ObjectIdRef.PeeledTag.class);
  }

  @Test
  void headersOfAllKinds() throws Exception {
    String line = A + " refs/heads/a\n" + B + " refs/tags/a\n" + C + " refs/tagsb\n";
    for (String header :
        new String[] {
          "# pack-refs with: \n",
          "# pack-refs with: peeled\n",
          "# pack-refs with: fully-peeled \n",
          "# pack-refs with: sorted peeled \n",
          "# pack-refs with: fully-peeled peeled \n",
          "# pack-refs with: sorted peeled-not unknown-trait \n",
          "# pack-refs with:peeled\n",
          "# pack-refs without: peeled\n",
          "#pack-refs with: peeled\n",
          "# pack-refs with: peeled\n# pack-refs with: sorted\n",
          "# pack-refs with: sorted\n# a comment\n# pack-refs with: peeled\n",
          "# caf\u00e9 \ud83d\ude00 pack-refs with: peeled\n",
          "# pack-refs with: peeled" + " x".repeat(600) + "\n",
          "# a comment that is long".repeat(1000) + "\n# pack-refs with: peeled\n",
        }) {
      if (header.length() <= 1024) {
        accepted(header + line);
      } else {
        left(header + line);
      }
      left(header.replace("\n", "\r\n") + line);
      left(header.replace("\n", "\r") + line);
    }
  }

  /** A block that is used again behind another header says what that one says. */
  @Test
  void anotherHeaderIsSeenInAllRefs() throws Exception {
    List<String> lines = new ArrayList<>(PackedRefsText.gerrit(random, 2000).values());
    ParsedRefs list = null;
    for (String header :
        new String[] {
          PackedRefsText.HEADER,
          "# pack-refs with: peeled \n",
          "# pack-refs with: peeled sorted \n",
          "# pack-refs with: fully-peeled \n",
          ""
        }) {
      list = differential.check(PackedRefsText.text(header, lines), list);
      assertThat(list).isNotNull();
    }
  }

  /**
   * The worst that an author of names and objects can do: all but a part in the middle is equal.
   */
  @Test
  void linesWithEqualEndsAreCutAndReusedAsOthers() throws Exception {
    SortedMap<String, String> lines = new TreeMap<>();
    for (int i = 100_000; i < 110_000; i++) {
      String name = "refs/heads/" + i + "/a-tail-of-more-than-sixteen-bytes";
      lines.put(name, A + " " + name + "\n");
    }
    byte[] text = PackedRefsText.text(lines);
    ParsedRefs list = accepted(text);
    assertThat(list.blocks()).isGreaterThan(text.length / (13 << 10));
    assertThat(list.blocks()).isLessThan(text.length / (7 << 10));
    for (int i = 0; i < 20; i++) {
      String name = "refs/heads/" + (100_000 + random.nextInt(10_000)) + "/a-new-one";
      lines.put(name, A + " " + name + "\n");
      list = differential.check(PackedRefsText.text(lines), list);
      assertThat(differential.parsedBlocks).isAtMost(5);
    }
  }

  @Test
  void namesThatAreNotUtf8() throws Exception {
    left((A + " refs/heads/caf\u00e9\n").getBytes(ISO_8859_1));
    left((A + " refs/heads/\u00c0\u0080\n").getBytes(ISO_8859_1)); // overlong
    left((A + " refs/heads/\u00ed\u00a0\u0080\n").getBytes(ISO_8859_1)); // surrogate
    left((A + " refs/heads/\u00f4\u0090\u0080\u0080\n").getBytes(ISO_8859_1)); // too large
    left((A + " refs/heads/\u00f0\u009f\n").getBytes(ISO_8859_1)); // cut
    // Different bytes that JGit decodes alike.
    byte[] alike = (A + " refs/heads/\u00e8\n" + A + " refs/heads/\u00e9\n").getBytes(ISO_8859_1);
    assertThat(differential.check(alike, null)).isNull();
  }

  @Test
  void whatJGitRefuses() throws Exception {
    String good = A + " refs/heads/a\n";
    for (String bad :
        new String[] {
          "\n",
          "x\n",
          A + "\n",
          A + "\trefs/heads/b\n",
          A.substring(1) + " refs/heads/b\n",
          A + "a refs/heads/b\n",
          "g" + A.substring(1) + " refs/heads/b\n",
          A.substring(1) + "G refs/heads/b\n",
          A.substring(1) + "\u00e9 refs/heads/b\n",
          A.substring(1) + "` refs/heads/b\n",
          " " + A + " refs/heads/b\n",
          "^\n",
          "^" + A + "a\n",
          "^" + A + " \n",
          "^" + A.substring(1) + "\n",
          "^" + A.substring(1) + "/\n",
          A + A.substring(0, 24) + " refs/heads/b\n",
        }) {
      left(good + bad);
      left(bad + good);
      if (bad.length() > 1) {
        left(good + bad.substring(0, bad.length() - 1));
      }
    }
    left("^" + A + "\n" + good);
    left(PackedRefsText.HEADER + "^" + A + "\n");
    left("\ufeff" + good);
  }

  @Test
  void everyByteInAnIdInANameAndAtTheEnd() throws Exception {
    byte[] text = (A + " refs/heads/a/b\n" + B + " refs/heads/c\n").getBytes(UTF_8);
    for (int position = 0; position < 57; position += position == 8 ? 31 : 1) {
      for (int b = 0; b < 256; b++) {
        byte[] changed = text.clone();
        changed[position] = (byte) b;
        differential.check(changed, null);
      }
    }
  }

  @Test
  void whatIsLeftToJGit() throws Exception {
    String a = A + " refs/heads/a\n";
    for (String text :
        List.of(
            // twice, or not in order
            a + B + " refs/heads/a\n",
            a + a,
            B + " refs/heads/b\n" + a + a,
            A + " refs/tags/a\n^" + B + "\n" + C + " refs/heads/b\n",
            PackedRefsText.HEADER + A + " refs/heads/b\n" + C + " refs/heads/a\n",
            A + " refs/tags/a\n^" + B + "\n^" + C + "\n",
            // in JGit's order, by UTF-16
            A + " refs/heads/\ud83d\ude00\n" + B + " refs/heads/\uff5e\n",
            // other ends of lines
            A + " refs/heads/a\r",
            A + " refs/heads/a\r\n" + B + " refs/heads/b\r\n",
            A + " refs/heads/a\r" + B + " refs/heads/b\n^" + C + "\r",
            A + " refs/heads/a\n\r" + B + " refs/heads/b\n",
            A + " refs/heads/a\r\r\n",
            // comments between refs
            a + PackedRefsText.HEADER + B + " refs/heads/b\n",
            a + "# comment\n" + B + " refs/heads/b\n#",
            A + " refs/tags/a\n# comment\n^" + C + "\n" + B + " refs/tags/b\n",
            // capitals in ids
            A.toUpperCase(Locale.ROOT) + " refs/heads/a\n",
            a + "^" + B.toUpperCase(Locale.ROOT) + "\n",
            // names
            A + " \n",
            A + " a\tb\n",
            A + " a\0b\n",
            A + " " + "n".repeat(4097) + "\n",
            A + " " + "\u4e2d".repeat(1366) + "\n",
            A + " " + "n".repeat(300_000) + "\n")) {
      left(text);
    }
    List<String> lines = new ArrayList<>(PackedRefsText.gerrit(random, 3000).values());
    Collections.shuffle(lines, random);
    left(PackedRefsText.text(PackedRefsText.HEADER, lines));
  }

  @Test
  void longNames() throws Exception {
    StringBuilder text = new StringBuilder();
    for (int length : new int[] {126, 127, 128, 254, 255, 256, 257, 1000, 4095, 4096}) {
      text.append(A).append(' ').append("n".repeat(length)).append('\n');
      text.append(B).append(' ').append("n".repeat(length - 1)).append("o\n");
    }
    left(text.toString()); // not in order
    TreeMap<String, String> lines = new TreeMap<>();
    for (int i = 0; i < 300; i++) {
      String name = "n".repeat(random.nextInt(4090)) + i;
      lines.put(name, PackedRefsText.line(random, name));
    }
    accepted(PackedRefsText.text(lines));
  }

  @Test
  void aChangedLineCostsOneBlockAndUnchangedContentNone() throws Exception {
    SortedMap<String, String> lines = PackedRefsText.gerrit(random, 5000);
    ParsedRefs list = accepted(PackedRefsText.text(lines));
    assertThat(accepted(PackedRefsText.text(lines), list).digest()).isEqualTo(list.digest());
    assertThat(differential.parsedBlocks).isEqualTo(0);
    List<String> names = new ArrayList<>(lines.keySet());
    for (int i = 0; i < 50; i++) {
      String name = names.get(random.nextInt(names.size()));
      lines.put(name, PackedRefsText.line(random, name));
      list = differential.check(PackedRefsText.text(lines), list);
      assertThat(differential.parsedBlocks).isAtMost(4);
    }
  }

  @Test
  void rewritesGiveTheListAsParsedAnew() throws Exception {
    SortedMap<String, String> lines = PackedRefsText.gerrit(random, 2000);
    ParsedRefs list = null;
    for (int i = 0; i < 90; i++) {
      for (int change = random.nextInt(i % 10 == 0 ? 300 : 4); change >= 0; change--) {
        List<String> names = new ArrayList<>(lines.keySet());
        String name = names.get(random.nextInt(names.size()));
        switch (random.nextInt(4)) {
          case 0 -> lines.remove(name);
          case 1 -> lines.put(name, PackedRefsText.line(random, name));
          case 2 ->
              lines.put(name, PackedRefsText.line(random, name) + PackedRefsText.peeled(random));
          default -> lines.put(name + "x", PackedRefsText.line(random, name + "x"));
        }
      }
      String header = i % 40 == 0 ? "" : i % 40 == 20 ? "#x\n" : PackedRefsText.HEADER;
      byte[] text = PackedRefsText.text(header, lines.values());
      if (i % 7 == 0) {
        text = Arrays.copyOf(text, text.length - 1);
      }
      list = differential.check(text, list);
      assertThat(list).isNotNull();
    }
  }

  @Test
  void linesOutOfOrderBetweenReusedBlocksAreSeen() throws Exception {
    SortedMap<String, String> lines = PackedRefsText.gerrit(random, 3000);
    ParsedRefs list = accepted(PackedRefsText.text(lines));
    List<String> order = new ArrayList<>(lines.values());
    for (int i = 0; i < 30; i++) {
      List<String> moved = new ArrayList<>(order);
      int from = random.nextInt(moved.size());
      int length = Math.min(moved.size() - from, 1 + random.nextInt(400));
      List<String> run = new ArrayList<>(moved.subList(from, from + length));
      moved.subList(from, from + length).clear();
      if (i % 3 > 0) {
        moved.addAll(random.nextInt(moved.size()), run); // moved, or twice
      }
      if (i % 3 == 2) {
        moved.addAll(random.nextInt(moved.size()), run.subList(0, 1));
      }
      differential.check(PackedRefsText.text(PackedRefsText.HEADER, moved), list);
    }
  }

  @Test
  void aFileIsReadAsItsBytes() throws Exception {
    byte[] text = PackedRefsText.text(PackedRefsText.gerrit(random, 8000));
    ParsedRefs list = accepted(text);
    Path path = Files.write(folder.resolve("packed-refs"), text);
    assertThat(read(path).digest()).isEqualTo(list.digest());
    text[text.length / 2] = '\r';
    Files.write(path, text);
    Content irregular = read(path);
    assertThat(irregular.leftToJGit()).isTrue();
    assertThat(irregular.digest()).isEqualTo(differential.read(text).digest());
  }

  private Content read(Path path) throws IOException {
    try (FileText file = new FileText(path.toFile())) {
      return differential.reader().read(file, Differential.builder(), null);
    }
  }

  /** The text of a known block may be no text of a list elsewhere. */
  @Test
  void aKnownHeaderBehindRefsIsIrregular() throws Exception {
    byte[] text = PackedRefsText.text(PackedRefsText.gerrit(random, 3000));
    int refs = accepted(text).blocks[0].textLength;
    byte[] header = (PackedRefsText.HEADER + A + " refs/zzz\n").getBytes(UTF_8);
    ParsedRefs known = accepted(header);
    byte[] both = Arrays.copyOf(text, refs + header.length);
    System.arraycopy(header, 0, both, refs, header.length);
    assertThat(differential.check(both, known)).isNull();
  }

  /** A chunk that is as long as a chunk may be ends within a line. */
  @Test
  void aLineThatIsCutIsIrregular() throws Exception {
    for (int length = Chunks.HARD_MAX - 50; length < Chunks.HARD_MAX + 50; length++) {
      left(A + " " + "n".repeat(4000) + "\n" + A + " n" + "o".repeat(length) + "\n");
    }
  }

  /** Each lookup may read it again. */
  @Test
  void aContentForJGitIsParsedOnce() throws Exception {
    Lists.Direct direct = new Lists.Direct();
    ListTiers tiers = Lists.tiers(direct, System::nanoTime);
    Path file = Files.write(folder.resolve("irregular"), Lists.text(1, 60_000));
    Files.write(file, PackedRefsText.line(random, "a").getBytes(UTF_8), StandardOpenOption.APPEND);
    ListSource source = new ListSource(file.toFile(), tiers, new FileCounts());
    Content content = source.read(Content.UNKNOWN);
    assertThat(content.leftToJGit()).isTrue();
    long once = direct.tries.get();
    assertThat(once).isGreaterThan(0);
    assertThat(source.read(content)).isSameInstanceAs(content);
    assertThat(direct.tries.get()).isEqualTo(once);
    Files.write(file, Lists.text(1, 10));
    assertThat(source.read(content).list().size()).isEqualTo(10);
  }

  // ---- names whose order by bytes, in which native git sorts, is not JGit's

  /** JGit sorts otherwise, and answers for what it has packed. */
  @Test
  void namesInJGitsOrderAreJGits() throws Exception {
    String a = PackedRefsText.line(random, "refs/heads/\uff5e");
    String b = PackedRefsText.line(random, "refs/heads/\ud83d\ude00");
    ParsedRefs bytes = accepted((PackedRefsText.HEADER + a + b).getBytes(UTF_8), null);
    assertThat(bytes.root.inStringOrder).isFalse();
    byte[] utf16 = (PackedRefsText.HEADER + b + a).getBytes(UTF_8);
    assertThat(differential.check(utf16, bytes)).isNull();
    ParsedRefs one = accepted((PackedRefsText.HEADER + b).getBytes(UTF_8), bytes);
    assertThat(one.root.inStringOrder).isTrue();
  }

  /** The one pair of names in question stands at the edge of a block that is used again. */
  @Test
  void aSwapBetweenReusedBlocksIsSeen() throws Exception {
    TreeMap<String, String> lines = new TreeMap<>(PackedRefsText.BY_BYTES);
    for (int i = 1000; i < 3000; i++) {
      String name = "refs/heads/" + (i < 2000 ? "\uff5e" : "\ud83d\ude00") + i;
      lines.put(name, PackedRefsText.line(random, name));
    }
    ParsedRefs list = accepted(PackedRefsText.text(lines), null);
    TreeMap<String, String> half = new TreeMap<>(lines);
    for (int i = 1000; i < 2000; i++) {
      half.remove("refs/heads/\uff5e" + i);
      if (i % 100 == 0) {
        TreeMap<String, String> ordered = new TreeMap<>(PackedRefsText.BY_BYTES);
        ordered.putAll(half);
        ParsedRefs next = accepted(PackedRefsText.text(ordered), list);
        assertThat(next.root.inStringOrder).isFalse();
        assertThat(next.refs().get(0).getName()).isEqualTo("refs/heads/\ud83d\ude002000");
      }
    }
    ParsedRefs plain = accepted(PackedRefsText.text(half), list);
    assertThat(plain.root.inStringOrder).isTrue();
    assertThat(plain.blocks() - differential.parsedBlocks).isGreaterThan(1);
  }

  /** No block has a pair of names in question; two of them are in another order than JGit's. */
  @Test
  void aSwapAtTheEdgeOfABlockIsSeen() throws Exception {
    SortedMap<String, String> behind = new TreeMap<>(PackedRefsText.BY_BYTES);
    for (int i = 1000; i < 1500; i++) {
      String name = "refs/heads/\ud83d\ude00" + i;
      behind.put(name, PackedRefsText.line(random, name));
    }
    SortedMap<String, String> lines = withBlocksBefore(behind, "refs/heads/\uff5e");
    ParsedRefs list = accepted(PackedRefsText.text(lines), null);
    assertThat(list.root.inStringOrder).isFalse();

    // Both blocks are used again.
    lines.replace(lines.lastKey(), PackedRefsText.line(random, lines.lastKey()));
    ParsedRefs changed = accepted(PackedRefsText.text(lines), list);
    assertThat(differential.parsedBlocks).isEqualTo(1);
    assertThat(changed.root.inStringOrder).isFalse();

    // The second one is used again.
    ParsedRefs other =
        accepted(PackedRefsText.text(withBlocksBefore(behind, "refs/heads/\ue000")), null);
    changed = accepted(PackedRefsText.text(lines), other);
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
      Root root = differential.read(PackedRefsText.text(lines)).list().root;
      for (int block = 1; block < root.blocks; block++) {
        if (root.refsBefore(block) == count) {
          return lines;
        }
      }
    }
    throw new AssertionError("no block begins there");
  }
}
