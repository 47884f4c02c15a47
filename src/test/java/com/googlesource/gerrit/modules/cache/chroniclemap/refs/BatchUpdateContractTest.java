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
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.TAG;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.ZERO;

import java.nio.file.Files;
import java.util.List;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.PushCertificate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A batch of updates, atomic or not, does what JGit's does, wherever the refs are stored. Where the
 * refs are afterwards is our own affair.
 */
@ParameterizedClass
@CsvSource({"true, LOOSE", "true, PACKED", "true, BOTH", "false, LOOSE", "false, PACKED"})
class BatchUpdateContractTest extends RefsParity {
  private static final String ONE = "refs/heads/one";
  private static final String TWO = "refs/heads/two";
  private static final String THREE_REFS = "put one A; put two B; put refs/tags/t TAG";

  /** What is tried where there are {@link #THREE_REFS}. */
  static final List<RefsScript> OF_THREE_REFS =
      RefsScript.of(
          """
          does all kinds at once
            batch force: three 0>C, one A>B, refs/tags/t TAG>0, two B>D,
            refs/changes/01/1/meta 0>A, refs/tags/new 0>TAG_OF_TAG
          creates what a new change needs
            batch: refs/changes/01/1/1 0>A, refs/changes/01/1/meta 0>D
          deletes all
            batch: one A>0, two B>0, refs/tags/t TAG>0
          does one
            batch: one A>C
          creates one
            batch: new 0>C
          deletes one
            batch: one A>0
          does nothing if there is nothing to do
            batch:
          sets the same value
            batch: one A>A, two B>C
          sets the same value of one
            batch: one A>A
          # ---- fast-forward or not
          refuses what is no fast-forward
            batch: one A>B, two B>A
          refuses a tag for a commit
            batch: one A>B, two B>TAG
          refuses one that is no fast-forward
            batch: two B>A
          does what is no fast-forward if told
            batch force: one A>D, two B>TAG
          # ---- one that can't be done
          one expects another value
            batch force: three 0>C, one D>B, two B>C
          several expect other values
            batch force: two A>C, three 0>C, one D>B, refs/tags/t A>0
          a deletion expects another value
            batch force: one D>0, two B>C
          a creation of what is there
            batch force: two B>C, one 0>B
          an update of what is not there
            batch force: none A>B, three 0>B
          a deletion of what is not there
            batch force: one A>B, none A>0
          a new object that is missing
            batch force: two B>C, one A>MISSING, three 0>B
          a creation whose object is missing
            batch: one A>B, three 0>MISSING
          an old object that is missing
            batch force: one MISSING>B, three 0>B
          # ---- names against each other
          a name below another of the batch
            batch force: x 0>A, x/y 0>A
          a name above another of the batch
            batch force: one A>B, x/y/z 0>A, x 0>A
          names that only look like conflicts
            batch force: x 0>A, x-y 0>A, x.y 0>A, x0 0>A, xy/z 0>A
          a name below a ref
            batch force: two B>C, one/x 0>A, refs/heads 0>A
          a name below one that is deleted
            batch force: two B>C, one/x 0>A, one A>0
          a deletion below a ref
            batch force: one/x A>0, two B>C
          a deletion below a creation
            batch force: x 0>A, x/y A>0
          """);

  static final List<RefsScript> OTHERS =
      RefsScript.of(
          """
          creates in an empty repository
            batch: one 0>A, master 0>B
          knows what tags lead to
            put refs/tags/old TAG;
            batch force: refs/tags/one 0>TAG, refs/tags/two 0>TAG_OF_TAG, refs/tags/old TAG>A; pack
          one after another
            put one A; batch: one A>B, x 0>A; batch: one B>C, x A>0; batch: x/y 0>A, z 0>A; pack;
            batch force: z A>D, x/y A>0; batch: x 0>A, x-y 0>A; update x B; delete one
          one alone that can't be done
            put one A; batch: one 0>B; batch: one B>C; batch: none B>C; batch: one B>0;
            batch: none B>0; batch: one A>MISSING; batch: one/two 0>B
          reads what others have written since
            put one A; read one; git update-ref refs/heads/one B; git update-ref refs/heads/x/y B;
            batch: one A>C, z 0>A; batch: one B>C, x 0>A; git pack-refs --all; batch: x/y B>0, x 0>A
          # ---- locks
          one is locked
            put one A; put two B; lock one; batch: two B>C, one A>B, three 0>A; unlock one
          a new one is locked
            put one A; lock deep/three; batch: deep/three 0>A, one A>B; unlock deep/three
          # For one alone there is nothing to write into packed-refs.
          packed-refs is locked but not needed
            put one A; lock packed-refs; batch: one A>B; unlock packed-refs
          # ---- names against each other
          a name above a ref
            put x/y/z A; batch: a 0>A, x 0>A; batch: x/y 0>A, b 0>A
          a name above one that is deleted
            put x/y/z A; put two B; batch: x 0>A, two B>C, x/y/z A>0
          a name above several of which one is deleted
            put x/y A; put x/z A; batch: x 0>A, x/y A>0
          # ---- what it refuses as a whole, and what locks it needs
          deletions of packed refs need the lock of packed-refs
            packed one A; packed two B; lock packed-refs; batch atomic: one A>0, two B>0;
            unlock packed-refs; exists refs/heads/one.lock; batch atomic: one A>0, two B>0
          of one at a time while packed-refs is locked
            packed one A; packed two A; lock packed-refs; batch each: one A>B, two A>0, three 0>C;
            unlock packed-refs
          empty folders are not in the way
            mkdir one/x/y; batch: one 0>A, two 0>A; update one B
          the same where refs are synced
            config core.fsyncRefFiles true; batch: one 0>A, two 0>A; batch: one A>B, two A>0
          a ref is replaced by one below it
            update x A; batch atomic: x A>0, x/y/z 0>B; read x/y/z
          a ref is not replaced by one above it
            update x/y A; batch atomic: x/y A>0, x 0>B; read x/y
          # ---- symbolic refs
          through HEAD
            put master A; batch: HEAD A>B
          # An atomic one with a symbolic ref among others JGit takes for a lock that failed.
          through HEAD among others
            put master A; batch: HEAD A>B, x 0>A
          through a link
            put master A; link link master; batch: link A>B; batch: link B>0
          a link among others
            put master A; link link master; batch: link A>B, x 0>A
          a link is no conflict
            put master A; link link master; batch: link/x 0>A, x 0>A
          """);

