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
import static com.google.common.truth.Truth.assertWithMessage;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.base.Throwables;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefName;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RepositoryWriter;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.eclipse.jgit.errors.MissingObjectException;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.GC;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Broken refs, files whose names git refuses, and refs whose objects are missing. */
@Tag("locale")
class BadRefsContractTest {
  private static final String A = "refs/heads/a";
  private static final int MAX_LOOSE = 10;

  @TempDir Path folder;
  @AutoClose private TestRefs test;
  private PackedRefsFile packed;
  @AutoClose private RepositoryWriter writes;
  private RefDatabase refs;
  private ObjectId older;
  private ObjectId newer;

  @BeforeEach
  void create() throws IOException {
    test = TestRefs.create(folder.resolve("r.git"), null);
    older = test.id(0);
    newer = test.id(1);
    packed = test.packedRefs();
    // Packs before an update returns.
    writes = new RepositoryWriter(packed, new RefDisk(), Runnable::run, Runnable::run);
    refs =
        test.database(packed, writes, new UpdateSettings(UpdateSettings.By.OWN, 1000, MAX_LOOSE));
  }

  private void makeManyRefs() throws IOException {
    for (int i = 0; i <= MAX_LOOSE; i++) {
      assertThat(TestRefs.update(refs, "refs/tags/" + i, newer)).isEqualTo(RefUpdate.Result.NEW);
    }
    assertThat(Files.readString(test.file("packed-refs"))).contains("refs/tags/");
  }

  @Test
  void filesThatAreNoRefsAreNotBad() throws IOException {
    assertThat(refs.exactRef("config")).isNull();
    assertThat(packed.badRefs()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "\n",
        "0123456789abcdef\n",
        "0123456789abcdef\0\0\0\0",
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        "0000000000000000000000000000000000000000\n",
        "re",
        "ref: \n",
        "ref:"
      })
  void aBrokenRefIsThatRefsAlone(String content) throws Exception {
    assertIsThatRefsAlone(content, "broken ref: ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "[.ShellClassInfo]\r\n",
        "<<<<<<< a conflict of some program that merges files\n",
        "refs/heads/master\n",
        "0123456789abcdefg"
      })
  void aForeignFileIsThatRefsAlone(String content) throws Exception {
    assertIsThatRefsAlone(content, "no ref, ");
  }

  private static Set<String> names(Collection<Ref> refs) {
    return refs.stream().map(Ref::getName).collect(Collectors.toCollection(TreeSet::new));
  }

