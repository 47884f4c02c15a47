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
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectInserter;
import org.eclipse.jgit.lib.RefDatabase;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What keeps one ref from being packed, or its file from being deleted, keeps no other ref; and
 * what keeps all of them is no single ref's.
 */
class UnpackableRefsTest {
  private static final String BAD = "refs/heads/k/bad";

  /** Before and behind the bad one, and more than are pruned under one set of locks. */
  private static final List<String> FOLDERS = List.of("refs/heads/a/", "refs/heads/z/");

  private static final int OTHERS = 100;

  @TempDir Path folder;
  @AutoClose private TestRefs test;

  private TestRefs.BeforeStep before = (step, at) -> {};
  private PackedRefsFile packed;
  private RefDatabase refs;

  @BeforeEach
  void create() throws IOException {
    test = TestRefs.create(folder.resolve("r.git"), null);
    packed = test.packedRefs();
    refs =
        test.database(
            packed, TestRefs.disk((step, at) -> before.of(step, at)), UpdateSettings.DEFAULT);
    for (String each : FOLDERS) {
      for (int i = 0; i < OTHERS; i++) {
        write(each + i, test.id(0));
      }
    }
  }

  private Path file(String name) {
    return test.folder().resolve(name);
  }

  private void write(String name, ObjectId id) throws IOException {
    Files.createDirectories(file(name).getParent());
    Files.writeString(file(name), id.name() + "\n");
  }

  /** Packs, and looks for the file of each ref. */
  private void assertThatAllButOneArePacked(String bad) throws IOException {
    byte[] before = Files.readAllBytes(file(bad));
    test.pack(refs);
    for (String each : FOLDERS) {
      for (int i = 0; i < OTHERS; i++) {
        assertWithMessage(each + i).that(Files.exists(file(each + i))).isFalse();
        assertThat(refs.exactRef(each + i).getObjectId()).isEqualTo(test.id(0));
      }
    }
    assertThat(Files.readAllBytes(file(bad))).isEqualTo(before);
    assertThat(test.lockFiles()).isEmpty();
  }

  /** Cut by a loss of power, as git and JGit do not sync loose objects by default. */
  @ParameterizedTest
  @ValueSource(ints = {0, 20})
  void anObjectThatIsCut(int bytes) throws Exception {
    write(BAD, test.id(4));
    write("refs/tags/bad", test.tags().get(4)); // leads to it
    Path object = test.repository().getObjectDatabase().fileFor(test.id(4)).toPath();
    byte[] content = Files.readAllBytes(object);
    Files.delete(object);
    Files.write(object, Arrays.copyOf(content, bytes));
    assertThatAllButOneArePacked(BAD);
    assertThat(Files.exists(file("refs/tags/bad"))).isTrue();
    assertThat(refs.exactRef(BAD).getObjectId()).isEqualTo(test.id(4));
  }

  /** Such as one that was pushed without a check. */
  @Test
  void anObjectThatIsNoCommit() throws Exception {
    try (ObjectInserter inserter = test.repository().newObjectInserter()) {
      write(BAD, inserter.insert(Constants.OBJ_COMMIT, new byte[] {'x'}));
      inserter.flush();
    }
    assertThatAllButOneArePacked(BAD);
    assertThat(packed.badRefs()).hasSize(1);
  }

  /** Such as a folder that root has made. */
  @Test
  void aFolderWithoutRoomForALock() throws Exception {
    write(BAD, test.id(1));
    before =
        (step, at) -> {
          if (Set.of("link", "create").contains(step) && at.startsWith(file(BAD).getParent())) {
            throw new AccessDeniedException(at.toString());
          }
        };
    assertThatAllButOneArePacked(BAD);
    assertThat(refs.exactRef(BAD).getObjectId()).isEqualTo(test.id(1));
  }

  @Test
  void aNameWithoutRoomForALock() throws Exception {
    String bad = "refs/heads/k/" + "x".repeat(252);
    write(bad, test.id(1));
    assertThatAllButOneArePacked(bad);
    assertThat(refs.exactRef(bad).getObjectId()).isEqualTo(test.id(1));
  }

  /** By attributes it is the file that was read before. */
  @Test
  void aFileThatTurnedBad() throws Exception {
    write(BAD, test.id(1));
    FileTime time = FileTime.from(Instant.ofEpochSecond(1_700_000_000));
    Files.setLastModifiedTime(file(BAD), time);
    assertThat(refs.getRefs()).isNotEmpty();
    Files.write(file(BAD), ("?".repeat(40) + "\n").getBytes(US_ASCII));
    Files.setLastModifiedTime(file(BAD), time);
    assertThatAllButOneArePacked(BAD);
  }

  // ---- what keeps all

  /** JGit takes each object for missing then. */
  @ParameterizedTest
  @ValueSource(strings = {"objects", "objects/pack", "a pack", "refs"})
  void whatAllRefsNeed(String name) throws Exception {
    write(BAD, test.manyCommits(1).get(0));
    Path there = file(name);
    if (name.equals("a pack")) {
      try (DirectoryStream<Path> packs = Files.newDirectoryStream(file("objects/pack"), "*.pack")) {
        there = packs.iterator().next();
      }
    }
    Path away = Files.move(there, folder.resolve("away"));
    Files.createSymbolicLink(there, there.getFileName());
    assertThrows(IOException.class, () -> test.pack(refs));
    assertThat(packed.badRefs()).isEmpty();
    Files.delete(there);
    Files.move(away, there);
    test.pack(refs);
    assertThat(Files.exists(file(BAD))).isFalse();
  }

  /** It is not asked for again for each ref. */
  @Test
  void aListThatTurnsUnreadableWhileFilesAreDeleted() throws Exception {
    Path list = file("packed-refs");
    int[] locked = new int[1];
    before =
        (step, at) -> {
          if (step.equals("delete") && at.equals(file(FOLDERS.get(0) + 0))) {
            Files.move(list, folder.resolve("away"));
            Files.createSymbolicLink(list, list.getFileName());
          } else if (step.equals("link") && Files.isSymbolicLink(list)) {
            locked[0]++;
          }
        };
    assertThrows(IOException.class, () -> test.pack(refs));
    assertThat(locked[0]).isAtMost(64);
  }
}
