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

import com.google.gerrit.common.Nullable;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.eclipse.jgit.lib.BatchRefUpdate;
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

/**
 * Requests and updates under {@code core.trustStat = never}: how often they read the content of
 * {@code packed-refs}, and that what they do is right where its attributes hide that it has
 * changed.
 */
class UnderTrustNeverTest {
  private static final FileTime OLD = FileTime.from(Instant.parse("2020-01-01T00:00:00Z"));

  @TempDir Path folder;
  @AutoClose private TestRefs test;
  private PackedRefsFile file;
  private FileRefDatabase refs;
  private final JGitFallbacks failures = new JGitFallbacks();

  @BeforeEach
  void open() throws IOException {
    test = TestRefs.create(folder.resolve("r.git"), null);
    open("never");
    pack("refs/heads/z/b", 0);
    // From here on the attributes that are noted are those of the file.
    assertThat(refs.forRequest().getRefs()).hasSize(1);
  }

  private void open(String trust) {
    test.repository().getConfig().setString("core", null, "trustStat", trust);
    refs = test.database(failures);
    file = refs.common.packedFile;
  }

  private static List<String> names(RefDatabase refs) throws IOException {
    return List.copyOf(TestRefs.values(refs).keySet());
  }

  /** Has the file hold one ref; it has the same attributes each time. */
  private void pack(String name, int commit) throws IOException {
    Files.writeString(
        file.file.toPath(), PackedRefsText.HEADER + test.id(commit).name() + " " + name + "\n");
    Files.setLastModifiedTime(file.file.toPath(), OLD);
  }

  private long readings() {
    return file.counts.readings.sum();
  }

  private static RefUpdate.Result create(RefDatabase refs, String name, ObjectId id)
      throws IOException {
    return TestRefs.force(refs, name, ObjectId.zeroId(), id);
  }

  /** Changes a ref in a batch with another one that is made. */
  private ReceiveCommand.Result batch(RefDatabase refs, String name, @Nullable Integer from)
      throws IOException {
    ReceiveCommand command = test.command(name, from, 1);
    ReceiveCommand other = test.command(name + "-other", null, 1);
    var unused = TestRefs.batch(test.repository(), refs, command, other);
    return command.getResult();
  }

  @Test
  void anUpdateReadsTheContentOnce() throws Exception {
    for (RefDatabase asked : List.of(refs, refs.forRequest())) {
      String name = "refs/heads/" + (asked == refs);
      long before = readings();
      assertThat(create(asked, name + "/1", test.id(0))).isEqualTo(RefUpdate.Result.NEW);
      assertThat(readings()).isEqualTo(before + 1);
      assertThat(batch(asked, name + "/2", null)).isEqualTo(ReceiveCommand.Result.OK);
      assertThat(readings()).isEqualTo(before + 2);
    }
  }

  @Test
  void aShortNameReadsTheContentOnce() throws Exception {
    long before = readings();
    assertThat(refs.findRef("z/b").getName()).isEqualTo("refs/heads/z/b");
    assertThat(readings()).isEqualTo(before + 1);
  }

  @Test
  void aRefusedBatchReadsTheContentAsOftenHoweverManyNamesItHas() throws Exception {
    pack("refs/heads/a", 0);
    assertThat(refs.getRefs()).hasSize(1);
    Set<Long> counts = new HashSet<>();
    for (int names : new int[] {2, 20}) {
      ReceiveCommand[] commands = new ReceiveCommand[names];
      for (int i = 0; i < names; i++) {
        commands[i] = test.command((i == names - 1 ? "refs/heads/a/" : "refs/heads/") + i, null, 1);
      }
      long before = readings();
      var unused = TestRefs.batch(test.repository(), refs, commands);
      assertThat(commands[names - 1].getResult()).isEqualTo(ReceiveCommand.Result.LOCK_FAILURE);
      counts.add(readings() - before);
    }
    assertThat(counts).hasSize(1);
  }

  @Test
  void aConflictThatTheAttributesHideIsFound() throws Exception {
    pack("refs/heads/a/b", 0);
    assertThat(create(refs, "refs/heads/a", test.id(1))).isEqualTo(RefUpdate.Result.LOCK_FAILURE);
    pack("refs/heads/c/b", 0);
    assertThat(batch(refs, "refs/heads/c", null)).isEqualTo(ReceiveCommand.Result.LOCK_FAILURE);
    assertThat(test.peer().getRefsByPrefix("refs/heads/a")).isEmpty();
    assertThat(refs.getRefs()).hasSize(1);
  }

  @Test
  void aConflictThatIsOverRefusesNothing() throws Exception {
    pack("refs/heads/a/b", 0);
    assertThat(create(refs, "refs/heads/z", test.id(1))).isEqualTo(RefUpdate.Result.NEW);
    // What was read last is a/b.
    pack("refs/heads/c/b", 0);
    assertThat(batch(refs, "refs/heads/a", null)).isEqualTo(ReceiveCommand.Result.OK);
  }

