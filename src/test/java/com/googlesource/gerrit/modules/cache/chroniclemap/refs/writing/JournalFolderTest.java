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

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class JournalFolderTest {
  /** A disk that was read-only for a moment must not leave a repository to JGit for good. */
  @Test
  void updatesAreLeftToJGitForSomeMinutesOnly() {
    JournalFolder journals = new JournalFolder(new RefDisk());
    assertThat(journals.isLeftToJGit(System.nanoTime())).isFalse();
    Exception unused = journals.leaveToJGit("in a test", new IOException("refused by a test"));
    assertThat(journals.isLeftToJGit(System.nanoTime())).isTrue();
    assertThat(journals.isLeftToJGit(System.nanoTime() + TimeUnit.MINUTES.toNanos(11))).isFalse();
  }
}
