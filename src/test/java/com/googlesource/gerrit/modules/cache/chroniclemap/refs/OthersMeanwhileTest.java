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
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.NfsRevalidation;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.eclipse.jgit.errors.LockFailedException;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What others do, just then, between the steps of a change or of packing. */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class OthersMeanwhileTest {
  private static final String LOOSE = "refs/heads/a-loose";
  private static final String NEW = "refs/heads/b-new";
  private static final String PACKED = "refs/heads/c-packed";
  private static final String LAST = "refs/heads/last";

  /** When git goes on to delete what it has packed it has let the lock of packed-refs go. */
  private static final String GIT_WAITS =
      """
      #!/bin/sh
      if [ "$1" = prepared ] && [ -e packed-refs.lock ]; then
        echo waits
        cat go-on
      fi
      """;

  @TempDir Path folder;

  @AutoClose private TestRefs test;
  private final AtomicBoolean isOver = new AtomicBoolean();

  @BeforeEach
  void create() throws IOException {
    test = TestRefs.create(folder.resolve("a.git"), null);
  }

  /** Git has read a loose ref to pack it, and has not put its list in place yet. */
  @Test
  void aLooseRefThatIsDeletedWhileGitPacksItDoesNotComeBack() throws Exception {
    test.hook(GIT_WAITS);
    RefDatabase refs = test.database(new RefDisk(), 1000, 0);
    assertThat(TestRefs.update(refs, PACKED, test.id(0))).isEqualTo(RefUpdate.Result.NEW);
    Process git = test.gitWithHook("pack-refs", "--all");
    try (BufferedReader said = git.inputReader(UTF_8)) {
      assertThat(said.readLine()).isEqualTo("waits");
      assertThrows(LockFailedException.class, () -> TestRefs.delete(refs, PACKED));
      assertThat(refs.exactRef(PACKED)).isNotNull();
      test.letGoOn();
      assertThat(git.waitFor()).isEqualTo(0);
    } finally {
      git.descendants().forEach(ProcessHandle::destroyForcibly);
      git.destroyForcibly();
    }
    assertThat(test.refsOfGit()).containsKey(PACKED);
    assertThat(TestRefs.delete(refs, PACKED)).isEqualTo(RefUpdate.Result.FORCED);
    assertThat(test.refsOfGit()).doesNotContainKey(PACKED);
    assertThat(refs.exactRef(PACKED)).isNull();
  }

  /** Git packs refs just before the last one of a batch is to get its value, which fails. */
  @Test
  void allRefsOfAnUndoneBatchHaveTheirOldValues() throws Exception {
    test.writePacked(test.id(0), PACKED);
    Files.writeString(test.folder().resolve(LOOSE), test.id(0).name() + "\n");
    RefDatabase refs =
        test.database(
            TestRefs.disk(
                (step, file) -> {
                  if (step.equals("rename") && file.endsWith(LAST) && !isOver.getAndSet(true)) {
                    // Another process heeds no locks of refs when it packs them.
                    test.git("pack-refs", "--all", "--no-prune");
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
                test.git("update-ref", ofGit, test.id(0).name());
                test.git("pack-refs", "--all");
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

  // ---- another machine

  /**
   * Packs all refs under {@code core.trustStat = always} on a client of NFS, which does not see
   * what another machine has just done in a folder until it opens the folder.
   */
  private RefDatabase packOnNfs(NfsRevalidation otherMachine) throws IOException {
    test.repository().getConfig().setString("core", null, "trustStat", "always");
    test.write(LOOSE, test.id(0).name() + "\n");
    RefDatabase database =
        test.database(test.packedRefs(otherMachine), new RefDisk(), UpdateSettings.DEFAULT);
    test.pack(database);
    return database;
  }

  private String packed() throws IOException {
    return Files.exists(test.file("packed-refs")) ? Files.readString(test.file("packed-refs")) : "";
  }

  @Test
  void aLockOfAnotherMachineIsSeenBeforeTheRefIsPacked() throws Exception {
    RefDatabase unused =
        packOnNfs(
            opened -> {
              if (opened.equals(test.file("refs/heads"))
                  && Files.exists(test.file("packed-refs.lock"))) {
                Files.writeString(test.file(LOOSE + ".lock"), "");
              }
            });
    assertThat(packed()).doesNotContain(LOOSE);
  }

  /** The ref was deleted, and made again with the same value. */
  @Test
  void aRefThatAnotherMachineHasDeletedAndMadeAgainKeepsItsFile() throws Exception {
    RefDatabase database =
        packOnNfs(
            opened -> {
              if (opened.equals(test.folder())
                  && Files.exists(test.file(LOOSE + ".lock"))
                  && packed().contains(LOOSE)) {
                Path without =
                    Files.writeString(test.file("without"), "# pack-refs with: peeled\n");
                Files.move(without, test.file("packed-refs"), StandardCopyOption.ATOMIC_MOVE);
              }
            });
    assertThat(packed()).doesNotContain(LOOSE);
    assertThat(database.exactRef(LOOSE).getObjectId()).isEqualTo(test.id(0));
  }
}
