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

import com.google.common.base.Strings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The journal that the documentation shows, which administrators compare theirs with. */
class JournalSampleTest {
  private static final Path PAGE = Path.of("resources/Documentation/refs-safety.md");
  private static final Pattern SAMPLE =
      Pattern.compile("\\$ cat cache-chroniclemap/(\\S+)\n(.*?\n)\\$ ", Pattern.DOTALL);

  @TempDir Path temp;

  @Test
  void theSampleIsAWholeJournalAndTheStepsAreItsRefs() throws Exception {
    String page = Files.readString(PAGE);
    Matcher sample = SAMPLE.matcher(page);
    assertThat(sample.find()).isTrue();
    Path file = Files.writeString(temp.resolve(sample.group(1)), sample.group(2));
    Journal.Found found = Journal.read(new RefDisk(), file, List.of(file));
    assertThat(found.isWhole()).isTrue();
    assertThat(found.origin()).isNotNull();
    assertThat(found.refs()).hasSize(2);
    for (HeldLocks.LockedRef ref : found.refs()) {
      assertThat(page)
          .contains(
              Strings.lenientFormat(
                  "$ rm %s.lock\n$ git update-ref %s %s\n", ref.name, ref.name, ref.newId.name()));
    }
    assertThat(page).contains("\n" + found.journal().beside("1").getFileName() + "\n");
    assertThat(page)
        .contains("\n" + JournalOwner.ofOthers(file).orElseThrow().getFileName() + "\n");
  }
}