  @Test
  void aValueThatTheAttributesHideIsCompared() throws Exception {
    pack("refs/heads/z/b", 2);
    RefUpdate update = TestRefs.forced(refs, "refs/heads/z/b", test.id(1));
    update.setExpectedOldObjectId(test.id(0));
    assertThat(update.update()).isEqualTo(RefUpdate.Result.LOCK_FAILURE);
    assertThat(update.getOldObjectId()).isEqualTo(test.id(2));
    pack("refs/heads/z/b", 3);
    assertThat(batch(refs, "refs/heads/z/b", 2)).isEqualTo(ReceiveCommand.Result.LOCK_FAILURE);
    assertThat(refs.exactRef("refs/heads/z/b").getObjectId()).isEqualTo(test.id(3));
  }

  // ---- requests

  @Test
  void aRequestThatMayNotTrustAttributesReadsTheContentWhenItBegins() throws Exception {
    pack("refs/heads/a", 0);
    assertThat(names(refs.forRequest())).containsExactly("refs/heads/a");
    pack("refs/heads/b", 0);
    RefDatabase request = refs.forRequest();
    assertThat(names(request)).containsExactly("refs/heads/b");
    long readings = readings();
    for (int i = 0; i < 5; i++) {
      assertThat(names(request)).containsExactly("refs/heads/b");
      assertThat(request.exactRef("refs/heads/b")).isNotNull();
    }
    assertThat(readings()).isEqualTo(readings);
    // Each question of somebody else reads it.
    assertThat(names(refs)).containsExactly("refs/heads/b");
    assertThat(readings()).isEqualTo(readings + 1);
  }

  @Test
  void aRequestThatUpdatesReadsTheContentAgain() throws Exception {
    pack("refs/heads/a", 0);
    RefDatabase request = refs.forRequest();
    assertThat(names(request)).containsExactly("refs/heads/a");
    // Each try begins an update, so what it was refused for is seen by the next one.
    for (String name : List.of("refs/heads/b", "refs/heads/c")) {
      pack(name, 0);
      assertThat(request.newUpdate("refs/heads/x", false)).isNotNull();
      assertThat(names(request)).containsExactly(name);
    }
    pack("refs/heads/d", 0);
    assertThat(request.newBatchUpdate()).isNotNull();
    assertThat(names(request)).containsExactly("refs/heads/d");

    assertThat(TestRefs.delete(request, "refs/heads/d")).isEqualTo(RefUpdate.Result.FORCED);
    assertThat(request.exactRef("refs/heads/d")).isNull();
    assertThat(names(request)).isEmpty();
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"always", "after_open", "never"})
  void aRefreshReadsTheContentAgain(String trust) throws Exception {
    open(trust);
    pack("refs/heads/a", 0);
    for (RefDatabase database : List.of(refs, refs.forRequest())) {
      assertThat(names(database)).isNotEmpty();
      for (String name : List.of("refs/heads/b", "refs/heads/c")) {
        pack(name, 0);
        database.refresh();
        assertThat(names(database)).containsExactly(name);
      }
    }
  }

  @Test
  void aRequestWithABrokenFileReadsItOnceUntilItIsRefreshed() throws Exception {
    test.writePacked(test.id(0), "refs/heads/a", "refs/heads/a");
    RefDatabase request = refs.forRequest();
    assertThat(request.exactRef("refs/heads/a").getObjectId()).isEqualTo(test.id(0));
    test.writePacked(test.id(0), "refs/heads/b", "refs/heads/b");
    // As with JGit's own database of a request.
    assertThat(request.exactRef("refs/heads/a").getObjectId()).isEqualTo(test.id(0));
    assertThat(refs.exactRef("refs/heads/a")).isNull();
    request.refresh();
    assertThat(request.exactRef("refs/heads/a")).isNull();
    assertThat(request.exactRef("refs/heads/b")).isNotNull();
  }

  /**
   * JGit writes the batch, as the file is broken, and not by the database that the request reads.
   */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void aRequestSeesItsBatchThatIsLeftToJGit(int size) throws Exception {
    test.writePacked(test.id(0), "refs/heads/a", "refs/heads/b", "refs/heads/b");
    RefDatabase request = refs.forRequest();
    BatchRefUpdate batch = request.newBatchUpdate().setAtomic(true);
    assertThat(request.exactRef("refs/heads/a")).isNotNull();
    batch.addCommand(
        List.of(test.command("refs/heads/a", 0, null), test.command("refs/heads/c", null, 0))
            .subList(0, size));
    TestRefs.execute(test.repository(), batch);
    assertThat(batch.getCommands().get(0).getResult()).isEqualTo(ReceiveCommand.Result.OK);
    assertThat(refs.exactRef("refs/heads/a")).isNull();
    assertThat(request.exactRef("refs/heads/a")).isNull();
    assertThat(request.exactRef("refs/heads/c") != null).isEqualTo(size == 2);
  }
}
