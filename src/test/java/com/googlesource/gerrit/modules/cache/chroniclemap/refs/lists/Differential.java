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
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Ref;

/** Holds what is parsed here against what JGit parses. */
public final class Differential implements Closeable {
  static final SiteKey KEY = new SiteKey("a secret that is 32 bytes long..".getBytes(UTF_8));

  private final JGitPackedRefs jgit;
  private final PackedRefsReader reader = new PackedRefsReader(KEY);

  /** Has the older list, with which a content may share blocks. */
  private final ListMemory memory = new ListMemory(1 << 30);

  /** The number of blocks that the last {@link #check} made from text. */
  int parsedBlocks;

  Differential(Path folder) throws IOException {
    jgit = new JGitPackedRefs(folder);
  }

  JGitPackedRefs jgit() {
    return jgit;
  }

  /** Shares no blocks. */
  static ListBuilder builder() {
    return new ListBuilder(new ListMemory(0), null);
  }

  PackedRefsReader reader() {
    return reader;
  }

  /** What is made of a text from nothing. */
  Content read(byte[] text) throws IOException {
    return reader.read(new Lists.Text(text), builder(), null);
  }

  /**
   * Parses a content, after another one or from nothing, and compares the answers.
   *
   * @return the list; null if JGit is to answer, after a look at whether that is so
   */
  @Nullable
  ParsedRefs check(byte[] text, @Nullable ParsedRefs old) throws IOException {
    List<Ref> expected;
    try {
      expected = jgit.parse(text);
    } catch (IOException e) {
      expected = null;
    }
    Lists.Holder holder = new Lists.Holder();
    if (old != null) {
      ParsedRefs unused = memory.hold(holder, old, new ArrayList<>());
    }
    ListBuilder builder = new ListBuilder(memory, null);
    Content content = reader.read(new Lists.Text(text), builder, old);
    memory.release(holder);
    parsedBlocks = builder.parsed;
    Content anew = read(text);
    assertThat(content.digest()).isEqualTo(anew.digest());
    assertThat(content.leftToJGit()).isEqualTo(anew.leftToJGit());
    ParsedRefs list = content.list();
    if (list == null) {
      assertWithMessage("left to JGit")
          .that(expected == null || isIrregular(expected, text))
          .isTrue();
      return null;
    }
    assertWithMessage("refused by JGit").that(expected).isNotNull();
    assertSame(list.refs(), expected);
    assertThat(list.root.flags).isEqualTo(anew.list().root.flags);
    assertThat(list.textBytes()).isEqualTo(text.length);
    assertThat(reader.matches(new Lists.Text(text), list, 0, list.blocks())).isTrue();
    return list;
  }

  /** Whether a content is not what git writes of its refs. */
  private static boolean isIrregular(List<Ref> refs, byte[] text) {
    List<String> lines = new ArrayList<>();
    for (Ref ref : refs) {
      String name = ref.getName();
      if (name.isEmpty()
          || name.getBytes(UTF_8).length > 4096
          || name.chars().anyMatch(c -> c < 0x0E)) {
        return true;
      }
      String peeled =
          ref.getPeeledObjectId() == null ? "" : "^" + ref.getPeeledObjectId().name() + "\n";
      lines.add(ref.getObjectId().name() + " " + name + "\n" + peeled);
    }
    String file = new String(text, ISO_8859_1);
    String body = file.replaceFirst("^(#[^\n]*(\n|$))*", "");
    String comments = file.substring(0, file.length() - body.length());
    lines.sort(Comparator.comparing(Differential::name, PackedRefsText.BY_BYTES));
    return comments.length() > 1024
        || comments.contains("\r")
        || refs.stream().map(Ref::getName).distinct().count() < refs.size()
        || !isText(lines, body);
  }

  private static String name(String line) {
    return line.substring(41, line.indexOf('\n'));
  }

  private static boolean isText(List<String> lines, String body) {
    String joined = new String(String.join("", lines).getBytes(UTF_8), ISO_8859_1);
    return body.equals(joined) || (body + "\n").equals(joined);
  }

  public static void assertSame(List<Ref> actual, List<Ref> expected) {
    assertThat(actual.size()).isEqualTo(expected.size());
    int i = 0;
    for (Ref ref : actual) {
      assertSame(ref, expected.get(i++));
    }
    assertThat(i).isEqualTo(expected.size());
  }

  public static void assertSame(Ref actual, Ref expected) {
    if (actual == null || expected == null) {
      assertThat(actual).isEqualTo(expected);
      return;
    }
    // Compared before any message is made: there are many.
    if (!actual.getName().equals(expected.getName())
        || !actual.getObjectId().equals(expected.getObjectId())
        || !Objects.equals(actual.getPeeledObjectId(), expected.getPeeledObjectId())
        || actual.getStorage() != expected.getStorage()
        || actual.getClass() != expected.getClass()) {
      assertThat(describe(actual)).isEqualTo(describe(expected));
    }
  }

  private static String describe(Ref ref) {
    return ref.getClass().getName()
        + " "
        + ref
        + " "
        + ref.isPeeled()
        + " "
        + ref.getPeeledObjectId()
        + " "
        + ref.getStorage();
  }

  @Override
  public void close() {
    jgit.close();
  }
}
