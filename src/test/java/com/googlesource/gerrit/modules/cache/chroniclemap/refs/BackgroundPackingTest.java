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
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RepositoryWriter;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When loose refs are packed by themselves, which here is done before an update returns. */
class BackgroundPackingTest {
  private static final int MAX_LOOSE = 10;

  @TempDir Path folder;

  private final Disk disk = new Disk();
  private TestRefs test;
  private RepositoryWriter writes;
  private int made;

  /** Counts how often {@code packed-refs} is put into place. */
  private static final class Disk extends RefDisk {
    private int tries;
    private boolean fails;

    @Override
    protected void about(String step, Path file) throws IOException {
      if (step.equals("rename") && file.endsWith("packed-refs")) {
        tries++;
        if (fails) {
          throw new IOException("as the test wants it");
        }
      }
    }
  }

  @BeforeEach
  void makeRepository() throws IOException {
    test = TestRefs.create(folder.resolve("a.git"), null);
  }

  @AfterEach
  void close() {
    writes.close();
    test.close();
  }

  private RefDatabase open() {
    PackedRefsFile packed = test.packedRefs();
    writes = new RepositoryWriter(packed, disk, Runnable::run, Runnable::run);
    UpdateSettings settings = new UpdateSettings(UpdateSettings.By.OWN, 1000, MAX_LOOSE);
    return test.database(packed, writes, settings);
  }

  private Path file(String name) {
    return test.folder().resolve(name);
  }

  /** Makes refs, and lists all after each. */
  private void make(RefDatabase refs, int count) throws IOException {
    for (int i = 0; i < count; i++) {
      assertThat(TestRefs.update(refs, "refs/heads/" + made++, test.id(0)))
          .isEqualTo(RefUpdate.Result.NEW);
      assertThat(refs.getRefs()).isNotEmpty();
    }
  }

  private long loose(String folder) throws IOException {
    try (Stream<Path> files = Files.list(file(folder))) {
      return files.count();
    }
  }

  /** Refs whose objects are missing, three times as many as may be loose. */
  private void makeBroken() throws IOException {
    Files.createDirectories(file("refs/broken"));
    for (int i = 0; i < 3 * MAX_LOOSE; i++) {
      Files.writeString(file("refs/broken/" + i), "1".repeat(40) + "\n", UTF_8);
    }
  }

  @Test
  void whatCantBePackedDoesNotHaveAllPackedAgain() throws IOException {
    RefDatabase refs = open();
    makeBroken();
    make(refs, 4 * MAX_LOOSE);
    assertThat(disk.tries).isAtMost(4);
    assertThat(loose("refs/heads")).isAtMost(MAX_LOOSE);
    assertThat(loose("refs/broken")).isEqualTo(3 * MAX_LOOSE);
  }

  @Test
  void whatCouldNotBePackedIsWhenItCan() throws IOException {
    RefDatabase refs = open();
    makeBroken();
    make(refs, 2);
    assertThat(disk.tries).isEqualTo(1);
    for (int i = 0; i < 3 * MAX_LOOSE; i++) {
      Files.writeString(
          file("refs/broken/" + i), ObjectId.toString(test.commits().get(1)) + "\n", UTF_8);
    }
    make(refs, MAX_LOOSE + 1);
    assertThat(disk.tries).isEqualTo(2);
    assertThat(loose("refs/broken")).isEqualTo(0);
  }

  @Test
  void aListThatCantBeWrittenIsNotTriedForEachRef() throws IOException {
    RefDatabase refs = open();
    disk.fails = true;
    make(refs, 4 * MAX_LOOSE);
    assertThat(disk.tries).isAtMost(4);
    disk.fails = false;
    make(refs, 5 * MAX_LOOSE);
    assertThat(loose("refs/heads")).isAtMost(MAX_LOOSE);
  }

  /** So what is written for one ref that is made is bounded. */
  @Test
  void besideALongListMoreMayBeLoose() throws IOException {
    test.writePacked(
        test.id(0),
        IntStream.range(0, 3 * MAX_LOOSE * 1000)
            .mapToObj(i -> String.format(Locale.ROOT, "refs/changes/%08d", i))
            .toArray(String[]::new));
    RefDatabase refs = open();
    make(refs, 3 * MAX_LOOSE);
    assertThat(disk.tries).isEqualTo(0);
    make(refs, 1);
    assertThat(disk.tries).isEqualTo(1);
    assertThat(loose("refs/heads")).isEqualTo(0);
    make(refs, 3 * MAX_LOOSE);
    assertThat(disk.tries).isEqualTo(1);
  }
}
