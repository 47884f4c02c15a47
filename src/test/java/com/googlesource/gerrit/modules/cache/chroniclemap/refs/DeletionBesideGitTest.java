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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.BufferedReader;
import java.nio.file.Path;
import org.eclipse.jgit.errors.LockFailedException;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
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

  @Test
  void whatTheModuleDeletesDoesNotComeBack(@TempDir Path folder) throws Exception {
    try (TestRefs test = TestRefs.create(folder.resolve("test.git"), null);
        PackedRefsCache cache = TestRefs.cache(UpdateSettings.DEFAULT)) {
      test.hook(HOOK);
      RefDatabase refs = test.database(cache);
      assertThat(TestRefs.update(refs, NAME, test.id(0))).isEqualTo(RefUpdate.Result.NEW);
      Process git = test.gitWithHook("pack-refs", "--all");
      try (BufferedReader said = git.inputReader(UTF_8)) {
        assertThat(said.readLine()).isEqualTo("waits");
        assertThrows(LockFailedException.class, () -> TestRefs.delete(refs, NAME));
        assertThat(refs.exactRef(NAME)).isNotNull();
        test.letGoOn();
        assertThat(git.waitFor()).isEqualTo(0);
      } finally {
        git.descendants().forEach(ProcessHandle::destroyForcibly);
        git.destroyForcibly();
      }
      assertThat(test.refsOfGit()).containsKey(NAME);
      assertThat(TestRefs.delete(refs, NAME)).isEqualTo(RefUpdate.Result.FORCED);
      assertThat(test.refsOfGit()).doesNotContainKey(NAME);
      assertThat(refs.exactRef(NAME)).isNull();
    }
  }
}
