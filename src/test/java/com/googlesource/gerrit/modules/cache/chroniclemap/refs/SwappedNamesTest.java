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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Atomic batches that replace a ref by one below it, or try the reverse. */
class SwappedNamesTest {
  private static final String ABOVE = "refs/heads/p";
  private static final String BELOW = "refs/heads/p/2/3";

  @TempDir Path folder;

  @AutoClose private TestRefs test;

  /**
   * Replaces a ref.
   *
   * @param reversed whether the batch has the new ref first
   */
  @ParameterizedTest
  @CsvSource({"false, false", "false, true", "true, true"})
  void theNewRefHasItsLog(boolean packed, boolean reversed) throws Exception {
    test = TestRefs.create(folder.resolve("a.git"), null);
    test.repository().getConfig().setBoolean("core", null, "logAllRefUpdates", true);
    test.repository().getConfig().save();
    RefDatabase refs = test.database(test.packedRefs(), new RefDisk(), UpdateSettings.DEFAULT);
    ObjectId id = test.commits().get(0);
    assertThat(execute(refs, new ReceiveCommand(ObjectId.zeroId(), id, ABOVE))).isTrue();
    if (packed) {
      assertThat(test.tryGit("pack-refs", "--all").status()).isEqualTo(0);
    }
    List<ReceiveCommand> commands =
        new ArrayList<>(
            List.of(
                new ReceiveCommand(id, ObjectId.zeroId(), ABOVE),
                new ReceiveCommand(ObjectId.zeroId(), id, BELOW)));
    if (reversed) {
      Collections.reverse(commands);
    }
    assertThat(execute(refs, commands.toArray(ReceiveCommand[]::new))).isTrue();
    assertThat(test.refsOfGit()).containsExactly(BELOW, id.name());
    assertThat(test.repository().getRefDatabase().getReflogReader(BELOW).getReverseEntries())
        .hasSize(1);
    assertThat(test.folder().resolve("logs").resolve(ABOVE).toFile().isFile()).isFalse();
  }

  @Test
  void aRefIsNotReplacedByOneAboveItAsInJGit() throws Exception {
    test = TestRefs.create(folder.resolve("a.git"), null);
    ObjectId id = test.commits().get(0);
    for (RefDatabase refs :
        List.of(
            test.database(test.packedRefs(), new RefDisk(), UpdateSettings.DEFAULT), test.peer())) {
      assertThat(execute(refs, new ReceiveCommand(ObjectId.zeroId(), id, BELOW))).isTrue();
      assertThat(
              execute(
                  refs,
                  new ReceiveCommand(id, ObjectId.zeroId(), BELOW),
                  new ReceiveCommand(ObjectId.zeroId(), id, ABOVE)))
          .isFalse();
      assertThat(execute(refs, new ReceiveCommand(id, ObjectId.zeroId(), BELOW))).isTrue();
    }
  }

  private boolean execute(RefDatabase refs, ReceiveCommand... commands) throws Exception {
    BatchRefUpdate batch = refs.newBatchUpdate();
    batch.setAtomic(true);
    batch.setAllowNonFastForwards(true);
    batch.setRefLogMessage("a batch", false);
    batch.addCommand(commands);
    try (RevWalk walk = new RevWalk(test.repository())) {
      batch.execute(walk, NullProgressMonitor.INSTANCE);
    }
    return batch.getCommands().stream()
        .allMatch(command -> command.getResult() == ReceiveCommand.Result.OK);
  }
}