  @SuppressWarnings("deprecation")
  private void assertIsThatRefsAlone(String content, String why) throws Exception {
    String other = "refs/heads/other";
    test.writePacked(older, "refs/changes/01/1/1", A, other);
    test.write(A, content);
    test.write("refs/changes/99/99/1", content); // has no packed value
    test.write("refs/heads/master", newer.name() + "\n");
    test.write("refs/heads/symbolic", "ref: " + A + "\n");
    Set<String> good = Set.of("refs/changes/01/1/1", "refs/heads/master", other);

    // A request for this very ref fails.
    for (UnreadableRefsContractTest.Reading reading :
        List.<UnreadableRefsContractTest.Reading>of(
            (r, id) -> r.exactRef(A),
            (r, id) -> r.firstExactRef("refs/x", A),
            (r, id) -> r.findRef("a"),
            (r, id) -> r.newUpdate(A, false))) {
      FileSystemException e =
          assertThrows(FileSystemException.class, () -> reading.read(refs, older));
      assertThat(e).hasMessageThat().contains(test.file(A) + ": " + why);
    }
    assertThrows(
        FileSystemException.class,
        () ->
            TestRefs.batch(
                test.repository(),
                refs,
                test.command(A, 0, 1),
                test.command("refs/tags/z", null, 1)));
    assertThat(Files.readString(test.file(A))).isEqualTo(content);

    // No other request does, and none serves the older value.
    for (RefDatabase each : List.of(refs, ((FileRefDatabase) refs).forRequest())) {
      Set<String> all = new TreeSet<>(good);
      all.add("HEAD");
      assertThat(names(each.getRefs())).isEqualTo(all);
      assertThat(names(each.getRefsByPrefix("refs/"))).isEqualTo(good);
      assertThat(names(each.getRefsByPrefix("refs/heads/"))).doesNotContain(A);
      assertThat(names(each.getRefsByPrefix("refs/heads/a", other))).containsExactly(other);
      assertThat(names(each.getRefsByPrefix("refs/changes/"))).hasSize(1);
      assertThat(each.getRefsByPrefix(A)).isEmpty();
      assertThat(each.getRefs("refs/heads/").keySet()).containsExactly("master", "other");
      assertThat(names(each.getTipsWithSha1(older))).containsExactly("refs/changes/01/1/1", other);
      assertThat(names(each.getTipsWithSha1(newer))).containsExactly("HEAD", "refs/heads/master");
      assertThat(each.exactRef("HEAD", A, other).keySet()).containsExactly("HEAD", other);
      assertThat(each.firstExactRef(other, A).getName()).isEqualTo(other);
      assertThat(each.exactRef("refs/heads/symbolic").getObjectId()).isNull();
      assertThat(each.exactRef("refs/heads/symbolic").getTarget().getName()).isEqualTo(A);
      assertThat(each.isNameConflicting(A + "/x")).isTrue();
      assertThat(each.getConflictingNames(A + "/x")).containsExactly(A);
    }
    Map<String, String> ofGit = test.refsOfGit();
    ofGit.keySet().removeIf(name -> !name.startsWith("refs/")); // its warnings
    assertThat(ofGit.keySet()).isEqualTo(good);
    assertThat(packed.badRefs()).hasSize(2);
    assertThat(packed.badRefs().get(0)).startsWith("refs/changes/99/99/1: " + why);
    assertThat(packed.badRefs().get(1)).startsWith(A + ": " + why);
    assertThat(TestRefs.update(refs, A + "/x", newer)).isEqualTo(RefUpdate.Result.LOCK_FAILURE);
    assertThat(TestRefs.update(refs, "refs/heads/b", newer)).isEqualTo(RefUpdate.Result.NEW);
    assertThat(isDone(test.command(other, 0, 1), test.command("refs/heads/a-z", null, 1))).isTrue();

    // It does not keep the others from being packed.
    makeManyRefs();
    assertThat(Files.readString(test.file("packed-refs"))).contains(older.name() + " " + A);
    assertThat(Files.readString(test.file(A))).isEqualTo(content);

    // As refs-safety.md says.
    Files.delete(test.file(A));
    Files.delete(test.file("refs/changes/99/99/1"));
    assertThat(refs.exactRef(A).getObjectId()).isEqualTo(older);
    assertThat(test.lockFiles()).isEmpty();
  }

  /** What JGit's collection of garbage asks for, and native git's refuses. */
  private void collectGarbage() throws Exception {
    try (FileRepository repository =
        new FileRepository(test.folder().toFile()) {
          @Override
          public RefDatabase getRefDatabase() {
            return refs;
          }
        }) {
      GC gc = new GC(repository);
      gc.setExpireAgeMillis(0);
      gc.setPackExpireAgeMillis(0);
      Object unused = gc.gc().get();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "[.ShellClassInfo]\r\n"})
  void noGarbageIsCollectedWhereAPackedRefIsHidden(String content) throws Exception {
    test.writePacked(older, A);
    test.write("refs/heads/master", newer.name() + "\n");
    test.write(A, content);
    Exception e = assertThrows(Exception.class, this::collectGarbage);
    assertThat(Throwables.getRootCause(e)).hasMessageThat().contains(test.file(A).toString());
    assertThat(test.repository().getObjectDatabase().has(older)).isTrue();
    // What has no packed value, nobody can keep.
    test.write("packed-refs", PackedRefsText.HEADER + older.name() + " refs/heads/other\n");
    test.write("refs/heads/master", newer.name() + "\n");
    collectGarbage();
    test.git("cat-file", "-e", older.name());
    test.git("cat-file", "-e", newer.name());
  }

