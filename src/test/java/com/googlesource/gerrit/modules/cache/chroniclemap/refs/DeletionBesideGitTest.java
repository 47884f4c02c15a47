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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.errors.LockFailedException;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;

/**
 * A loose ref is deleted when native git has read it to pack it, and has not put its list in place
 * yet: a hook of git waits there.
 */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class DeletionBesideGitTest {
  private static final String NAME = "refs/heads/packed";

  /** When git goes on to delete what it has packed it has let the lock of packed-refs go. */
  private static final String HOOK =
      """
      #!/bin/sh
      if [ "$1" = prepared ] && [ -e packed-refs.lock ]; then
        echo waits
        cat go-on
      fi
      """;

  @TempDir Path folder;

  private TestRefs test;
  private PackedRefsCache cache;
  private RefDatabase refs;
  @Nullable private Process git;

  @BeforeEach
  void open() throws Exception {
    test = TestRefs.create(folder.resolve("test.git"), null);
    test.hook(HOOK);
    cache = TestRefs.cache(UpdateSettings.DEFAULT);
    cache.start();
    refs = test.database(cache);
    assertThat(TestRefs.update(refs, NAME, test.id(0))).isEqualTo(RefUpdate.Result.NEW);
  }

  @AfterEach
  void close() throws Exception {
    if (git != null) {
      git.descendants().forEach(ProcessHandle::destroyForcibly);
      git.destroyForcibly().waitFor();
    }
    cache.close();
    test.close();
  }

  /** Has git read all refs, and wait while it has the lock of packed-refs. */
  private void beginToPack() throws IOException {
    git =
        new ProcessBuilder("git", "-c", "core.hooksPath=waiting", "pack-refs", "--all")
            .directory(test.folder().toFile())
            .redirectErrorStream(true)
            .start();
    BufferedReader said = new BufferedReader(new InputStreamReader(git.getInputStream(), UTF_8));
    assertThat(said.readLine()).isEqualTo("waits");
  }

  private void endToPack() throws Exception {
    Files.writeString(test.folder().resolve("go-on"), "");
    assertThat(git.waitFor()).isEqualTo(0);
  }

  /** Returns whether the ref is deleted, which it is not while packed-refs is locked. */
  private static boolean isDeleted(RefDatabase by) throws IOException {
    try {
      assertThat(TestRefs.delete(by, NAME)).isEqualTo(RefUpdate.Result.FORCED);
      return true;
    } catch (LockFailedException e) {
      return false;
    }
  }

  private boolean isThereForGit() throws Exception {
    return test.tryGit("show-ref", "--verify", NAME).status() == 0;
  }

  @Test
  void whatTheModuleDeletesDoesNotComeBack() throws Exception {
    beginToPack();
    assertThat(isDeleted(refs)).isFalse();
    assertThat(refs.exactRef(NAME)).isNotNull();
    endToPack();
    assertThat(isThereForGit()).isTrue();
    assertThat(isDeleted(refs)).isTrue();
    assertThat(isThereForGit()).isFalse();
    assertThat(refs.exactRef(NAME)).isNull();
  }

  /** So the soak lets only some JGits delete refs; see {@link JGitDeletion}. */
  @Test
  void whatJGitDeletesComesBackIfItDoesNotLock() throws Exception {
    boolean locks = JGitDeletion.locksPackedRefs(folder.resolve("probe.git"));
    beginToPack();
    assertThat(isDeleted(test.peer())).isNotEqualTo(locks);
    assertThat(isThereForGit()).isEqualTo(locks);
    endToPack();
    assertThat(isThereForGit()).isTrue();
  }
}
