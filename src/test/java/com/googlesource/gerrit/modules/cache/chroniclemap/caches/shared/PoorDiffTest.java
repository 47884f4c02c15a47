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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared;

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
import org.eclipse.jgit.lib.AbbreviatedObjectId;
import org.eclipse.jgit.lib.ObjectId;
import org.junit.jupiter.api.Test;

/** Which values Gerrit makes for want of better ones, and other Gerrits must not get. */
class PoorDiffTest {
  private static final ObjectId ID = ObjectId.zeroId();

  private static GitFileDiff ofFile(boolean isNegative) {
    return GitFileDiff.builder()
        .edits(ImmutableList.of())
        .fileHeader("")
        .oldPath(Optional.empty())
        .newPath(Optional.of("a"))
        .oldId(AbbreviatedObjectId.fromObjectId(ID))
        .newId(AbbreviatedObjectId.fromObjectId(ID))
        .oldMode(Optional.empty())
        .newMode(Optional.of(FileMode.REGULAR_FILE))
        .changeType(ChangeType.ADDED)
        .patchType(Optional.of(PatchType.UNIFIED))
        .negative(isNegative ? Optional.of(true) : Optional.empty())
        .build();
  }

  @Test
  void aDiffThatGerritHasGivenUpIsPoor() {
    assertThat(SharedCache.isPoor(ofFile(true))).isTrue();
    assertThat(SharedCache.isPoor(ofFile(false))).isFalse();
    assertThat(SharedCache.isPoor(FileDiffOutput.createNegative("a", ID, ID))).isTrue();
  }

  /** Gerrit's answer if the message of a commit cannot be read. */
  @Test
  void anEmptyDiffIsPoor() {
    FileDiffOutput empty = FileDiffOutput.empty("/COMMIT_MSG", ID, ID);
    assertThat(SharedCache.isPoor(empty)).isTrue();
    FileDiffOutput good =
        empty.toBuilder()
            .comparisonType(ComparisonType.againstRoot())
            .edits(ImmutableList.of(TaggedEdit.create(Edit.create(0, 0, 0, 1), false)))
            .build();
    assertThat(SharedCache.isPoor(good)).isFalse();
  }

  @Test
  void anythingElseIsNot() {
    assertThat(SharedCache.isPoor("a value")).isFalse();
  }
}
