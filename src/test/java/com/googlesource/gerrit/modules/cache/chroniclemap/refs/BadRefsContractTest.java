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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.SharedWrites;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.eclipse.jgit.errors.MissingObjectException;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AfterEach;
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
  private TestRefs test;
  private PackedRefsFile packed;
  private SharedWrites writes;
  private RefDatabase refs;
  private ObjectId older;
  private ObjectId newer;

  @BeforeEach
  void create() throws IOException {
    test = TestRefs.create(folder.resolve("r.git"), null);
    older = test.commits().get(0);
    newer = test.commits().get(1);
    packed = test.packedRefs();
    // Packs before an update returns.
    writes = new SharedWrites(packed, new RefDisk(), Runnable::run, Runnable::run);
    refs =
        test.database(
            packed,
            writes,
            new UpdateSettings(UpdateSettings.By.OWN, UpdateSettings.Atomic.LOOSE, MAX_LOOSE));
  }

  @AfterEach
  void close() {
    writes.close();
    test.close();
  }

  private Path file(String name) {
    return test.folder().resolve(name);
  }

  private void write(String name, String text) throws IOException {
    Files.createDirectories(file(name).getParent());
    Files.writeString(file(name), text);
  }

  private void pack(String... names) throws IOException {
    StringBuilder text = new StringBuilder(PackedRefsText.HEADER);
    for (String name : names) {
      text.append(older.name()).append(' ').append(name).append('\n');
    }
    write("packed-refs", text.toString());
  }

  private RefUpdate.Result update(String name, ObjectId id) throws IOException {
    RefUpdate update = refs.newUpdate(name, false);
    update.setNewObjectId(id);
    return update.update();
  }

  private void makeManyRefs() throws IOException {
    for (int i = 0; i <= MAX_LOOSE; i++) {
      assertThat(update("refs/tags/" + i, newer)).isEqualTo(RefUpdate.Result.NEW);
    }
    assertThat(Files.readString(file("packed-refs"))).contains("refs/tags/");
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
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        "0000000000000000000000000000000000000000\n",
        "ref: \n",
        "<<<<<<< a conflict of some program that merges files\n"
      })
  void aBrokenRefIsNotMissing(String content) throws Exception {
    pack(A);
    write(A, content);
    for (UnreadableRefsContractTest.Reading reading :
        List.<UnreadableRefsContractTest.Reading>of(
            (r, id) -> r.exactRef(A),
            (r, id) -> r.exactRef("HEAD", A),
            (r, id) -> r.firstExactRef("refs/x", A),
            (r, id) -> r.getRefs(),
            (r, id) -> r.getRefsByPrefix("refs/heads/"),
            (r, id) -> r.getTipsWithSha1(id),
            (r, id) -> r.isNameConflicting(A + "/x"),
            (r, id) -> r.getConflictingNames(A + "/x"))) {
      FileSystemException e =
          assertThrows(FileSystemException.class, () -> reading.read(refs, older));
      assertThat(e).hasMessageThat().contains(file(A) + ": broken ref");
    }
    assertThat(packed.badRefs()).hasSize(1);
    assertThat(packed.badRefs().get(0)).startsWith(A + ": ");

    // As with native git, which serves no older value either, and refuses each update.
    assertThat(test.refsOfGit().keySet()).containsNoneOf(A, "HEAD");
    FileSystemException e = assertThrows(FileSystemException.class, () -> refs.newUpdate(A, false));
    assertThat(e).hasMessageThat().contains(file(A).toString());
    assertThrows(FileSystemException.class, () -> update(A + "/x", newer));
    assertThrows(
        FileSystemException.class,
        () ->
            TestRefs.batch(
                test.repository(),
                refs,
                new ReceiveCommand(older, newer, A),
                new ReceiveCommand(ObjectId.zeroId(), newer, "refs/tags/z")));
    assertThat(Files.readString(file(A))).isEqualTo(content);

    // One broken ref does not keep the others from being packed.
    makeManyRefs();
    assertThat(Files.readString(file("packed-refs"))).contains(older.name() + " " + A);

    // As refs-safety.md says.
    Files.delete(file(A));
    assertThat(refs.exactRef(A).getObjectId()).isEqualTo(older);
    assertThat(packed.badRefs()).isEmpty();
    assertThat(test.lockFiles()).isEmpty();
  }

  @Test
  void anEmptyHeadIsBroken() throws Exception {
    write("HEAD", "");
    assertThrows(FileSystemException.class, () -> refs.exactRef("HEAD"));
    assertThrows(FileSystemException.class, () -> refs.getRefs());
    // What git leaves in its folder is not: nothing was fetched.
    write("FETCH_HEAD", "");
    assertThat(refs.exactRef("FETCH_HEAD")).isNull();
  }

  @Test
  void aRefWithoutItsObjectIsCounted() throws Exception {
    String missing = "1".repeat(40);
    write(A, missing + "\n");
    Ref ref = refs.exactRef(A);
    assertThat(ref.getObjectId().name()).isEqualTo(missing);
    assertThrows(MissingObjectException.class, () -> refs.peel(ref));
    assertThat(refs.getRefsByPrefix("refs/heads/")).hasSize(1);
    assertThat(packed.badRefs()).containsExactly(A + ": the object " + missing + " is missing");
    write(A, newer.name() + "\n");
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
      write("refs/heads/" + name, newer.name() + "\n");
    }
    Map<String, String> listed = new TreeMap<>();
    refs.getRefsByPrefix("refs/").forEach(r -> listed.put(r.getName(), r.getObjectId().name()));
    Map<String, String> ofGit = test.refsOfGit();
    ofGit.keySet().removeIf(name -> !name.startsWith("refs/")); // its warnings
    assertThat(listed).isEqualTo(ofGit);
    assertThat(LooseRefs.isAllowed("refs/heads/a\nb")).isFalse();
    for (String name : names()) {
      String full = "refs/heads/" + name;
      assertWithMessage(full).that(refs.exactRef(full) != null).isEqualTo(listed.containsKey(full));
      assertWithMessage(full).that(LooseRefs.isAllowed(full)).isEqualTo(listed.containsKey(full));
    }
    assertThat(refs.getRefsByPrefix("refs/heads/.d/")).isEmpty();
    assertThat(refs.getRefsByPrefix("refs/heads/d.lock/")).isEmpty();
    assertThat(refs.getTipsWithSha1(newer)).hasSize(listed.size());
    assertThat(packed.badRefs()).isNotEmpty();
  }

  @Test
  void leftoversAreNeverPacked() throws Exception {
    write("refs/heads/master", newer.name() + "\n");
    write("refs/heads/.nfs00000000000ab12300000001", "1".repeat(40) + "\n");
    write("refs/heads/.nfs00000000000ab12300000002", newer.name() + "\n");
    write("refs/heads/master~", newer.name() + "\n");
    makeManyRefs();
    String text = Files.readString(file("packed-refs"));
    assertThat(text).contains("refs/heads/master\n");
    assertThat(text).doesNotContain("nfs");
    assertThat(text).doesNotContain("~");
    assertThat(packed.badRefs()).hasSize(3);
    assertThat(refs.exactRef("refs/heads/master~")).isNull();
    Files.delete(file("refs/heads/.nfs00000000000ab12300000001"));
    Files.delete(file("refs/heads/master~")); // which native git's own gc does not survive
    TestRefs.Output gc = test.tryGit("gc", "--quiet");
    assertWithMessage(gc.text()).that(gc.status()).isEqualTo(0);
  }

  @Test
  void noRefOfSuchANameIsMade() throws Exception {
    for (String name :
        List.of("refs/heads/.nfs1", "refs/heads/a~", "refs/heads/a.lock/b", "refs/heads/a\tb")) {
      assertThrows(IOException.class, () -> update(name, newer));
      assertThrows(IOException.class, () -> refs.newUpdate(name, false).link("refs/heads/b"));
      ReceiveCommand bad = new ReceiveCommand(ObjectId.zeroId(), newer, name);
      ReceiveCommand good = new ReceiveCommand(ObjectId.zeroId(), newer, "refs/heads/good");
      assertThat(isDone(good, bad)).isFalse();
    }
    RefUpdate delete = refs.newUpdate("refs/heads/a.lock/b", false);
    delete.setForceUpdate(true);
    assertThrows(IOException.class, delete::delete);
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
    pack(bad, A);
    write(bad, newer.name() + "\n");
    assertThat(refs.exactRef(bad).getObjectId()).isEqualTo(older);
    assertThat(refs.getRefsByPrefix("refs/heads/")).hasSize(2);
    RefUpdate delete = refs.newUpdate(bad, false);
    delete.setForceUpdate(true);
    assertThat(delete.delete()).isEqualTo(RefUpdate.Result.FORCED);
    assertThat(refs.exactRef(bad)).isNull();
    assertThat(Files.readString(file("packed-refs"))).doesNotContain("nfs");
  }
}
