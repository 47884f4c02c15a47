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
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.A;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.B;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.C;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.ZERO;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jgit.events.RefsChangedEvent;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Listeners are told of own writes as often as by JGit: once for each, but not for the first change
 * that a database sees, and not for packing.
 *
 * <p>Each is done in a repository that nobody has read yet, and in one whose refs were listed.
 * Reading after a write must not tell of it again. After a read of some refs only, JGit also tells
 * of those that it finds as it writes; that is no promise.
 */
@ParameterizedClass
@EnumSource(RefEventsContractTest.Before.class)
class RefEventsContractTest extends RefsParity {
  private static final String ONE = "refs/heads/one";
  private static final String TWO = "refs/heads/two";

  /** What was read before. */
  enum Before {
    NOTHING,
    ALL
  }

  private final Before before;

  RefEventsContractTest(Before before) {
    this.before = before;
  }

  /** Something that is done to refs. */
  @FunctionalInterface
  private interface Step {
    void on(RefsSide side) throws Exception;
  }

  /**
   * Compares what is told of each step.
   *
   * @param given what stands in the repository before anything is read
   */
  private void tells(Step given, Step... steps) throws Exception {
    Map<RefsSide, List<Integer>> again = new HashMap<>();
    both(
        side -> {
          again.put(side, new ArrayList<>());
          given.on(side);
          switch (before) {
            case NOTHING -> {}
            case ALL -> side.see("read", side.refs().getRefs().size());
          }
          side.see("events of the first look", side.takeEvents());
          for (Step step : steps) {
            step.on(side);
            side.see("events of the write", side.takeEvents());
            side.see("read", side.refs().exactRef(ONE) != null);
            side.see("read", side.refs().getRefsByPrefix("refs/heads/").size());
            again.get(side).add(side.takeEvents());
          }
        });
    // JGit also tells of loose refs that it had not looked at before: of more than was changed.
    for (int i = 0; i < steps.length; i++) {
      assertWithMessage("told again by reading after step %s", i)
          .that(again.get(ours()).get(i))
          .isAtMost(again.get(jgit()).get(i));
    }
  }

  private static ReceiveCommand create(String name) {
    return new ReceiveCommand(ZERO, A, name);
  }

  @Test
  void ofTheFirstUpdatesOfAFreshRepository() throws Exception {
    tells(
        side -> {},
        side -> side.update(ONE, A),
        side -> side.update(ONE, B),
        side -> side.update(ONE, C),
        side -> side.update(TWO, A));
  }

  @Test
  void ofUpdatesAndDeletionsOfLooseRefs() throws Exception {
    tells(
        side -> {
          side.loose(ONE, A);
          side.loose(TWO, A);
        },
        side -> side.update(ONE, B),
        side -> side.delete(ONE),
        side -> side.delete(TWO),
        side -> side.update(ONE, B));
  }

  @Test
  void ofUpdatesAndDeletionsOfPackedRefs() throws Exception {
    tells(
        side -> {
          side.packed(ONE, A);
          side.packed(TWO, A);
          side.packed("refs/tags/t", A);
        },
        side -> side.delete(TWO),
        side -> side.update(ONE, B),
        side -> side.delete(ONE),
        side -> side.delete("refs/tags/t"));
  }

  @Test
  void ofWhatChangesNothing() throws Exception {
    tells(
        side -> side.packed(ONE, A),
        side -> side.update(TWO, A),
        side -> side.update(TWO, A),
        side -> side.update(ONE, A),
        side -> side.delete("refs/heads/none"),
        side -> side.update(ONE, B, update -> update.setExpectedOldObjectId(C)));
  }

  @Test
  void ofLinks() throws Exception {
    tells(
        side -> side.packed(ONE, A),
        side -> side.link("HEAD", ONE),
        side -> side.link("HEAD", ONE),
        side -> side.update("HEAD", B),
        side -> side.link("refs/heads/link", ONE),
        side -> side.detach("HEAD", A),
        side -> side.deleteDetached("refs/heads/link"));
  }

