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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import static com.google.common.truth.Truth.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Symbolic refs whose targets are packed, broken, or become packed while they are looked for. */
@Tag("locale")
class SymbolicRefsTest {
  private static final String OLD = "1".repeat(40);
  private static final String NEW = "2".repeat(40);
  private static final String MASTER = "refs/heads/master";

  @TempDir(factory = InMemory.class)
  Path folder;

  private Path git;
  @AutoClose private TestRefs test;
  private FileRefDatabase own;
  private final JGitFallbacks failures = new JGitFallbacks();

  @BeforeEach
  void create() throws IOException {
    git = folder.resolve("r.git");
    test = TestRefs.create(git, null);
    Files.writeString(git.resolve("HEAD"), "ref: " + MASTER + "\n");
    own = test.database(failures);
  }

  private void packLines(String... lines) throws IOException {
    Files.writeString(
        git.resolve("packed-refs"), PackedRefsText.HEADER + String.join("\n", lines) + "\n");
  }

  private void loose(String name, String text) throws IOException {
    Files.writeString(git.resolve(name), text + "\n");
  }

  /**
   * The database, while {@code git pack-refs} runs: it writes the new list just after the old one
   * was asked for, and then deletes the loose file.
   */
  private RefDatabase whilePacked() throws IOException {
    return whilePacked(OLD + " " + MASTER);
  }

  private RefDatabase whilePacked(String before) throws IOException {
    packLines(before);
    loose(MASTER, NEW);
    boolean[] done = new boolean[1];
    return new FileRefDatabase(
        own,
        own.common.reader.with(
            () -> {
              ParsedRefs list = own.common.packedFile.current(TrustStat.ALWAYS);
              if (!done[0]) {
                done[0] = true;
                packLines(NEW + " " + MASTER);
                Files.delete(git.resolve(MASTER));
              }
              return list;
            }),
        null);
  }

  private static String id(Ref ref) {
    return ref.getObjectId().name();
  }

  @Test
  void eachAnswerIsOfOneStateWhileATargetIsPacked() throws Exception {
    assertThat(id(whilePacked().exactRef("HEAD"))).isEqualTo(NEW);
    Map<String, Ref> both = whilePacked().exactRef("HEAD", MASTER);
    assertThat(id(both.get("HEAD"))).isEqualTo(NEW);
    assertThat(id(both.get(MASTER))).isEqualTo(NEW);
    assertThat(id(whilePacked().firstExactRef("refs/heads/none", "HEAD"))).isEqualTo(NEW);
    List<Ref> all = whilePacked().getRefs();
    assertThat(all.stream().map(Ref::getName).toList()).containsExactly("HEAD", MASTER).inOrder();
    assertThat(all.stream().map(SymbolicRefsTest::id).toList()).containsExactly(NEW, NEW);
    assertThat(whilePacked().getRefsByPrefix("refs/heads/")).hasSize(1);
    assertThat(whilePacked().getTipsWithSha1(ObjectId.fromString(NEW))).hasSize(2);
    String other = OLD + " refs/heads/other";
    assertThat(whilePacked(other).isNameConflicting(MASTER + "/x")).isTrue();
    assertThat(whilePacked(other).getConflictingNames(MASTER + "/x")).containsExactly(MASTER);
  }

  @Test
  void aBrokenTargetHasNoObject() throws Exception {
    packLines(OLD + " refs/heads/broken", OLD + " refs/heads/sym");
    loose("refs/heads/broken", "x".repeat(50));
    loose("refs/heads/sym", "ref: refs/heads/broken");
    assertThat(own.exactRef("refs/heads/sym").getObjectId()).isNull();
    assertThat(own.getRefs()).isEmpty();
    assertThat(own.getRefsByPrefix("refs/heads/sym")).isEmpty();
    assertThat(own.getTipsWithSha1(ObjectId.fromString(OLD))).isEmpty();
    assertThat(own.getConflictingNames("refs/heads/sym/x")).containsExactly("refs/heads/sym");
    assertThrows(IOException.class, own::getAdditionalRefs);
    packLines(OLD + " refs/heads/sym");
    assertThrows(IOException.class, own::getAdditionalRefs);
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  /** JGit finds packed refs of the names that it has left out of its list before. */
  @Test
  void whatLeadsToOneThatLeadsNowhereHidesNoPackedRef() throws Exception {
    packLines(
        OLD + " refs/heads/a", NEW + " refs/heads/b", NEW + " refs/heads/z", OLD + " refs/tags/c");
    loose("refs/heads/a", "ref: refs/heads/none");
    loose("refs/heads/b", "ref: refs/heads/a");
    loose("refs/heads/y", "ref: refs/heads/z");
    loose("refs/heads/z", "ref: refs/heads/y");
    loose("refs/tags/c", "ref: refs/heads/a");
    loose("HEAD", "ref: refs/tags/c");
    List<String> listed = own.getRefs().stream().map(ref -> ref.getName() + id(ref)).toList();
    assertThat(listed)
        .containsExactly(
            "refs/heads/a" + OLD, "refs/heads/b" + NEW, "refs/heads/z" + NEW, "refs/tags/c" + OLD)
        .inOrder();
    assertThat(own.getRefsByPrefix("refs/tags/", "refs/heads/b")).hasSize(2);
    assertThat(own.getRefsByPrefix("refs/tags/", "HEAD")).hasSize(1);
    assertThat(own.getTipsWithSha1(ObjectId.fromString(OLD))).hasSize(2);
    assertThat(own.getAdditionalRefs()).isEmpty();
    assertThat(own.common.packedFile.counts.notParsable.sum()).isEqualTo(0);
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  /** JGit takes any line for a ref, but only looks for files in refs/. */
  @Test
  void onlyAPackedRefOutsideOfRefsIsAConflictingName() throws Exception {
    loose("MARK", NEW);
    assertThat(own.isNameConflicting("MARK/x")).isTrue();
    assertThat(own.getConflictingNames("MARK/x")).isEmpty();
    packLines(OLD + " MARK");
    assertThat(own.common.jgit.getConflictingNames("MARK/x")).containsExactly("MARK");
    assertThat(own.getConflictingNames("MARK/x")).containsExactly("MARK");
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  @Test
  void nobodyCanChangeAList() throws Exception {
    packLines(OLD + " " + MASTER);
    loose(MASTER, NEW);
    List<Ref> refs = own.getRefs();
    assertThrows(UnsupportedOperationException.class, () -> refs.removeIf(ref -> true));
    assertThat(refs.get(1).getName()).isEqualTo(MASTER);
  }

  @Test
  void aBrokenRefAfterTheFirstIsNotAskedFor() throws Exception {
    packLines(OLD + " " + MASTER);
    loose("refs/heads/broken", "x".repeat(50));
    assertThat(own.firstExactRef(MASTER, "refs/heads/broken")).isNotNull();
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  @Test
  void anAnswerThatIsAllLooseNeedsNoList() throws Exception {
    loose(MASTER, NEW);
    RefDatabase refs =
        new FileRefDatabase(
            own,
            own.common.reader.with(
                () -> {
                  throw new IOException("not to be asked for");
                }),
            null);
    assertThat(id(refs.exactRef("HEAD"))).isEqualTo(NEW);
    assertThat(failures.count.sum()).isEqualTo(0);
  }
}
