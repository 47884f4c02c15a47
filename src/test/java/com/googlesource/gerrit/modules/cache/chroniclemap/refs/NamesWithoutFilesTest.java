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
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import java.io.File;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Names without a file, which any client may send. Those that are too long for a ref or for its
 * file are not looked for on the disk, and none costs more than its length.
 */
class NamesWithoutFilesTest {
  private static final String PACKED = "refs/heads/" + "p".repeat(256);

  /** Too long for a ref: in few parts, in many, and by characters of several bytes. */
  private static final List<String> NO_REFS =
      List.of(deep(4097), deep(60_000), "refs/heads/" + "\u00e9/".repeat(1362) + "z");

  /** As long as a ref may be, but too long for a file. */
  private static final List<String> NO_FILES =
      List.of(
          PACKED,
          PACKED + "/below",
          "refs/heads/" + "\u00e9".repeat(128),
          deep(4096),
          "refs/heads/x/" + "z".repeat(3000) + "/x");

  @TempDir Path tmp;

  private static String deep(int bytes) {
    String start = bytes % 2 == 0 ? "refs/heads/y/" : "refs/heads/yy/";
    return start + "x/".repeat((bytes - start.length() - 1) / 2) + "x";
  }

  @Test
  void noneIsLookedForOnTheDisk() throws Exception {
    try (TestRefs refs = TestRefs.create(tmp.resolve("files.git"), null)) {
      ObjectId id = refs.id(0);
      refs.writePacked(id, PACKED);
      RefDatabase database = refs.database(new JGitFallbacks());
      assertThat(database.exactRef(PACKED).getObjectId()).isEqualTo(id);
      // A loop fails as a broken disk does, so each question to it shows.
      Path folder = tmp.resolve("files.git/refs");
      Files.move(folder, folder.resolveSibling("moved"));
      Files.createSymbolicLink(folder, folder);
      assertThrows(IOException.class, () -> database.exactRef("refs/heads/short"));
      for (String name : NO_FILES) {
        lookUp(database, name, name.equals(PACKED) ? id : null);
        update(refs, database, name, id);
      }
      for (String name : NO_REFS) {
        lookUp(database, name, null);
        update(refs, database, name, id);
        assertThat(database.isNameConflicting(name)).isFalse();
        assertThat(database.getConflictingNames(name)).isEmpty();
      }
      assertThat(database.getRefsByPrefix(PACKED.substring(0, 267))).hasSize(1);
    }
  }

  private static void lookUp(RefDatabase database, String name, ObjectId id) throws IOException {
    List<Ref> found = id == null ? List.of() : List.of(database.exactRef(name));
    assertThat(database.exactRef(name) == null).isEqualTo(id == null);
    assertThat(database.exactRef(new String[] {name, name})).hasSize(found.size());
    assertThat(database.firstExactRef(new String[] {name, name}) == null).isEqualTo(id == null);
    assertThat(database.findRef(name) == null).isEqualTo(id == null);
    assertThat(database.getRefsByPrefix(name)).hasSize(found.size());
    assertThat(database.getRefsByPrefix(name + '/')).isEmpty();
    assertThat(database.getRefsByPrefix(new String[] {name, name + '/', name + "/b"}))
        .hasSize(found.size());
    assertThat(database.getRefsByPrefixWithExclusions(name, Set.of("refs/x")))
        .hasSize(found.size());
  }

  /** No update is made, and none is waited for. */
  private static void update(TestRefs refs, RefDatabase database, String name, ObjectId id)
      throws IOException {
    try {
      assertThat(TestRefs.force(database, name, id)).isEqualTo(RefUpdate.Result.LOCK_FAILURE);
    } catch (IOException e) {
      assertRefused(e);
    }
    try {
      ReceiveCommand one = new ReceiveCommand(ObjectId.zeroId(), id, name);
      ReceiveCommand other = new ReceiveCommand(ObjectId.zeroId(), id, name + "-2");
      assertThat(TestRefs.batch(refs.repository(), database, one, other)).isFalse();
    } catch (IOException e) {
      assertRefused(e);
    }
  }

  private static void assertRefused(IOException e) {
    // The latter by a reftable, which JGit updates.
    assertThat(e).hasMessageThat().matches("(?s).*: File name too long|Cannot update .*");
  }

  /** Ten times the name costs ten times the memory, or less. */
  @Test
  void theCostIsThatOfTheLength() throws Exception {
    try (TestRefs refs = TestRefs.create(tmp.resolve("files.git"), null);
        TestRefs tables = TestRefs.createReftable(tmp.resolve("tables.git"), Map.of())) {
      assertLinear(refs, refs.database(new JGitFallbacks()));
      assertLinear(tables, tables.tables(new JGitFallbacks()));
    }
  }

  private static void assertLinear(TestRefs refs, RefDatabase database) throws Exception {
    ObjectId id = refs.id(0);
    Steps all =
        name -> {
          lookUp(database, name, null);
          update(refs, database, name, id);
          boolean unused = database.isNameConflicting(name);
          assertThat(database.getConflictingNames(name)).isEmpty();
        };
    String small = deep(6_000);
    String large = deep(60_000);
    all.run(small); // classes are loaded
    long once = Threads.allocated(() -> all.run(small));
    assertWithMessage("%s bytes for the small name", once)
        .that(Threads.allocated(() -> all.run(large)))
        .isLessThan(12 * once);
  }

  private interface Steps {
    void run(String name) throws Exception;
  }

  /** {@code bin/test} runs this in the POSIX locale as well. */
  @Tag("locale")
  @Test
  void whatTheLocaleCantNameIsAnErrorThatSaysWhatToSet() throws IOException {
    String name = "refs/heads/\u00e9";
    try (TestRefs refs = TestRefs.create(tmp.resolve("r.git"), null)) {
      File packed = refs.folder().resolve("packed-refs").toFile();
      RefPaths paths = new RefPaths(refs.repository(), packed);
      assertThat(paths.loose("refs/heads/a").getName()).isEqualTo("a");
      if (Charset.forName(System.getProperty("sun.jnu.encoding")).equals(UTF_8)) {
        assertThat(paths.loose(name).getName()).isEqualTo("\u00e9");
        assertThat(RefPaths.limitsOfNames()).isEmpty();
      } else {
        IOException error = assertThrows(IOException.class, () -> paths.loose(name));
        assertThat(error).hasMessageThat().startsWith(tmp.toString());
        assertThat(error).hasMessageThat().contains("LC_ALL=C.UTF-8");
        assertThat(RefPaths.limitsOfNames().orElseThrow()).contains("LC_ALL=C.UTF-8");
      }
    }
  }
}
