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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.eclipse.jgit.api.PackRefsCommand;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;
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

  private RefDatabase open(RefDisk disk, int maxLooseBatch) {
    return test.database(
        test.packedRefs(), disk, new UpdateSettings(UpdateSettings.By.OWN, maxLooseBatch, 1000));
  }

  private static RefUpdate.Result delete(RefDatabase refs, String name) throws IOException {
    RefUpdate delete = refs.newUpdate(name, false);
    delete.setForceUpdate(true);
    return delete.delete();
  }

  private void assertSame(RefDatabase refs, String... names) throws Exception {
    Map<String, String> seen = new TreeMap<>();
    refs.getRefsByPrefix("refs/").forEach(r -> seen.put(r.getName(), r.getObjectId().name()));
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
    ObjectId one = test.commits().get(0);
    RefDatabase refs = open(new RefDisk(), 1000);
    assertSame(refs);
    for (String name : new String[] {A, "refs/heads/b", "refs/heads/c"}) {
      RefUpdate update = refs.newUpdate(name, false);
      update.setNewObjectId(one);
      assertThat(update.update()).isEqualTo(RefUpdate.Result.NEW);
    }
    refs.packRefs(
        NullProgressMonitor.INSTANCE, new PackRefsCommand(test.repository()).setAll(true));
    assertThat(Files.readString(target)).contains(A);
    assertThat(Files.exists(test.folder().resolve(A))).isFalse();
    assertSame(refs, A, "refs/heads/b", "refs/heads/c");

    assertThat(delete(refs, A)).isEqualTo(RefUpdate.Result.FORCED);
    assertSame(refs, "refs/heads/b", "refs/heads/c");
    assertThat(test.tryGit("update-ref", "-d", "refs/heads/b").status()).isEqualTo(0);
    assertSame(refs, "refs/heads/c");

    // The link leads elsewhere from now on.
    Path other = folder.resolve("other");
    Files.writeString(other, Files.readString(target).replace("heads/c", "heads/d"));
    Files.delete(link);
    Files.createSymbolicLink(link, other);
    assertSame(refs, "refs/heads/d");
    String before = Files.readString(target);
    assertThat(delete(refs, "refs/heads/d")).isEqualTo(RefUpdate.Result.FORCED);
    assertSame(refs);
    assertThat(Files.readString(target)).isEqualTo(before);
  }

  @Test
  void batchesAreWrittenThroughTheLink() throws Exception {
    RefDatabase refs = open(new RefDisk(), 0);
    ObjectId one = test.commits().get(0);
    assertThat(
            TestRefs.batch(
                test.repository(),
                refs,
                new ReceiveCommand(ObjectId.zeroId(), one, A),
                new ReceiveCommand(ObjectId.zeroId(), one, "refs/heads/b")))
        .isTrue();
    assertSame(refs, A, "refs/heads/b");
    assertThat(Files.readString(target)).contains(A);
  }

  /** Both lock what the link leads to. */
  @Test
  void excludesNativeGit() throws Exception {
    Files.writeString(
        target,
        "# pack-refs with: peeled fully-peeled sorted \n" + test.commits().get(0).name() + " " + A);
    Files.writeString(target, Files.readString(target) + "\n");
    RefDisk disk =
        new RefDisk() {
          @Override
          protected void about(String step, Path file) throws IOException {
            if (step.equals("rename") && file.endsWith("refs.txt")) {
              try {
                deletion.set(test.tryGit("update-ref", "-d", A).text());
              } catch (InterruptedException e) {
                throw new IOException(e);
              }
            }
          }
        };
    Path lock = Files.createFile(folder.resolve("elsewhere/refs.txt.lock"));
    RefDatabase refs = open(disk, 1000);
    try {
      RefUpdate.Result result = delete(refs, A);
      assertThat(result).isEqualTo(RefUpdate.Result.LOCK_FAILURE);
    } catch (IOException e) {
      assertThat(e).hasMessageThat().contains("packed-refs");
    }
    Files.delete(lock);
    assertSame(refs, A);
    assertThat(delete(refs, A)).isEqualTo(RefUpdate.Result.FORCED);
    assertWithMessage("native git meanwhile").that(deletion.get()).contains("File exists");
    assertSame(refs);
  }
}