  /** Where {@code packed-refs} has a ref twice, JGit answers. It would serve the older value. */
  @Test
  void noOlderValueIsServedByJGit() throws Exception {
    test.writePacked(older, "refs/heads/other", "refs/heads/other", A);
    test.write("refs/heads/desktop.ini", "[.ShellClassInfo] and more than forty characters\r\n");
    assertThat(names(refs.getRefsByPrefix("refs/"))).containsExactly(A, "refs/heads/other");
    test.write(A, "");
    for (UnreadableRefsContractTest.Reading reading :
        List.<UnreadableRefsContractTest.Reading>of(
            (r, id) -> r.exactRef(A),
            (r, id) -> r.exactRef("refs/heads/other", A),
            (r, id) -> r.firstExactRef("refs/x", A),
            (r, id) -> r.getRefs(),
            (r, id) -> r.getRefsByPrefix("refs/heads/"),
            (r, id) -> r.getRefsByPrefix("refs/heads/", "HEAD"),
            (r, id) -> r.getTipsWithSha1(older),
            (r, id) -> r.getAdditionalRefs())) {
      assertThrows(FileSystemException.class, () -> reading.read(refs, older));
    }
    assertThat(refs.exactRef("refs/heads/other").getObjectId()).isEqualTo(older);
  }

  @Test
  void aRefAboveAForeignFileIsRefusedAsByJGit() throws Exception {
    test.write("refs/heads/x/README", "to read\n");
    assertThat(TestRefs.update(test.peer(), "refs/heads/x", newer))
        .isEqualTo(RefUpdate.Result.LOCK_FAILURE);
    assertThat(TestRefs.update(refs, "refs/heads/x", newer))
        .isEqualTo(RefUpdate.Result.LOCK_FAILURE);
    assertThat(isDone(new ReceiveCommand(ObjectId.zeroId(), newer, "refs/heads/x"))).isFalse();
    assertThat(test.lockFiles()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "\0\0\0\0", "0000000000000000000000000000000000000000", "HEAD?"})
  void aBrokenHeadIsReplaced(String content) throws Exception {
    test.writePacked(older, A);
    for (boolean detach : new boolean[] {false, true}) {
      test.write("HEAD", content);
      assertThat(refs.exactRef("HEAD")).isNull();
      assertThat(refs.exactRef("HEAD", A).keySet()).containsExactly(A);
      assertThat(names(refs.getRefs())).contains(A);
      assertThat(names(refs.getRefs())).doesNotContain("HEAD");
      assertThat(packed.badRefs().get(0)).startsWith("HEAD: ");
      assertThat(TestRefs.update(refs, "refs/heads/" + detach, newer))
          .isEqualTo(RefUpdate.Result.NEW);
      assertThat(refs.newUpdate("HEAD", detach).link(A)).isEqualTo(RefUpdate.Result.NEW);
      assertThat(Files.readString(test.file("HEAD"))).isEqualTo("ref: " + A + "\n");
      assertThat(refs.exactRef("HEAD").getObjectId()).isEqualTo(older);
      assertThat(packed.badRefs()).isEmpty();
    }
    // What git leaves in its folder is not bad: nothing was fetched.
    test.write("FETCH_HEAD", "");
    assertThat(refs.exactRef("FETCH_HEAD")).isNull();
    assertThat(packed.badRefs()).isEmpty();
  }

  /** HEAD itself can be read. */
  @Test
  void aHeadThatLeadsToABrokenRefIsReplaced() throws Exception {
    test.writePacked(older, A, "refs/heads/b");
    test.write(A, "");
    test.write("HEAD", "ref: " + A + "\n");
    assertThat(refs.exactRef("HEAD").getObjectId()).isNull();
    assertThat(refs.exactRef("HEAD").getTarget().getName()).isEqualTo(A);
    assertThrows(FileSystemException.class, () -> TestRefs.update(refs, "HEAD", newer));
    assertThat(refs.newUpdate("HEAD", true).link("refs/heads/b"))
        .isEqualTo(RefUpdate.Result.FORCED);
    assertThat(refs.exactRef("HEAD").getObjectId()).isEqualTo(older);
  }

