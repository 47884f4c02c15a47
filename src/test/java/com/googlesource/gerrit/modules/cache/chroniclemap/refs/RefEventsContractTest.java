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

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jgit.events.RefsChangedEvent;
import org.eclipse.jgit.lib.RefUpdate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/**
 * Listeners are told of own writes as often as by JGit: once for each, and not for packing. Unlike
 * by JGit, they are told of the first change, too. Reading after a write must not tell of it again.
 */
class RefEventsContractTest extends RefsParity {
  private static final String ONE = "refs/heads/one";
  private static final String TWO = "refs/heads/two";

  /** Each step is one write, but for what stands in the repository before anything is read. */
  static final List<RefsScript> WRITES =
      RefsScript.of(
          """
          of the first updates of a fresh repository
            update one A; update one B; update one C; update two A
          of updates and deletions of loose refs
            loose one A; loose two A; update one B; delete one; delete two; update one B
          of updates and deletions of packed refs
            packed one A; packed two A; packed refs/tags/t A; delete two; update one B; delete one;
            delete refs/tags/t
          of what changes nothing
            packed one A; update two A; update two A; update one A; delete none;
            update one B expect C
          of links
            packed one A; link HEAD one; link HEAD one; update HEAD B; link link one; detach HEAD A;
            unlink link
          of atomic batches
            packed one A; batch: two 0>A, three 0>A; batch: four 0>A, one A>B; batch: two A>0, one B>0
          of an atomic batch in a fresh repository
            batch: one 0>A, two 0>A; batch: one A>B, two A>B
          of batches that are not atomic
            packed one A; batch each: two 0>A, three 0>A; batch each: one A>B, two A>0; batch: one B>C
          of a batch that is refused
            packed one A; batch: one 0>A, two 0>A; batch: one/x 0>A, two 0>A
          of packing
            packed one A; update two A; pack; update one B; pack; pack; delete two
          """);

  @ParameterizedTest
  @FieldSource("WRITES")
  void areFiredAsByJGit(RefsScript script) throws Exception {
    List<RefsScript> steps = script.single();
    int writes =
        (int) steps.stream().filter(step -> !step.steps().matches("(loose|packed) .*")).count();
    int given = steps.size() - writes;
    fires(steps.subList(0, given), steps.subList(given, steps.size()));
  }

  /** Compares how many events each step fires; what is given stands there before any reading. */
  private void fires(List<? extends Scenario> given, List<? extends Scenario> steps)
      throws Exception {
    Map<RefsSide, List<Integer>> again = new HashMap<>();
    both(
        side -> {
          again.put(side, new ArrayList<>());
          for (Scenario step : given) {
            step.on(side);
          }
          side.update("refs/heads/first", A);
          side.see("read", side.refs().getRefs().size());
          var unused = side.takeEvents();
          for (Scenario step : steps) {
            step.on(side);
            side.see("events of the write", side.takeEvents());
            side.see("read", side.refs().exactRef(ONE) != null);
            side.see("read", side.refs().getRefsByPrefix("refs/heads/").size());
            again.get(side).add(side.takeEvents());
          }
        });
    // JGit also tells of loose refs that it had not looked at before: of more than was changed.
    for (int i = 0; i < steps.size(); i++) {
      assertWithMessage("told again by reading after step %s", i)
          .that(again.get(ours()).get(i))
          .isAtMost(again.get(jgit()).get(i));
    }
  }

  /** In how many steps it renames is its own affair. */
  @Test
  void ofARename() throws Exception {
    fires(
        List.of(script("packed one A")),
        List.<Scenario>of(
            script("update two A"),
            side -> {
              side.rename(TWO, "refs/heads/three");
              side.see("told", side.takeEvents() > 0);
            }));
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
