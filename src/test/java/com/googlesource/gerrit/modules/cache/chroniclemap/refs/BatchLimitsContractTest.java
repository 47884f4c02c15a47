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
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a batch refuses as a whole, and what locks it needs. */
class BatchLimitsContractTest extends RefsParity {
  private static final String ONE = "refs/heads/one";
  private static final String TWO = "refs/heads/two";

  @Test
  void anAtomicOneTakesNoSymbolicRef() throws Exception {
    both(
        side -> {
          side.update(ONE, A);
          side.batch(
              true,
              new ReceiveCommand(ZERO, A, TWO),
              ReceiveCommand.link(ZERO, ONE, "refs/heads/link"));
          side.link("refs/heads/link", ONE);
          side.batch(
              true,
              new ReceiveCommand(ZERO, A, TWO),
              ReceiveCommand.unlink(ONE, ZERO, "refs/heads/link"));
          side.batch(
              true,
              ReceiveCommand.link(ONE, TWO, "refs/heads/link"),
              new ReceiveCommand(ZERO, A, TWO));
        });
  }

  @Test
  void deletionsOfPackedRefsNeedTheLockOfPackedRefs() throws Exception {
    both(
        side -> {
          side.packed(ONE, A);
          side.packed(TWO, B);
          side.whileLocked(
              "packed-refs",
              () ->
                  side.batch(
                      true, new ReceiveCommand(A, ZERO, ONE), new ReceiveCommand(B, ZERO, TWO)));
          side.see("locks", Files.exists(side.file(ONE + ".lock")));
          side.batch(true, new ReceiveCommand(A, ZERO, ONE), new ReceiveCommand(B, ZERO, TWO));
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
          side.whileLocked("packed-refs", () -> side.batch(true, update, create));
          boolean done = update.getResult() == ReceiveCommand.Result.OK;
          assertThat(create.getResult() == ReceiveCommand.Result.OK).isEqualTo(done);
          assertThat(side.values().get(ONE)).isEqualTo(done ? B : A);
          assertThat(side.values().get(TWO)).isEqualTo(done ? C : null);
          assertThat(Files.exists(side.file(ONE + ".lock"))).isFalse();
          assertThat(Files.exists(side.file(TWO + ".lock"))).isFalse();
        });
  }

  @Test
  void ofOneAtATimeWhilePackedRefsIsLocked() throws Exception {
    both(
        side -> {
          side.packed(ONE, A);
          side.packed(TWO, A);
          side.whileLocked(
              "packed-refs",
              () ->
                  side.batch(
                      false,
                      new ReceiveCommand(A, B, ONE),
                      new ReceiveCommand(A, ZERO, TWO),
                      new ReceiveCommand(ZERO, C, "refs/heads/three")));
        });
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void inANonBareRepository(boolean atomic) throws Exception {
    open(false, null);
    both(
        side -> {
          side.update("refs/heads/master", A);
          side.batch(
              atomic,
              new ReceiveCommand(A, B, "refs/heads/master"),
              new ReceiveCommand(ZERO, B, TWO));
          // One at a time it is protected, in an atomic batch it is not.
          side.batch(
              atomic,
              new ReceiveCommand(B, ZERO, "refs/heads/master"),
              new ReceiveCommand(B, C, TWO));
          side.batch(atomic, new ReceiveCommand(C, ZERO, TWO));
        });
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void emptyFoldersAreNotInTheWay(boolean atomic) throws Exception {
    both(
        side -> {
          Files.createDirectories(side.file("refs/heads/one/x/y"));
          side.batch(atomic, new ReceiveCommand(ZERO, A, ONE), new ReceiveCommand(ZERO, A, TWO));
          side.update(ONE, B);
        });
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void doesTheSameWhereRefsAreSynced(boolean atomic) throws Exception {
    openBare();
    for (RefsSide side : new RefsSide[] {ours(), jgit()}) {
      side.repository().getConfig().setBoolean("core", null, "fsyncRefFiles", true);
      side.repository().getConfig().save();
    }
    both(
        side -> {
          side.batch(atomic, new ReceiveCommand(ZERO, A, ONE), new ReceiveCommand(ZERO, A, TWO));
          side.batch(atomic, new ReceiveCommand(A, B, ONE), new ReceiveCommand(A, ZERO, TWO));
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {"always", "after_open", "never"})
  void doesTheSameWhateverIsTrusted(String trust) throws Exception {
    open(true, trust);
    both(
        side -> {
          side.batch(true, new ReceiveCommand(ZERO, A, ONE), new ReceiveCommand(ZERO, A, TWO));
          side.git("update-ref", ONE, B.name());
          side.batch(true, new ReceiveCommand(A, C, ONE), new ReceiveCommand(A, B, TWO));
          side.batch(true, new ReceiveCommand(B, C, ONE), new ReceiveCommand(A, B, TWO));
          side.git("pack-refs", "--all");
          side.batch(true, new ReceiveCommand(C, ZERO, ONE), new ReceiveCommand(B, ZERO, TWO));
        });
  }
}