  @ParameterizedTest
  @ValueSource(strings = {"ref:%s", "ref:\t%s", "ref:   %s  \n\n", "ref:\n%s\r\n", "ref: %s"})
  void aSymbolicRefIsReadAsByGit(String content) throws Exception {
    test.writePacked(older, A);
    test.write("refs/heads/symbolic", String.format(Locale.ROOT, content, A));
    assertThat(refs.exactRef("refs/heads/symbolic").getLeaf().getName()).isEqualTo(A);
    assertThat(names(refs.getRefsByPrefix("refs/"))).isEqualTo(test.refsOfGit().keySet());
  }

  /** No file in refs/ is a ref there, and HEAD is in the tables. */
  @Test
  void inAReftableNoFileIsRead() throws Exception {
    try (TestRefs tables = TestRefs.createReftable(folder.resolve("t.git"), Map.of())) {
      RefDatabase ours = tables.tables(new JGitFallbacks());
      assertThat(TestRefs.update(ours, A, newer)).isEqualTo(RefUpdate.Result.NEW);
      assertThat(ours.newUpdate("HEAD", true).link(A)).isNotNull();
      Path heads = tables.folder().resolve("refs/heads");
      if (!Files.isRegularFile(heads)) {
        Files.createDirectories(heads);
        Files.writeString(heads.resolve("desktop.ini"), "[.ShellClassInfo]\r\n");
      }
      Files.writeString(tables.folder().resolve("HEAD"), "");
      assertThat(names(ours.getRefs())).containsExactly("HEAD", A);
      assertThat(ours.exactRef("HEAD").getObjectId()).isEqualTo(newer);
    }
  }

  @Test
  void aRefWithoutItsObjectIsCounted() throws Exception {
    String missing = "1".repeat(40);
    test.write(A, missing + "\n");
    Ref ref = refs.exactRef(A);
    assertThat(ref.getObjectId().name()).isEqualTo(missing);
    assertThrows(MissingObjectException.class, () -> refs.peel(ref));
    assertThat(refs.getRefsByPrefix("refs/heads/")).hasSize(1);
    assertThat(packed.badRefs()).containsExactly(A + ": the object " + missing + " is missing");
    test.write(A, newer.name() + "\n");
    assertThat(refs.peel(refs.exactRef(A)).isPeeled()).isTrue();
    assertThat(packed.badRefs()).isEmpty();
  }

  /** Names of files with characters that git allows, and that it does not. */
  private static List<String> names() {
    List<String> names = new ArrayList<>();
    for (char c = 1; c <= 0x7f; c++) {
      if (c != '/' && c != '\n') {
        for (String name : List.of("q" + c, c + "q", "q" + c + c + "q", "" + c)) {
          names.add(name);
        }
      }
    }
    names.addAll(
        List.of(
            ".nfs00000000000ab12300000001",
            "master~",
            "a@{1}",
            "@",
            "x@",
            "@{",
            "d./f",
            ".d/f",
            "d.lock/f",
            "d.lockx/f",
            "a..b/f",
            "z.lock.",
            "#master#",
            "desktop.ini."));
    String parts = "ab@{.}~^:?*[\\ -#lock";
    Random random = new Random(4);
    for (int i = 0; i < 300; i++) {
      StringBuilder name = new StringBuilder();
      for (int length = 1 + random.nextInt(6); length > 0; length--) {
        name.append(parts.charAt(random.nextInt(parts.length())));
      }
      names.add("r" + i % 10 + "/" + name);
    }
    names.removeIf(
        name ->
            name.equals(".") || name.endsWith("/.") || name.endsWith("/..") || name.equals(".."));
    return names;
  }

