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
import static com.google.common.truth.Truth.assertWithMessage;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A {@code packed-refs} that is a symbolic link, beside native git. */
class LinkedPackedRefsTest {
  private static final String A = "refs/heads/a";

  @TempDir Path folder;
  @AutoClose private TestRefs test;
  private Path link;
  private Path target;
  private final AtomicReference<String> deletion = new AtomicReference<>();

  @BeforeEach
  void create() throws IOException {
    test = TestRefs.create(folder.resolve("r.git"), null);
    link = test.folder().resolve("packed-refs");
    target = Files.createDirectory(folder.resolve("elsewhere")).resolve("refs.txt");
    // A link to a link, as a path that starts at the folder of each.
    Files.createSymbolicLink(folder.resolve("elsewhere/link"), Path.of("refs.txt"));
    Files.createSymbolicLink(link, Path.of("../elsewhere/link"));
  }

  private void assertSame(RefDatabase refs, String... names) throws Exception {
    Map<String, String> seen = TestRefs.values(refs);
    assertThat(seen.keySet()).containsExactlyElementsIn(names);
    assertThat(seen).isEqualTo(test.refsOfGit());
    assertThat(Files.isSymbolicLink(link)).isTrue();
    assertThat(Files.isSymbolicLink(folder.resolve("elsewhere/link"))).isTrue();
    assertThat(TestRefs.lockFiles(folder)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"always", "after_open", "never"})
  void isReadAndWrittenThroughTheLink(String trust) throws Exception {
    test.repository().getConfig().setString("core", null, "trustStat", trust);
    ObjectId one = test.id(0);
    RefDatabase refs = test.database(new RefDisk(), 1000, 1000);
    assertSame(refs);
    for (String name : new String[] {A, "refs/heads/b", "refs/heads/c"}) {
      assertThat(TestRefs.update(refs, name, one)).isEqualTo(RefUpdate.Result.NEW);
    }
    test.pack(refs);
    assertThat(Files.readString(target)).contains(A);
    assertThat(Files.exists(test.folder().resolve(A))).isFalse();
    assertSame(refs, A, "refs/heads/b", "refs/heads/c");

    assertThat(TestRefs.delete(refs, A)).isEqualTo(RefUpdate.Result.FORCED);
    assertSame(refs, "refs/heads/b", "refs/heads/c");
    test.git("update-ref", "-d", "refs/heads/b");
    assertSame(refs, "refs/heads/c");

    // The link leads elsewhere from now on.
    Path other = folder.resolve("other");
    Files.writeString(other, Files.readString(target).replace("heads/c", "heads/d"));
    Files.delete(link);
    Files.createSymbolicLink(link, other);
    assertSame(refs, "refs/heads/d");
    String before = Files.readString(target);
    assertThat(TestRefs.delete(refs, "refs/heads/d")).isEqualTo(RefUpdate.Result.FORCED);
    assertSame(refs);
    assertThat(Files.readString(target)).isEqualTo(before);
  }

  /** Both lock what the link leads to. */
  @Test
  void excludesNativeGit() throws Exception {
    Files.writeString(target, PackedRefsText.HEADER + test.id(0).name() + " " + A + "\n");
    RefDisk disk =
        TestRefs.disk(
            (step, file) -> {
              if (step.equals("rename") && file.endsWith("refs.txt")) {
                deletion.set(test.tryGit("update-ref", "-d", A).text());
              }
            });
    Path lock = Files.createFile(folder.resolve("elsewhere/refs.txt.lock"));
    RefDatabase refs = test.database(disk, 1000, 1000);
    try {
      RefUpdate.Result result = TestRefs.delete(refs, A);
      assertThat(result).isEqualTo(RefUpdate.Result.LOCK_FAILURE);
    } catch (IOException e) {
      assertThat(e).hasMessageThat().contains("packed-refs");
    }
    Files.delete(lock);
    assertSame(refs, A);
    assertThat(TestRefs.delete(refs, A)).isEqualTo(RefUpdate.Result.FORCED);
    assertWithMessage("native git meanwhile").that(deletion.get()).contains("File exists");
    assertSame(refs);
  }
}
