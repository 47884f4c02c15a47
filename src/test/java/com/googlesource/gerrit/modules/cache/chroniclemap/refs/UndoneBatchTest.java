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
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A batch that fails when some of its refs have their new values, which others have packed. */
@Timeout(120)
class UndoneBatchTest {
  private static final String LOOSE = "refs/heads/a-loose";
  private static final String NEW = "refs/heads/b-new";
  private static final String PACKED = "refs/heads/c-packed";
  private static final String LAST = "refs/heads/last";

  @TempDir Path folder;

  private TestRefs test;
  private RefDatabase refs;

  /** Has git pack refs just before the last one of the batch is to get its value, which fails. */
  private final class PacksAndFails extends RefDisk {
    private boolean isOver;

    @Override
    protected void about(String step, Path file) throws IOException {
      if (!isOver && step.equals("rename") && file.endsWith(LAST)) {
        isOver = true;
        try {
          // Another process heeds no locks of refs when it packs them.
          assertThat(test.tryGit("pack-refs", "--all", "--no-prune").status()).isEqualTo(0);
        } catch (InterruptedException e) {
          throw new IOException(e);
        }
        assertThat(Files.readString(test.folder().resolve("packed-refs"))).contains(NEW);
        throw new IOException("broken");
      }
    }
  }

  @Test
  void allRefsHaveTheirOldValues() throws Exception {
    test = TestRefs.create(folder.resolve("a.git"), null);
    try {
      ObjectId old = test.commits().get(0);
      Files.writeString(
          test.folder().resolve("packed-refs"),
          "# pack-refs with: peeled fully-peeled sorted \n" + old.name() + " " + PACKED + "\n",
          UTF_8);
      Files.writeString(test.folder().resolve(LOOSE), old.name() + "\n");
      PackedRefsFile packed = test.packedRefs();
      PacksAndFails disk = new PacksAndFails();
      refs = test.database(packed, disk, new UpdateSettings(UpdateSettings.By.OWN, 1000, 0));
      Map<String, ObjectId> before = values();

      ObjectId id = test.commits().get(1);
      ReceiveCommand[] commands = {
        new ReceiveCommand(old, id, LOOSE),
        new ReceiveCommand(ObjectId.zeroId(), id, NEW),
        new ReceiveCommand(old, id, PACKED),
        new ReceiveCommand(ObjectId.zeroId(), id, LAST)
      };
      assertThrows(IOException.class, () -> TestRefs.batch(test.repository(), refs, commands));

      assertThat(values()).isEqualTo(before);
      TestRefs.Output git = test.tryGit("for-each-ref", "--format=%(objectname) %(refname)");
      assertWithMessage(git.text()).that(git.status()).isEqualTo(0);
      assertThat(git.text().lines().toList())
          .containsExactly(old.name() + " " + LOOSE, old.name() + " " + PACKED);
    } finally {
      test.close();
    }
  }

  private Map<String, ObjectId> values() throws IOException {
    Map<String, ObjectId> values = new TreeMap<>();
    for (Ref ref : refs.getRefsByPrefix("refs/")) {
      values.put(ref.getName(), ref.getObjectId());
    }
    return values;
  }

  // ---- what happens between two of a batch's steps

  /** Makes and packs a ref before a step, once. */
  private final class Before extends RefDisk {
    private final String step;
    private boolean isOver;

    Before(String step) {
      this.step = step;
    }

    @Override
    protected void about(String what, Path file) throws IOException {
      if (!isOver && what.equals(step) && file.toString().contains("/refs/")) {
        isOver = true;
        try {
          assertThat(
                  test.tryGit("update-ref", "refs/heads/a", test.commits().get(0).name()).status())
              .isEqualTo(0);
          assertThat(test.tryGit("pack-refs", "--all").status()).isEqualTo(0);
        } catch (InterruptedException e) {
          throw new IOException(e);
        }
      }
    }
  }

  private RefDatabase open(RefDisk disk, int maxLooseBatch) throws IOException {
    test = TestRefs.create(folder.resolve("a.git"), null);
    PackedRefsFile packed = test.packedRefs();
    refs = test.database(packed, disk, new UpdateSettings(UpdateSettings.By.OWN, maxLooseBatch, 0));
    return refs;
  }

  private List<ReceiveCommand.Result> create(String... names) throws IOException {
    ReceiveCommand[] commands =
        Arrays.stream(names)
            .map(name -> new ReceiveCommand(ObjectId.zeroId(), test.commits().get(1), name))
            .toArray(ReceiveCommand[]::new);
    var unused = TestRefs.batch(test.repository(), refs, commands);
    return Arrays.stream(commands).map(ReceiveCommand::getResult).toList();
  }

  /** A ref that is made and packed at once after the batch has looked for it. */
  @ParameterizedTest
  @ValueSource(ints = {1000, 0})
  void aNameThatAnotherProcessTakesMeanwhileIsNotGiven(int maxLooseBatch) throws Exception {
    // Locks are links of the journal; the folder is made for the first one.
    Before disk = new Before("make folders");
    open(disk, maxLooseBatch);
    try {
      assertThat(create("refs/heads/a/below", "refs/heads/z"))
          .contains(ReceiveCommand.Result.LOCK_FAILURE);
      assertThat(values()).containsExactly("refs/heads/a", test.commits().get(0));
      assertThat(disk.isOver).isTrue();
    } finally {
      test.close();
    }
  }

  /** Nobody could tell the locks of a killed process, so it must not be killed half done. */
  @Test
  void withoutHardLinksABatchIsJGits() throws Exception {
    RefDisk disk =
        new RefDisk() {
          @Override
          protected void about(String step, Path file) throws IOException {
            if (step.equals("link")) {
              throw new FileSystemException(file.toString(), null, "Operation not supported");
            }
          }
        };
    open(disk, 1000);
    try {
      assertThat(create(NEW, LAST))
          .containsExactly(ReceiveCommand.Result.OK, ReceiveCommand.Result.OK);
      assertThat(values().keySet()).containsExactly(NEW, LAST);
      assertThat(Files.readString(test.folder().resolve("packed-refs"))).contains(NEW);
      assertThat(Files.exists(test.folder().resolve(NEW))).isFalse();
      assertThat(Files.exists(test.folder().resolve(NEW + ".lock"))).isFalse();
    } finally {
      test.close();
    }
  }
}
