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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
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
    compare("at first");
    for (int step = 0; step < STEPS; step++) {
      RefDatabase request = refs.forRequest();
      assertThat(request.getRefs()).isNotNull();
      // Changes something, here, by JGit elsewhere, by native git or by hand.
      RefDatabase by = List.of(refs, request, peer).get(random.nextInt(3));
      RefsSide side = new RefsSide(testRefs, by);
      String change = steps.nextOrByHand(side.values());
      RefsParity.script(change).on(side);
      String when = "step " + step + ": " + change + ", by " + by.getClass();
      compare(when);
      boolean isOwn =
          by == request && change.matches("(update|delete|detach|unlink|link|rename|batch) .*");
      // A request that has begun sees what others do, or not.
      comparison.compare(when + ", in a request", isOwn ? request : refs.forRequest());
    }
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  private void compare(String after) {
    comparison.compare(after, refs);
  }

  @Test
  void aRefIsNeverMissingWhileItIsPacked() throws Exception {
    open(null);
    assertThat(TestRefs.update(peer, "refs/heads/a", commits.get(0)))
        .isEqualTo(RefUpdate.Result.NEW);
    Threads.meanwhile(
        1,
        thread -> {
          assertThat(refs.exactRef("refs/heads/a")).isNotNull();
          assertThat(refs.getRefsByPrefix("refs/heads/")).hasSize(1);
          assertThat(refs.isNameConflicting("refs/heads/a/b")).isTrue();
        },
        () -> {
          for (int i = 0; i < 60; i++) {
            peer.pack(List.of("refs/heads/a"));
            assertThat(TestRefs.force(peer, "refs/heads/a", commits.get(i % 5)))
                .isNotEqualTo(RefUpdate.Result.LOCK_FAILURE);
          }
        });
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
}