  @Test
  void ofAtomicBatches() throws Exception {
    tells(
        side -> side.packed(ONE, A),
        side -> side.batch(true, create(TWO), create("refs/heads/three")),
        side -> side.batch(true, create("refs/heads/four"), new ReceiveCommand(A, B, ONE)),
        side ->
            side.batch(true, new ReceiveCommand(A, ZERO, TWO), new ReceiveCommand(B, ZERO, ONE)));
  }

  @Test
  void ofAnAtomicBatchInAFreshRepository() throws Exception {
    tells(
        side -> {},
        side -> side.batch(true, create(ONE), create(TWO)),
        side -> side.batch(true, new ReceiveCommand(A, B, ONE), new ReceiveCommand(A, B, TWO)));
  }

  @Test
  void ofBatchesThatAreNotAtomic() throws Exception {
    tells(
        side -> side.packed(ONE, A),
        side -> side.batch(false, create(TWO), create("refs/heads/three")),
        side -> side.batch(false, new ReceiveCommand(A, B, ONE), new ReceiveCommand(A, ZERO, TWO)),
        side -> side.batch(true, new ReceiveCommand(B, C, ONE)));
  }

  @Test
  void ofABatchThatIsRefused() throws Exception {
    tells(
        side -> side.packed(ONE, A),
        side -> side.batch(true, create(ONE), create(TWO)),
        side -> side.batch(true, create("refs/heads/one/x"), create(TWO)));
  }

  @Test
  void ofPacking() throws Exception {
    tells(
        side -> side.packed(ONE, A),
        side -> side.update(TWO, A),
        RefsSide::pack,
        side -> side.update(ONE, B),
        RefsSide::pack,
        RefsSide::pack,
        side -> side.delete(TWO));
  }

  /** In how many steps it renames is its own affair. */
  @Test
  void ofARename() throws Exception {
    tells(
        side -> side.packed(ONE, A),
        side -> side.update(TWO, A),
        side -> {
          side.rename(TWO, "refs/heads/three");
          side.see("told", side.takeEvents() > 0);
        });
  }

  /** A change by others is told when it is seen, once. */
  @Test
  void ofWhatOthersPack() throws Exception {
    both(
        side -> {
          side.packed(ONE, A);
          side.update(TWO, A);
          side.see("read", side.refs().exactRef(ONE) != null);
          side.takeEvents();
          side.packed(ONE, B);
          side.see("read", side.refs().exactRef(ONE).getObjectId());
          side.see("told", side.takeEvents());
          side.see("read", side.refs().exactRef(ONE).getObjectId());
          side.see("told again", side.takeEvents());
        });
  }

  /** A listener may read the refs without an end to it. */
  @Test
  void toAListenerThatReads() throws Exception {
    both(
        side -> {
          side.loose(ONE, A);
          AtomicInteger told = new AtomicInteger();
          side.repository()
              .getListenerList()
              .addRefsChangedListener(
                  (RefsChangedEvent event) -> {
                    told.incrementAndGet();
                    side.attempt("listener reads", () -> side.refs().getRefs().size());
                  });
          side.see("read", side.refs().getRefs().size());
          side.update(ONE, B);
          side.update(TWO, B);
          side.delete(ONE);
          side.see("told", told.get());
        });
  }

  /** And it sees what it is told of. */
  @Test
  void afterItIsWritten() throws Exception {
    openBare();
    for (RefsSide side : new RefsSide[] {ours(), jgit()}) {
      side.update(ONE, A);
      AtomicInteger seen = new AtomicInteger();
      side.repository()
          .getListenerList()
          .addRefsChangedListener(
              (RefsChangedEvent event) ->
                  side.attempt(
                      "reads",
                      () -> {
                        if (B.equals(side.refs().exactRef(ONE).getObjectId())) {
                          seen.incrementAndGet();
                        }
                        return null;
                      }));
      RefUpdate update = side.newUpdate(ONE, false, B);
      assertThat(update.update()).isEqualTo(RefUpdate.Result.FAST_FORWARD);
      assertThat(seen.get()).isEqualTo(1);
    }
  }
}
