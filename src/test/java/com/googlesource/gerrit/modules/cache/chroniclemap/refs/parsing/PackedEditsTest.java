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
package com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing;

import static com.google.common.truth.Truth.assertThat;

import org.eclipse.jgit.lib.ObjectId;
import org.junit.jupiter.api.Test;

class PackedEditsTest {
  private static final ObjectId ID = ObjectId.fromString("1".repeat(40));

  /** Of two who are written together one must not make a folder of the other's ref. */
  @Test
  void aNameIsInTheWayOfThoseAboveAndBelowIt() {
    PackedEdits edits = new PackedEdits();
    edits.set("refs/heads/a/b", ID, null);
    assertThat(edits.areInTheWayOf("refs/heads/a")).isTrue();
    assertThat(edits.areInTheWayOf("refs/heads/a/b/c")).isTrue();
    assertThat(edits.areInTheWayOf("refs/heads/a/b")).isFalse();
    assertThat(edits.areInTheWayOf("refs/heads/a/bc")).isFalse();
    assertThat(edits.areInTheWayOf("refs/heads/a-")).isFalse();
    assertThat(edits.areInTheWayOf("refs/heads/z")).isFalse();
  }
}
