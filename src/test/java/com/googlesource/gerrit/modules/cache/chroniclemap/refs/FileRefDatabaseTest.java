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

import com.google.common.base.Throwables;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The database beside JGit's on the same repository. */
class FileRefDatabaseTest {
  /** {@code -Drefs.steps=N} for more. */
  private static final int STEPS = Integer.getInteger("refs.steps", 60);

  @TempDir(factory = InMemory.class)
  Path folder;

  private final Random random = new Random(Long.getLong("refs.seed", 11));
  private final JGitFallbacks failures = new JGitFallbacks();

  /** Null before {@link #open}. */
  @AutoClose private TestRefs testRefs;

  private FileRepository repository;
  private FileRefDatabase refs;
  private RefDirectory peer;
  private List<ObjectId> commits;
  private RandomSteps steps;
  private RefsComparison comparison;

  private void open(@Nullable String trust) throws IOException {
    testRefs = TestRefs.create(folder.resolve("r.git"), trust);
    repository = testRefs.repository();
    peer = testRefs.peer();
    commits = testRefs.commits();
    RefObjects.insert(repository);
    steps = new RandomSteps(random);
    comparison = new RefsComparison(testRefs);
    refs = testRefs.database(failures);
  }

  /** By itself, and in requests, of which each sees its own changes. */
  @ParameterizedTest
  @ValueSource(strings = {"always", "after_open", "never"})
  void answersAsJGitAfterEachOperation(String trust) throws Exception {
    open(trust);
    comparison.compare("at first", refs);
    for (int step = 0; step < STEPS; step++) {
      RefDatabase request = refs.forRequest();
      assertThat(request.getRefs()).isNotNull();
      // Changes something, here, by JGit elsewhere, by native git or by hand.
      RefDatabase by = List.of(refs, request, peer).get(random.nextInt(3));
      RefsSide side = new RefsSide(testRefs, by);
      String change = steps.nextOrByHand(side.values());
      RefsParity.script(change).on(side);
      String when = "step " + step + ": " + change + ", by " + by.getClass();
      comparison.compare(when, refs);
      boolean isOwn =
          by == request && change.matches("(update|delete|detach|unlink|link|rename|batch) .*");
      // A request that has begun sees what others do, or not.
      comparison.compare(when + ", in a request", isOwn ? request : refs.forRequest());
    }
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  /** So do reftables, in the forms that JGit's and git's settings give them. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
  void tablesAnswerAsJGitAfterEachOperation(long seed) throws Exception {
    Random seeded = new Random(seed);
    testRefs =
        TestRefs.createReftable(
            folder.resolve("r.git"),
            Map.of(
                "reftable.blockSize",
                256 << seeded.nextInt(6),
                "reftable.alignBlocks",
                seeded.nextBoolean(),
                "reftable.indexObjects",
                seeded.nextBoolean(),
                "reftable.restartInterval",
                2 << seeded.nextInt(5),
                "reftable.autoRefresh",
                true));
    RefObjects.insert(testRefs.repository());
    RefDatabase tables = testRefs.tables(failures);
    RefDatabase jgit = testRefs.peerRepository().getRefDatabase();
    steps = new RandomSteps(seeded, FileRefDatabaseTest::isOrderedAlike);
    new RefsComparison(testRefs, jgit).compare("at first", tables);
    for (int step = 0; step < STEPS; step++) {
      RefsSide side = new RefsSide(testRefs, seeded.nextBoolean() ? tables : jgit);
      String change = steps.next(side.values());
      RefsParity.script(change).on(side);
      String when = "seed " + seed + ", step " + step + ": " + change;
      new RefsComparison(testRefs, jgit).compare(when, tables);
      assertWithMessage(when).that(TestRefs.values(tables)).isEqualTo(testRefs.refsOfGit());
    }
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  /**
   * JGit cannot write names into one table whose order by UTF-16 is not that of their bytes, and
   * merges tables by either order.
   */
  private static boolean isOrderedAlike(String name) {
    return name.codePoints().noneMatch(Character::isSupplementaryCodePoint);
  }

  /** JGit tells of no change that is the first one it sees. */
  @Test
  void listenersAreToldOfTheFirstChangeAndOfNoReading() throws Exception {
    open(null);
    testRefs.writePacked(commits.get(0), "refs/heads/a");
    AtomicInteger told = new AtomicInteger();
    var unused =
        repository.getListenerList().addRefsChangedListener(event -> told.incrementAndGet());
    assertThat(refs.exactRef("refs/heads/a")).isNotNull();
    assertThat(told.get()).isEqualTo(0);
    assertThat(TestRefs.update(refs, "refs/heads/b", commits.get(0)))
        .isEqualTo(RefUpdate.Result.NEW);
    assertThat(told.get()).isEqualTo(1);
  }

  // ---- who answers

  private void assertAnswersLikeJGit(RefReader.CurrentList current, long expectedFailures)
      throws Exception {
    open(null);
    testRefs.writePacked(commits.get(0), "refs/heads/a", "refs/heads/b");
    RefDatabase asked = new FileRefDatabase(refs, refs.common.reader.with(current), null);
    assertThat(asked.exactRef("refs/heads/a").getObjectId()).isEqualTo(commits.get(0));
    assertThat(TestRefs.values(asked).keySet()).containsExactly("refs/heads/a", "refs/heads/b");
    assertThat(asked.hasRefs()).isTrue();
    assertThat(asked.getConflictingNames("refs/heads/a/b")).containsExactly("refs/heads/a");
    assertThat(asked.getTipsWithSha1(commits.get(0))).hasSize(2);
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
    open(null);
    testRefs.writePacked(commits.get(0), "refs/heads/a");
    assertThat(refs.hasFastTipsWithSha1()).isTrue();
    assertThat(refs.getTipsWithSha1(commits.get(0))).hasSize(1);
    assertThat(refs.hasFastTipsWithSha1()).isTrue();
    // A name that is there twice is left to JGit.
    testRefs.writePacked(commits.get(0), "refs/heads/a", "refs/heads/a");
    assertThat(refs.getTipsWithSha1(commits.get(0))).isNotEmpty();
    assertThat(refs.hasFastTipsWithSha1()).isFalse();
  }

  /** Gerrit's own database of a request parses once for all updates of that; so does this one. */
  @Test
  void updatesByJGitInARequestShareOneOfItsSnapshots() throws Exception {
    open(null);
    RefDirectory jgit = (RefDirectory) repository.getRefDatabase();
    FileRefDatabase byJGit =
        new FileRefDatabase(
            repository,
            jgit,
            refs.common.packedFile,
            TestRefs.writes(refs.common.packedFile, new RefDisk()),
            new UpdateSettings(UpdateSettings.By.JGIT, 1000, 0),
            failures);
    RefDatabase request = byJGit.forRequest();
    RefDatabase snapshot = jgit.createSnapshottingRefDirectory();
    assertThat(request.newBatchUpdate()).isInstanceOf(snapshot.newBatchUpdate().getClass());
    assertThat(byJGit.newBatchUpdate()).isNotInstanceOf(snapshot.newBatchUpdate().getClass());
  }

  // ---- prefixes; see RefsComparison, too

  private void loose(String name, int commit) throws IOException {
    testRefs.write(name, commits.get(commit).name() + "\n");
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
    names.sort(PackedRefsText.BY_BYTES);
    open(null);
    StringBuilder text = new StringBuilder("# pack-refs with: peeled fully-peeled \n");
    for (int i = 0; i < names.size(); i++) {
      if (i % 5 != 0) {
        text.append(commits.get(0).name()).append(' ').append(names.get(i));
        text.append('\n');
      }
    }
    testRefs.write("packed-refs", text.toString());
    for (boolean hasLoose : new boolean[] {false, true}) {
      for (int i = 0; hasLoose && i < names.size(); i += 1 + i % 3) {
        loose(names.get(i), 1);
      }
      RefDatabase ours = testRefs.database(failures);
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

  private static List<String> named(List<Ref> refs) {
    return refs.stream().map(ref -> ref.getName() + " " + ref.getObjectId()).toList();
  }

  /** JGit lists a folder by such a name, and calls its refs so: filters take them for others. */
  @Test
  @SuppressWarnings("deprecation")
  void noOtherNameOfAFolderIsAPrefix() throws Exception {
    open(null);
    loose("refs/heads/a", 0);
    loose("refs/meta/config", 1);
    for (String prefix : List.of("refs//", "refs/heads//", "refs/heads/../meta/")) {
      assertThat(refs.getRefsByPrefix(prefix)).isEmpty();
      assertThat(refs.getRefs(prefix)).isEmpty();
      assertThat(refs.getRefsByPrefix(prefix, "refs/heads/a")).hasSize(1);
    }
    assertThat(refs.exactRef("refs/heads/../meta/config")).isNull();
    assertThat(refs.exactRef("refs/heads/../meta/config", "refs/heads/a")).hasSize(1);
    assertThat(refs.firstExactRef("refs//meta/config")).isNull();
  }
}