  private final boolean atomic;
  private final RefsScript.Stored stored;

  BatchUpdateContractTest(boolean atomic, RefsScript.Stored stored) {
    this.atomic = atomic;
    this.stored = stored;
  }

  @ParameterizedTest
  @FieldSource("OF_THREE_REFS")
  void doesWithThreeRefsWhatJGitDoes(RefsScript script) throws Exception {
    both(script.after(THREE_REFS).with(stored, atomic));
  }

  @ParameterizedTest
  @FieldSource("OTHERS")
  void doesWhatJGitDoes(RefsScript script) throws Exception {
    both(script.with(stored, atomic));
  }

  private static ReceiveCommand create(String name, ObjectId id) {
    return new ReceiveCommand(ZERO, id, name);
  }

  private static ReceiveCommand update(String name, ObjectId from, ObjectId to) {
    return new ReceiveCommand(from, to, name);
  }

  private void putThreeRefs(RefsSide side) throws Exception {
    script(THREE_REFS).with(stored, atomic).on(side);
  }

  @Tag("locale")
  @Test
  void createsAnywhere() throws Exception {
    String names = "refs/meta/config 0>A, refs/x 0>A, \u00e9 0>A, \uff5e 0>B, \ud83d\ude00 0>C";
    String longNames = "l".repeat(240) + " 0>C, " + "d/".repeat(40) + "d 0>D";
    both(script("batch: " + names + ", " + longNames).after(THREE_REFS).with(stored, atomic));
  }

  @Test
  void createsManyAtOnce() throws Exception {
    both(
        side -> {
          stored.put(side, ONE, A);
          ReceiveCommand[] commands = new ReceiveCommand[120];
          for (int i = 0; i < commands.length; i++) {
            commands[i] = create("refs/changes/" + i % 10 + "/" + i + "/1", i % 2 == 0 ? A : TAG);
          }
          side.batch(atomic, commands);
        });
  }

  // ---- commands as objects

  @Test
  void leavesCommandsThatHaveAResult() throws Exception {
    both(
        side -> {
          putThreeRefs(side);
          ReceiveCommand rejected = update(ONE, A, B);
          rejected.setResult(ReceiveCommand.Result.REJECTED_OTHER_REASON, "for a reason");
          ReceiveCommand done = create("refs/heads/done", B);
          done.setResult(ReceiveCommand.Result.OK);
          side.batch(
              atomic,
              rejected,
              create("refs/heads/three", C),
              done,
              update(TWO, B, C),
              create("refs/heads/four", C));
          // There is nothing to do.
          ReceiveCommand alone = update(ONE, A, B);
          alone.setResult(ReceiveCommand.Result.REJECTED_CURRENT_BRANCH);
          side.batch(atomic, alone);
        });
  }

  /** The same command to the batch twice, as a caller that tries again may do. */
  @Test
  void isNotDoneTwice() throws Exception {
    both(
        side -> {
          stored.put(side, ONE, A);
          BatchRefUpdate batch = side.refs().newBatchUpdate();
          ReceiveCommand one = update(ONE, A, B);
          batch.setAtomic(atomic).addCommand(one, create(TWO, A));
          for (int i = 0; i < 2; i++) {
            TestRefs.execute(side.repository(), batch);
            side.see("result", one.getResult());
          }
        });
  }

