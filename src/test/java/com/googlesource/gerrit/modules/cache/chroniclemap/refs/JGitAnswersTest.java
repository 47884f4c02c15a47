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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListMemory;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeSet;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectInserter;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** JGit answers where this package fails; a request reads little and misses nothing. */
class JGitAnswersTest {
  private static final String ID = "a".repeat(40);

  @TempDir Path folder;
  @AutoClose private FileRepository repository;
  private RefDirectory jgit;
  private ListMemory memory;
  private PackedRefsFile file;
  private FileRefDatabase own;
  private final JGitFallbacks failures = new JGitFallbacks();

  @BeforeEach
  void create() throws IOException {
    repository = new FileRepository(folder.resolve("r.git").toFile());
    repository.create(true);
    open();
  }

  private void open() throws IOException {
    repository = new FileRepository(folder.resolve("r.git").toFile());
    jgit = (RefDirectory) repository.getRefDatabase();
    memory = new ListMemory(1 << 30);
    file = TestRefs.packedRefs(folder.resolve("r.git"), memory);
    own =
        new FileRefDatabase(
            repository, jgit, file, TestRefs.writes(file), UpdateSettings.DEFAULT, failures);
  }

  private void pack(String... names) throws IOException {
    StringBuilder text = new StringBuilder(PackedRefsText.HEADER);
    for (String name : names) {
      text.append(ID).append(' ').append(name).append('\n');
    }
    Path next = folder.resolve("next");
    Files.writeString(next, text);
    Files.move(next, folder.resolve("r.git/packed-refs"), StandardCopyOption.ATOMIC_MOVE);
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

  @Test
  void aFaultIsJGitsAndCounted() throws Exception {
    assertAnswersLikeJGit(
        () -> {
          throw new IllegalStateException("a fault of ours");
        },
        5);
  }

  @Test
  void noMemoryIsJGitsAndCounted() throws Exception {
    assertAnswersLikeJGit(
        () -> {
          throw new OutOfMemoryError("Cannot reserve direct buffer memory");
        },
        5);
  }

  @Test
  void aFileThatOnlyWeCannotReadIsJGitsAndCounted() throws Exception {
    assertAnswersLikeJGit(
        () -> {
          throw new IOException("ours");
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
    assertThat(tips(own, ObjectId.fromString(ID))).hasSize(1);
    assertThat(own.hasFastTipsWithSha1()).isFalse();
  }

  private static Set<String> tips(RefDatabase refs, ObjectId id) throws IOException {
    Set<String> tips = new TreeSet<>();
    refs.getTipsWithSha1(id).forEach(ref -> tips.add(ref.toString()));
    return tips;
  }

  @Test
  void tipsOfManyRefsAreThoseOfJGit() throws Exception {
    Random random = new Random(5);
    SortedMap<String, String> lines = PackedRefsText.gerrit(random, 5000);
    Path next = folder.resolve("next");
    for (int i = 0; i < 40; i++) {
      List<String> names = List.copyOf(lines.keySet());
      String some = names.get(random.nextInt(names.size()));
      switch (i % 3) {
        case 0 -> lines.put(some, ID + " " + some + "\n");
        case 1 -> lines.remove(some);
        default -> {
          // The loose file hides the packed ref.
          Path loose = folder.resolve("r.git").resolve(some);
          Files.createDirectories(loose.getParent());
          Files.writeString(loose, i % 2 == 0 ? ID : lines.get(names.get(i)).substring(0, 40));
        }
      }
      Files.write(next, PackedRefsText.text(lines));
      Files.move(next, folder.resolve("r.git/packed-refs"), StandardCopyOption.ATOMIC_MOVE);
      assertThat(tips(own, ObjectId.fromString(ID))).isEqualTo(tips(jgit, ObjectId.fromString(ID)));
      for (int asked = 0; asked < 5; asked++) {
        String line = lines.get(names.get(random.nextInt(names.size())));
        ObjectId id = line == null ? ObjectId.zeroId() : ObjectId.fromString(line.substring(0, 40));
        assertThat(tips(own, id)).isEqualTo(tips(jgit, id));
      }
      assertThat(memory.idIndexBytes()).isGreaterThan(0L);
    }
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  private void trust(String trust) throws Exception {
    repository.getConfig().setString("core", null, "trustStat", trust);
    repository.getConfig().save();
    open();
  }

  /** Gerrit's own database of a request parses once for all updates of that; so does this one. */
  @Test
  void updatesByJGitInARequestShareOneOfItsSnapshots() throws Exception {
    FileRefDatabase byJGit =
        new FileRefDatabase(
            repository,
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

  /** Packing writes {@code packed-refs} and then deletes the loose file. */
  @ParameterizedTest
  @ValueSource(strings = {"always", "after_open", "never"})
  void aRefThatIsPackedInTheMiddleOfARequestIsFound(String trust) throws Exception {
    trust(trust);
    pack("refs/heads/a");
    Path loose = repository.getDirectory().toPath().resolve("refs/heads/b");
    Files.createDirectories(loose.getParent());
    Files.writeString(loose, ID + "\n");
    RefDatabase request = own.forRequest();
    assertThat(names(request)).containsExactly("refs/heads/a", "refs/heads/b");
    pack("refs/heads/a", "refs/heads/b");
    Files.delete(loose);
    assertThat(request.exactRef("refs/heads/b")).isNotNull();
    assertThat(names(request)).containsExactly("refs/heads/a", "refs/heads/b");
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

    RefUpdate delete = request.newUpdate("refs/heads/d", false);
    delete.setForceUpdate(true);
    // Its object is not there, so JGit has no word for it.
    assertThat(delete.delete()).isEqualTo(RefUpdate.Result.NO_CHANGE);
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

  /** What was seen first is not what an update starts from. */
  @Test
  void anUpdateStartsFromWhatIsThere() throws Exception {
    pack("refs/heads/a");
    RefDatabase request = own.forRequest();
    assertThat(request.exactRef("refs/heads/b")).isNull();
    pack("refs/heads/a", "refs/heads/b");
    RefUpdate update = request.newUpdate("refs/heads/b", false);
    assertThat(update.getOldObjectId().name()).isEqualTo(ID);
    update.setExpectedOldObjectId(ObjectId.zeroId());
    update.setNewObjectId(ObjectId.fromString("b".repeat(40)));
    update.setForceUpdate(true);
    assertThat(update.update()).isEqualTo(RefUpdate.Result.LOCK_FAILURE);
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
    ObjectId id;
    try (ObjectInserter inserter = repository.newObjectInserter()) {
      id = inserter.insert(Constants.OBJ_BLOB, new byte[] {1});
      inserter.flush();
    }
    pack("refs/heads/a", "refs/heads/b", "refs/heads/b");
    Files.writeString(
        file.file.toPath(), Files.readString(file.file.toPath()).replace(ID, id.name()));
    RefDatabase request = own.forRequest();
    BatchRefUpdate batch = request.newBatchUpdate().setAtomic(true);
    assertThat(request.exactRef("refs/heads/a")).isNotNull();
    batch.addCommand(
        List.of(
                new ReceiveCommand(id, ObjectId.zeroId(), "refs/heads/a"),
                new ReceiveCommand(ObjectId.zeroId(), id, "refs/heads/c"))
            .subList(0, size));
    try (RevWalk walk = new RevWalk(repository)) {
      batch.execute(walk, NullProgressMonitor.INSTANCE);
    }
    assertThat(batch.getCommands().get(0).getResult()).isEqualTo(ReceiveCommand.Result.OK);
    assertThat(own.exactRef("refs/heads/a")).isNull();
    assertThat(request.exactRef("refs/heads/a")).isNull();
    assertThat(request.exactRef("refs/heads/c") != null).isEqualTo(size == 2);
  }
}
