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

import com.google.common.base.Throwables;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
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
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** JGit answers where this package fails; a request reads little and misses nothing. */
class JGitAnswersTest {
  private static final String ID = "a".repeat(40);

  @TempDir Path folder;
  @AutoClose private TestRefs test;
  private PackedRefsFile file;
  private FileRefDatabase own;
  private final JGitFallbacks failures = new JGitFallbacks();

  @BeforeEach
  void create() throws IOException {
    test = TestRefs.create(folder.resolve("r.git"), null);
    open();
  }

  private void open() {
    own = test.database(failures);
    file = own.common.packedFile;
  }

  private void pack(String... names) throws IOException {
    test.writePacked(ObjectId.fromString(ID), names);
  }

  private static List<String> names(RefDatabase refs) throws IOException {
    return refs.getRefsByPrefix("refs/").stream().map(ref -> ref.getName()).toList();
  }

  private void assertAnswersLikeJGit(RefReader.CurrentList current, long expectedFailures)
      throws Exception {
    pack("refs/heads/a", "refs/heads/b");
    RefDatabase refs = new FileRefDatabase(own, own.common.reader.with(current), null);
    assertThat(refs.exactRef("refs/heads/a").getObjectId().name()).isEqualTo(ID);
    assertThat(names(refs)).containsExactly("refs/heads/a", "refs/heads/b").inOrder();
    assertThat(refs.hasRefs()).isTrue();
    assertThat(refs.getConflictingNames("refs/heads/a/b")).containsExactly("refs/heads/a");
    assertThat(refs.getTipsWithSha1(ObjectId.fromString(ID))).hasSize(2);
    assertThat(failures.count.sum()).isEqualTo(expectedFailures);
  }

  static List<Throwable> faults() {
    return List.of(
        new IllegalStateException("a fault of ours"),
        new OutOfMemoryError("Cannot reserve direct buffer memory"),
        new IOException("of a file that only ours cannot read"));
  }

  @ParameterizedTest
  @MethodSource("faults")
  void aFaultIsJGitsAndCounted(Throwable fault) throws Exception {
    assertAnswersLikeJGit(
        () -> {
          Throwables.throwIfInstanceOf(fault, IOException.class);
          Throwables.throwIfUnchecked(fault);
          throw new AssertionError(fault);
        },
        5);
  }

  @Test
  void whatIsLeftToJGitIsNoFault() throws Exception {
    assertAnswersLikeJGit(() -> null, 0);
  }

  @Test
  void tipsAreFastUnlessJGitAnswers() throws Exception {
    pack("refs/heads/a");
    assertThat(own.hasFastTipsWithSha1()).isTrue();
    assertThat(own.getTipsWithSha1(ObjectId.fromString(ID))).hasSize(1);
    assertThat(own.hasFastTipsWithSha1()).isTrue();
    // A name that is there twice is left to JGit.
    pack("refs/heads/a", "refs/heads/a");
    assertThat(own.getTipsWithSha1(ObjectId.fromString(ID))).isNotEmpty();
    assertThat(own.hasFastTipsWithSha1()).isFalse();
  }

  private void trust(String trust) throws Exception {
    test.close();
    test = TestRefs.create(folder.resolve(trust + ".git"), trust);
    open();
  }

  /** Gerrit's own database of a request parses once for all updates of that; so does this one. */
  @Test
  void updatesByJGitInARequestShareOneOfItsSnapshots() throws Exception {
    RefDirectory jgit = (RefDirectory) test.repository().getRefDatabase();
    FileRefDatabase byJGit =
        new FileRefDatabase(
            test.repository(),
            jgit,
            file,
            TestRefs.writes(file),
            new UpdateSettings(UpdateSettings.By.JGIT, 1000, 0),
            failures);
    RefDatabase request = byJGit.forRequest();
    RefDatabase snapshot = jgit.createSnapshottingRefDirectory();
    assertThat(request.newBatchUpdate()).isInstanceOf(snapshot.newBatchUpdate().getClass());
    assertThat(byJGit.newBatchUpdate()).isNotInstanceOf(snapshot.newBatchUpdate().getClass());
  }

  /** Makes the file's time one that no clock's precision puts in doubt, whatever it holds. */
  private void age() throws IOException {
    Files.setLastModifiedTime(
        file.file.toPath(), FileTime.from(Instant.parse("2020-01-01T00:00:00Z")));
  }

