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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A batch that fails when some of its refs have their new values, which others have packed. */
@Timeout(120)
class UndoneBatchTest {
  private static final String LOOSE = "refs/heads/a-loose";
  private static final String NEW = "refs/heads/b-new";
  private static final String PACKED = "refs/heads/c-packed";
  private static final String LAST = "refs/heads/last";

  @TempDir Path folder;

  @AutoClose private TestRefs test;
  private final AtomicBoolean isOver = new AtomicBoolean();

  @BeforeEach
  void create() throws IOException {
    test = TestRefs.create(folder.resolve("a.git"), null);
  }

  private void git(String... arguments) throws Exception {
    assertThat(test.tryGit(arguments).status()).isEqualTo(0);
  }

  /** Git packs refs just before the last one of the batch is to get its value, which fails. */
  @Test
  void allRefsHaveTheirOldValues() throws Exception {
    test.writePacked(test.id(0), PACKED);
    Files.writeString(test.folder().resolve(LOOSE), test.id(0).name() + "\n");
    RefDatabase refs =
        test.database(
            TestRefs.disk(
                (step, file) -> {
                  if (step.equals("rename") && file.endsWith(LAST) && !isOver.getAndSet(true)) {
                    // Another process heeds no locks of refs when it packs them.
                    git("pack-refs", "--all", "--no-prune");
                    assertThat(Files.readString(test.folder().resolve("packed-refs")))
                        .contains(NEW);
                    throw new IOException("broken");
                  }
                }),
            1000,
            0);
    Map<String, String> before = TestRefs.values(refs);
    ReceiveCommand[] commands = {
      test.command(LOOSE, 0, 1),
      test.command(NEW, null, 1),
      test.command(PACKED, 0, 1),
      test.command(LAST, null, 1)
    };
    assertThrows(IOException.class, () -> TestRefs.batch(test.repository(), refs, commands));
    assertThat(TestRefs.values(refs)).isEqualTo(before);
    assertThat(test.refsOfGit()).isEqualTo(before);
  }

  /** Git makes a ref and packs it at once, after the batch has looked for it. */
  @ParameterizedTest
  @CsvSource({
    // Before the first lock, as locks are links in folders that are made for them.
    "1000, make folders, /refs/, refs/heads/a, refs/heads/a/below",
    "0, make folders, /refs/, refs/heads/a, refs/heads/a/below",
    // When all refs are locked, so that only packed-refs can tell.
    "1000, link, packed-refs.lock, refs/heads/a/below, refs/heads/a",
    "1, link, packed-refs.lock, refs/heads/a/below, refs/heads/a",
  })
  void aNameThatAnotherProcessTakesMeanwhileIsNotGiven(
      int maxLooseBatch, String before, String place, String ofGit, String ours) throws Exception {
    test.writePacked(test.id(0), PACKED);
    RefDisk disk =
        TestRefs.disk(
            (step, file) -> {
              if (step.equals(before)
                  && file.toString().contains(place)
                  && !isOver.getAndSet(true)) {
                git("update-ref", ofGit, test.id(0).name());
                git("pack-refs", "--all");
              }
            });
    RefDatabase refs = test.database(disk, maxLooseBatch, 0);
    ReceiveCommand create = test.command(ours, null, 1);
    ReceiveCommand delete = test.command(PACKED, 0, null);
    assertThat(TestRefs.batch(test.repository(), refs, create, delete)).isFalse();
    assertThat(create.getResult()).isEqualTo(ReceiveCommand.Result.LOCK_FAILURE);
    assertThat(isOver.get()).isTrue();
    assertThat(TestRefs.values(refs).keySet()).containsExactly(PACKED, ofGit);
    assertThat(test.refsOfGit().keySet()).containsExactly(PACKED, ofGit);
    assertThat(test.lockFiles()).isEmpty();
  }

  /** Nobody could tell the locks of a killed process, so it must not be killed half done. */
  @Test
  void withoutHardLinksABatchIsJGits() throws Exception {
    RefDisk disk =
        TestRefs.disk(
            (step, file) -> {
              if (step.equals("link")) {
                throw new FileSystemException(file.toString(), null, "Operation not supported");
              }
            });
    RefDatabase refs = test.database(disk, 1000, 0);
    ReceiveCommand one = test.command(NEW, null, 1);
    assertThat(TestRefs.batch(test.repository(), refs, one, test.command(LAST, null, 1))).isTrue();
    assertThat(TestRefs.values(refs).keySet()).containsExactly(NEW, LAST);
    assertThat(Files.readString(test.folder().resolve("packed-refs"))).contains(NEW);
    assertThat(Files.exists(test.folder().resolve(NEW))).isFalse();
    assertThat(Files.exists(test.folder().resolve(NEW + ".lock"))).isFalse();
  }
}