  @Test
  void looksForNoMergeWhereTheTypeIsTold() throws Exception {
    both(
        side -> {
          stored.put(side, ONE, B);
          stored.put(side, TWO, B);
          BatchRefUpdate batch = side.refs().newBatchUpdate();
          ReceiveCommand one =
              new ReceiveCommand(B, A, ONE, ReceiveCommand.Type.UPDATE_NONFASTFORWARD);
          ReceiveCommand two =
              new ReceiveCommand(B, A, TWO, ReceiveCommand.Type.UPDATE_NONFASTFORWARD);
          batch.setAtomic(atomic).setAllowNonFastForwards(true).addCommand(one, two);
          try (RevWalk walk = new RefUpdateContractTest.NoMerges(side)) {
            batch.execute(walk, NullProgressMonitor.INSTANCE);
          }
          side.see("results", one.getResult() + " " + two.getResult());
        });
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "batch force: one A>B, two B>C, one B>C",
        "batch force: one A>0, one 0>C",
      })
  void theSameNameTwice(String batch) throws Exception {
    RefsScript script = script(batch).with(stored, atomic);
    if (!atomic) {
      both(script.after(THREE_REFS));
      return;
    }
    // JGit says the same of an atomic one, but leaves a lock behind.
    alike(script("put one A").with(stored, atomic));
    alike(script);
    assertThat(ours().values().get(ONE)).isEqualTo(A);
    assertThat(Files.exists(ours().file("refs/heads/one.lock"))).isFalse();
  }

  /** JGit throws where an atomic one has to lock a ref below it. */
  @Test
  void aLinkThatLeadsNowhereIsNoFolder() throws Exception {
    betterThanJGit(
        side -> {
          side.link("refs/heads/nowhere", "refs/heads/none");
          side.batch(atomic, create("refs/heads/nowhere/x", A), create("refs/heads/y", A));
          assertThat(side.values().containsKey("refs/heads/nowhere/x")).isFalse();
          assertThat(side.values().containsKey("refs/heads/y")).isEqualTo(!atomic);
        });
  }

  @Test
  void pushOptionsAndACertificate() throws Exception {
    both(
        side -> {
          stored.put(side, ONE, A);
          side.batch(
              atomic,
              batch -> {},
              List.of("an option", "topic=t"),
              update(ONE, A, B),
              create(TWO, A));
          side.batch(atomic, batch -> {}, List.of(), update(ONE, B, C));
          side.batch(
              atomic,
              batch -> batch.setPushCertificate((PushCertificate) null),
              create("refs/heads/three", A),
              create("refs/heads/four", A));
        });
  }

  @Test
  void saysWhatItIs() throws Exception {
    both(
        side -> {
          BatchRefUpdate batch = side.refs().newBatchUpdate();
          side.see("atomic at first", batch.isAtomic());
          side.see("atomic at all", side.refs().performsAtomicTransactions());
          side.see("forced at first", batch.isAllowNonFastForwards());
          side.see("log disabled", batch.isRefLogDisabled());
          side.see("log message", batch.getRefLogMessage());
        });
  }

  // ---- limits

  /** One at a time the current branch is protected, in an atomic batch it is not. */
  @Test
  void inANonBareRepository() throws Exception {
    open(false, null);
    both(
        script(
                """
                update master A; batch: master A>B, two 0>B; batch: master B>0, two B>C;
                batch: two C>0
                """)
            .with(stored, atomic));
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
          side.batch(true, create(TWO, A), link);
          side.link("refs/heads/link", ONE);
          ReceiveCommand unlink = ReceiveCommand.unlink(ONE, ZERO, "refs/heads/link");
          side.batch(true, create(TWO, A), unlink);
          ReceiveCommand other = ReceiveCommand.link(ONE, TWO, "refs/heads/link");
          side.batch(true, other, create(TWO, A));
        });
  }

  /** JGit fails there, since it writes them into packed-refs: ours may or may not. */
  @Test
  void othersAreDoneOrRefusedAsAWholeWhilePackedRefsIsLocked() throws Exception {
    betterThanJGit(
        side -> {
          side.packed(ONE, A);
          ReceiveCommand moved = update(ONE, A, B);
          ReceiveCommand made = create(TWO, C);
          side.lock("packed-refs");
          side.batch(true, moved, made);
          side.unlock("packed-refs");
          boolean done = moved.getResult() == ReceiveCommand.Result.OK;
          assertThat(made.getResult() == ReceiveCommand.Result.OK).isEqualTo(done);
          assertThat(side.values().get(ONE)).isEqualTo(done ? B : A);
          assertThat(side.values().get(TWO)).isEqualTo(done ? C : null);
          assertThat(Files.exists(side.file(ONE + ".lock"))).isFalse();
          assertThat(Files.exists(side.file(TWO + ".lock"))).isFalse();
        });
  }
}
