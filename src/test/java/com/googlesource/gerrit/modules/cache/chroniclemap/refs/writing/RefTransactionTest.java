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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing;

import static com.google.common.truth.Truth.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RepositoryFiles;
import java.nio.file.Path;
import java.util.List;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What others do between the stages of a transaction. */
class RefTransactionTest {
  @TempDir Path folder;

  /** Whether {@code x} gets a line or a file, it is not there beside {@code x/y}. */
  @ParameterizedTest
  @ValueSource(ints = {1, 1000})
  void aRefThatGitPacksMeanwhileIsNoFolder(int maxLooseBatch) throws Exception {
    try (TestRefs refs = TestRefs.create(folder.resolve("r.git"), null)) {
      FileRepository repository = refs.peerRepository();
      PackedRefsFile packed = refs.packedRefs();
      RepositoryWriter writes = TestRefs.writes(packed, new RefDisk());
      RepositoryFiles files =
          new RepositoryFiles(
              repository,
              (RefDirectory) repository.getRefDatabase(),
              packed,
              writes.transactions,
              count -> {});
      UpdateContext context =
          new UpdateContext(
              files, writes, new UpdateSettings(UpdateSettings.By.OWN, maxLooseBatch, 0));
      ObjectId id = refs.commits().get(0);
      assertThat(refs.tryGit("update-ref", "refs/heads/d", id.name()).status()).isEqualTo(0);
      assertThat(refs.tryGit("pack-refs", "--all").status()).isEqualTo(0);
      RefTransaction transaction =
          new RefTransaction(
              context,
              List.of(
                  new ReceiveCommand(id, ObjectId.zeroId(), "refs/heads/d"),
                  new ReceiveCommand(ObjectId.zeroId(), id, "refs/heads/x")));
      try (transaction;
          RevWalk walk = new RevWalk(repository)) {
        transaction.lock(0);
        transaction.checkExpected();
        transaction.write(walk);
        assertThat(refs.tryGit("update-ref", "refs/heads/x/y", id.name()).status()).isEqualTo(0);
        assertThat(refs.tryGit("pack-refs", "--all").status()).isEqualTo(0);
        assertThrows(RefusedException.class, transaction::run);
      }
      assertThat(refs.refsOfGit().keySet()).containsAtLeast("refs/heads/d", "refs/heads/x/y");
      assertThat(refs.refsOfGit()).doesNotContainKey("refs/heads/x");
      assertThat(refs.lockFiles()).isEmpty();
      writes.close();
    }
  }
}