  /** The file as another server writes it, while this one still has its old attributes. */
  private void packUnseen(String name) throws IOException {
    Files.writeString(file.file.toPath(), PackedRefsText.HEADER + ID + " " + name + "\n");
    age();
  }

  @Test
  void aRequestThatMayNotTrustAttributesReadsTheContentWhenItBegins() throws Exception {
    trust("never");
    packUnseen("refs/heads/a");
    assertThat(names(own.forRequest())).containsExactly("refs/heads/a");
    packUnseen("refs/heads/b");
    RefDatabase request = own.forRequest();
    assertThat(names(request)).containsExactly("refs/heads/b");
    long readings = file.counts.readings.sum();
    for (int i = 0; i < 5; i++) {
      assertThat(names(request)).containsExactly("refs/heads/b");
      assertThat(request.exactRef("refs/heads/b")).isNotNull();
    }
    assertThat(file.counts.readings.sum()).isEqualTo(readings);
    // Each question of somebody else reads it.
    assertThat(names(own)).containsExactly("refs/heads/b");
    assertThat(file.counts.readings.sum()).isEqualTo(readings + 1);
  }

  @Test
  void aRequestThatUpdatesReadsTheContentAgain() throws Exception {
    trust("never");
    packUnseen("refs/heads/a");
    RefDatabase request = own.forRequest();
    assertThat(names(request)).containsExactly("refs/heads/a");
    // Each try begins an update, so what it was refused for is seen by the next one.
    for (String name : List.of("refs/heads/b", "refs/heads/c")) {
      packUnseen(name);
      assertThat(request.newUpdate("refs/heads/x", false)).isNotNull();
      assertThat(names(request)).containsExactly(name);
    }
    packUnseen("refs/heads/d");
    assertThat(request.newBatchUpdate()).isNotNull();
    assertThat(names(request)).containsExactly("refs/heads/d");

    // Its object is not there, so JGit has no word for it.
    assertThat(TestRefs.delete(request, "refs/heads/d")).isEqualTo(RefUpdate.Result.NO_CHANGE);
    assertThat(request.exactRef("refs/heads/d")).isNull();
    assertThat(names(request)).isEmpty();
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"always", "after_open", "never"})
  void aRefreshReadsTheContentAgain(String trust) throws Exception {
    trust(trust);
    packUnseen("refs/heads/a");
    for (RefDatabase database : List.of(own, own.forRequest())) {
      assertThat(names(database)).isNotEmpty();
      for (String name : List.of("refs/heads/b", "refs/heads/c")) {
        packUnseen(name);
        database.refresh();
        assertThat(names(database)).containsExactly(name);
      }
    }
  }

  @Test
  void aRequestWithABrokenFileReadsItOnceUntilItIsRefreshed() throws Exception {
    trust("never");
    pack("refs/heads/a", "refs/heads/a");
    RefDatabase request = own.forRequest();
    assertThat(request.exactRef("refs/heads/a").getObjectId().name()).isEqualTo(ID);
    pack("refs/heads/b", "refs/heads/b");
    // As with JGit's own database of a request.
    assertThat(request.exactRef("refs/heads/a").getObjectId().name()).isEqualTo(ID);
    assertThat(own.exactRef("refs/heads/a")).isNull();
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
    trust("never");
    ObjectId id = test.id(0);
    test.writePacked(id, "refs/heads/a", "refs/heads/b", "refs/heads/b");
    RefDatabase request = own.forRequest();
    BatchRefUpdate batch = request.newBatchUpdate().setAtomic(true);
    assertThat(request.exactRef("refs/heads/a")).isNotNull();
    batch.addCommand(
        List.of(
                new ReceiveCommand(id, ObjectId.zeroId(), "refs/heads/a"),
                new ReceiveCommand(ObjectId.zeroId(), id, "refs/heads/c"))
            .subList(0, size));
    TestRefs.execute(test.repository(), batch);
    assertThat(batch.getCommands().get(0).getResult()).isEqualTo(ReceiveCommand.Result.OK);
    assertThat(own.exactRef("refs/heads/a")).isNull();
    assertThat(request.exactRef("refs/heads/a")).isNull();
    assertThat(request.exactRef("refs/heads/c") != null).isEqualTo(size == 2);
  }
}
