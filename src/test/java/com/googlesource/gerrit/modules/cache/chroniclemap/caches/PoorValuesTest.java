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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import static com.google.common.truth.Truth.assertThat;

import com.google.common.collect.ImmutableList;
import com.google.gerrit.entities.Patch.ChangeType;
import com.google.gerrit.entities.Patch.FileMode;
import com.google.gerrit.entities.Patch.PatchType;
import com.google.gerrit.server.patch.ComparisonType;
import com.google.gerrit.server.patch.filediff.Edit;
import com.google.gerrit.server.patch.filediff.FileDiffOutput;
import com.google.gerrit.server.patch.filediff.TaggedEdit;
import com.google.gerrit.server.patch.gitfilediff.GitFileDiff;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.eclipse.jgit.lib.AbbreviatedObjectId;
import org.eclipse.jgit.lib.ObjectId;
import org.junit.jupiter.api.Test;

/** Which diffs are not worth sending to other servers. */
class PoorValuesTest {
  private static final FileDiffOutput DIFF =
      FileDiffOutput.builder()
          .oldCommitId(ObjectId.zeroId())
          .newCommitId(ObjectId.zeroId())
          .comparisonType(ComparisonType.againstRoot())
          .oldPath(Optional.of("a"))
          .newPath(Optional.of("a"))
          .oldMode(Optional.of(FileMode.REGULAR_FILE))
          .newMode(Optional.of(FileMode.REGULAR_FILE))
          .oldSha(Optional.empty())
          .newSha(Optional.empty())
          .changeType(ChangeType.MODIFIED)
          .patchType(Optional.of(PatchType.UNIFIED))
          .headerLines(ImmutableList.of("header"))
          .edits(
              ImmutableList.of(
                  TaggedEdit.create(Edit.create(0, 1, 0, 1), /* dueToRebase= */ false)))
          .size(1)
          .sizeDelta(0)
          .build();

  private static GitFileDiff part(boolean isNegative) {
    AbbreviatedObjectId id = AbbreviatedObjectId.fromObjectId(ObjectId.zeroId());
    return GitFileDiff.builder()
        .oldId(id)
        .newId(id)
        .oldPath(Optional.of("a"))
        .newPath(Optional.of("a"))
        .oldMode(Optional.of(FileMode.REGULAR_FILE))
        .newMode(Optional.of(FileMode.REGULAR_FILE))
        .changeType(ChangeType.MODIFIED)
        .patchType(Optional.of(PatchType.UNIFIED))
        .fileHeader("header")
        .edits(ImmutableList.of())
        .negative(isNegative ? Optional.of(true) : Optional.empty())
        .build();
  }

  /** Runs on a thread of its own, which has met nothing yet. */
  private static boolean isPoor(FileDiffOutput diff, long nanos, GitFileDiff met) {
    return CompletableFuture.supplyAsync(
            () -> {
              PoorValues.watch();
              PoorValues.seen(met);
              return PoorValues.isPoor(diff, nanos);
            },
            task -> Thread.ofPlatform().start(task))
        .join();
  }

  @Test
  void whatWasGivenUpIsPoor() {
    FileDiffOutput negative =
        FileDiffOutput.createNegative("a", ObjectId.zeroId(), ObjectId.zeroId());
    assertThat(isPoor(negative, /* nanos= */ 1, part(false))).isTrue();
    assertThat(isPoor(DIFF, /* nanos= */ 1, part(true))).isTrue();
    FileDiffOutput empty = FileDiffOutput.empty("a", ObjectId.zeroId(), ObjectId.zeroId());
    assertThat(isPoor(empty, /* nanos= */ 1, part(false))).isTrue();
  }

  @Test
  void whatTookLongIsNot() {
    assertThat(isPoor(DIFF, /* nanos= */ 60_000_000_000L, part(false))).isFalse();
  }
}
