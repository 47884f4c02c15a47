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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Prefixes in all orders of names, and such as are no prefixes; see {@link RefsComparison}, too.
 */
class RefsByPrefixTest {
  @TempDir Path folder;

  private static void loose(TestRefs repository, String name, int commit) throws IOException {
    Path file = repository.folder().resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, repository.commits().get(commit).name() + "\n");
  }

  /** In the order of git, which isn't JGit's, with loose refs among them and over them. */
  @Test
  void namesThatGitSortsInAnotherWay() throws Exception {
    String[] parts = {"a", "\u00e9", "\ue000", "\uff5e", "\ud83d\ude00", "\udbff\udfff"};
    List<String> names = new ArrayList<>(List.of("refs/changes/01/1/1"));
    for (String first : parts) {
      for (String second : parts) {
        for (String third : parts) {
          names.add("refs/heads/" + first + second + "/" + third);
        }
      }
    }
    names.sort((a, b) -> Arrays.compareUnsigned(a.getBytes(UTF_8), b.getBytes(UTF_8)));
    try (TestRefs repository = TestRefs.create(folder.resolve("r.git"), null)) {
      StringBuilder text = new StringBuilder("# pack-refs with: peeled fully-peeled \n");
      for (int i = 0; i < names.size(); i++) {
        if (i % 5 != 0) {
          text.append(repository.commits().get(0).name()).append(' ').append(names.get(i));
          text.append('\n');
        }
      }
      Files.writeString(repository.folder().resolve("packed-refs"), text);
      for (boolean hasLoose : new boolean[] {false, true}) {
        for (int i = 0; hasLoose && i < names.size(); i += 1 + i % 3) {
          loose(repository, names.get(i), 1);
        }
        JGitFallbacks failures = new JGitFallbacks();
        RefDatabase ours = repository.database(failures);
        RefDatabase peer = repository.peer();
        for (String part : parts) {
          String in = "refs/heads/" + part;
          for (String prefix : List.of("", "refs/heads/", in, in + parts[3], in + "\ud83d")) {
            assertThat(named(ours.getRefsByPrefix(prefix)))
                .isEqualTo(named(peer.getRefsByPrefix(prefix)));
            Set<String> without = Set.of(in + parts[4], "refs/changes/", in + "\ud83d");
            assertThat(named(ours.getRefsByPrefixWithExclusions(prefix, without)))
                .isEqualTo(named(peer.getRefsByPrefixWithExclusions(prefix, without)));
          }
          String[] some = {in + parts[2], in + parts[5], "refs/changes/"};
          assertThat(named(ours.getRefsByPrefix(some)))
              .containsExactlyElementsIn(named(peer.getRefsByPrefix(some)));
        }
        assertThat(failures.count.sum()).isEqualTo(0);
      }
    }
  }

  private static List<String> named(List<Ref> refs) {
    return refs.stream().map(ref -> ref.getName() + " " + ref.getObjectId()).toList();
  }

  /** JGit lists a folder by such a name, and calls its refs so: filters take them for others. */
  @Test
  @SuppressWarnings("deprecation")
  void noOtherNameOfAFolderIsAPrefix() throws Exception {
    try (TestRefs repository = TestRefs.create(folder.resolve("r.git"), null)) {
      loose(repository, "refs/heads/a", 0);
      loose(repository, "refs/meta/config", 1);
      RefDatabase ours = repository.database(new JGitFallbacks());
      for (String prefix : List.of("refs//", "refs/heads//", "refs/heads/../meta/")) {
        assertThat(ours.getRefsByPrefix(prefix)).isEmpty();
        assertThat(ours.getRefs(prefix)).isEmpty();
        assertThat(ours.getRefsByPrefix(prefix, "refs/heads/a")).hasSize(1);
      }
      assertThat(ours.exactRef("refs/heads/../meta/config")).isNull();
      assertThat(ours.exactRef("refs/heads/../meta/config", "refs/heads/a")).hasSize(1);
      assertThat(ours.firstExactRef("refs//meta/config")).isNull();
    }
  }
}
