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
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.A;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.B;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.C;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.ZERO;

import java.nio.file.Files;
import java.util.List;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a batch refuses as a whole, and what locks it needs. */
class BatchLimitsContractTest extends RefsParity {
  private static final String ONE = "refs/heads/one";
  private static final String TWO = "refs/heads/two";

  static final List<RefsScript> LIMITS =
      RefsScript.of(
          """
          deletions of packed refs need the lock of packed-refs
            packed one A; packed two B; lock packed-refs; batch atomic: one A>0, two B>0;
            unlock packed-refs; exists refs/heads/one.lock; batch atomic: one A>0, two B>0
          of one at a time while packed-refs is locked
            packed one A; packed two A; lock packed-refs; batch each: one A>B, two A>0, three 0>C;
            unlock packed-refs
          empty folders are not in the way of an atomic one
            mkdir one/x/y; batch atomic: one 0>A, two 0>A; update one B
          empty folders are not in the way of one at a time
            mkdir one/x/y; batch each: one 0>A, two 0>A; update one B
          an atomic one does the same where refs are synced
            config core.fsyncRefFiles true; batch atomic: one 0>A, two 0>A;
            batch atomic: one A>B, two A>0
          one at a time does the same where refs are synced
            config core.fsyncRefFiles true; batch each: one 0>A, two 0>A; batch each: one A>B, two A>0
          a ref is replaced by one below it
            update x A; batch atomic: x A>0, x/y/z 0>B; read x/y/z
          a ref is not replaced by one above it
            update x/y A; batch atomic: x/y A>0, x 0>B; read x/y
          """);

  @ParameterizedTest
  @FieldSource("LIMITS")
  void doesWhatJGitDoes(RefsScript script) throws Exception {
    both(script);
  }

  /** One at a time the current branch is protected, in an atomic batch it is not. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void inANonBareRepository(boolean atomic) throws Exception {
    open(false, null);
    both(
        script(
                """
                update master A; batch: master A>B, two 0>B; batch: master B>0, two B>C;
                batch: two C>0
                """)
            .with(RefsScript.Stored.LOOSE, atomic));
  }

  /** As a header that another program has cut off, or not ended. */
  @Test
  void aCommentThatDoesNotEndHidesNoNewRef() throws Exception {
    both(
        side -> {
          Files.writeString(side.file("packed-refs"), "# pack-refs with: peeled");
          script("update x A; pack; stored x; batch atomic: x A>0, x/y/z 0>B").on(side);
          assertThat(side.values()).containsExactly("refs/heads/x/y/z", B);
        });
  }

  @Test
  void anAtomicOneTakesNoSymbolicRef() throws Exception {
    both(
        side -> {
          side.update(ONE, A);
          ReceiveCommand link = ReceiveCommand.link(ZERO, ONE, "refs/heads/link");
          side.batch(true, new ReceiveCommand(ZERO, A, TWO), link);
          side.link("refs/heads/link", ONE);
          ReceiveCommand unlink = ReceiveCommand.unlink(ONE, ZERO, "refs/heads/link");
          side.batch(true, new ReceiveCommand(ZERO, A, TWO), unlink);
          ReceiveCommand other = ReceiveCommand.link(ONE, TWO, "refs/heads/link");
          side.batch(true, other, new ReceiveCommand(ZERO, A, TWO));
        });
  }

  /** JGit fails there, since it writes them into packed-refs: ours may or may not. */
  @Test
  void othersAreDoneOrRefusedAsAWholeWhilePackedRefsIsLocked() throws Exception {
    betterThanJGit(
        side -> {
          side.packed(ONE, A);
          ReceiveCommand update = new ReceiveCommand(A, B, ONE);
          ReceiveCommand create = new ReceiveCommand(ZERO, C, TWO);
          side.lock("packed-refs");
          side.batch(true, update, create);
          side.unlock("packed-refs");
          boolean done = update.getResult() == ReceiveCommand.Result.OK;
          assertThat(create.getResult() == ReceiveCommand.Result.OK).isEqualTo(done);
          assertThat(side.values().get(ONE)).isEqualTo(done ? B : A);
          assertThat(side.values().get(TWO)).isEqualTo(done ? C : null);
          assertThat(Files.exists(side.file(ONE + ".lock"))).isFalse();
          assertThat(Files.exists(side.file(TWO + ".lock"))).isFalse();
        });
  }
}