  @Test
  void onlyNamesThatGitAllowsAreRefs() throws Exception {
    for (String name : names()) {
      test.write("refs/heads/" + name, newer.name() + "\n");
    }
    Map<String, String> listed = new TreeMap<>();
    refs.getRefsByPrefix("refs/").forEach(r -> listed.put(r.getName(), r.getObjectId().name()));
    Map<String, String> ofGit = test.refsOfGit();
    ofGit.keySet().removeIf(name -> !name.startsWith("refs/")); // its warnings
    assertThat(listed).isEqualTo(ofGit);
    assertThat(RefName.of("refs/heads/a\nb").isAllowed()).isFalse();
    for (String name : names()) {
      String full = "refs/heads/" + name;
      assertWithMessage(full).that(refs.exactRef(full) != null).isEqualTo(listed.containsKey(full));
      assertWithMessage(full)
          .that(RefName.of(full).isAllowed())
          .isEqualTo(listed.containsKey(full));
    }
    assertThat(refs.getRefsByPrefix("refs/heads/.d/")).isEmpty();
    assertThat(refs.getRefsByPrefix("refs/heads/d.lock/")).isEmpty();
    assertThat(refs.getTipsWithSha1(newer)).hasSize(listed.size());
    assertThat(packed.badRefs()).isNotEmpty();
  }

  @Test
  void leftoversAreNeverPacked() throws Exception {
    test.write("refs/heads/master", newer.name() + "\n");
    test.write("refs/heads/.nfs00000000000ab12300000001", "1".repeat(40) + "\n");
    test.write("refs/heads/.nfs00000000000ab12300000002", newer.name() + "\n");
    test.write("refs/heads/master~", newer.name() + "\n");
    makeManyRefs();
    String text = Files.readString(test.file("packed-refs"));
    assertThat(text).contains("refs/heads/master\n");
    assertThat(text).doesNotContain("nfs");
    assertThat(text).doesNotContain("~");
    assertThat(packed.badRefs()).hasSize(3);
    assertThat(refs.exactRef("refs/heads/master~")).isNull();
    Files.delete(test.file("refs/heads/.nfs00000000000ab12300000001"));
    Files.delete(test.file("refs/heads/master~")); // which native git's own gc does not survive
    test.git("gc", "--quiet");
  }

  @Test
  void noRefOfSuchANameIsMade() throws Exception {
    for (String name :
        List.of("refs/heads/.nfs1", "refs/heads/a~", "refs/heads/a.lock/b", "refs/heads/a\tb")) {
      assertThrows(IOException.class, () -> TestRefs.update(refs, name, newer));
      assertThrows(IOException.class, () -> refs.newUpdate(name, false).link("refs/heads/b"));
      ReceiveCommand bad = new ReceiveCommand(ObjectId.zeroId(), newer, name);
      ReceiveCommand good = new ReceiveCommand(ObjectId.zeroId(), newer, "refs/heads/good");
      assertThat(isDone(good, bad)).isFalse();
    }
    assertThrows(IOException.class, () -> TestRefs.delete(refs, "refs/heads/a.lock/b"));
    assertThat(refs.getRefsByPrefix("refs/heads/")).isEmpty();
    assertThat(test.lockFiles()).isEmpty();
  }

  private boolean isDone(ReceiveCommand... commands) {
    try {
      return TestRefs.batch(test.repository(), refs, commands);
    } catch (IOException e) {
      return false;
    }
  }

  /** What an earlier version has packed can be deleted. */
  @Test
  void aPackedOneIsReadAsByJGitAndCanBeDeleted() throws Exception {
    String bad = "refs/heads/.nfs00000000000ab12300000001";
    test.writePacked(older, bad, A);
    test.write(bad, newer.name() + "\n");
    assertThat(refs.exactRef(bad).getObjectId()).isEqualTo(older);
    assertThat(refs.getRefsByPrefix("refs/heads/")).hasSize(2);
    assertThat(TestRefs.delete(refs, bad)).isEqualTo(RefUpdate.Result.FORCED);
    assertThat(refs.exactRef(bad)).isNull();
    assertThat(Files.readString(test.file("packed-refs"))).doesNotContain("nfs");
  }
}
