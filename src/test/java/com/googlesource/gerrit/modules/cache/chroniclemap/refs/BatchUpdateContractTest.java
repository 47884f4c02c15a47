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
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.D;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.MISSING;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.TAG;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.TAG_OF_TAG;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.ZERO;

import java.nio.file.Files;
import java.util.List;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.revwalk.RevCommit;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.PushCertificate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A batch of updates, atomic or not, does what JGit's does, wherever the refs are stored. Where the
 * refs are afterwards is our own affair.
 */
@ParameterizedClass
@CsvSource({"true, LOOSE", "true, PACKED", "true, BOTH", "false, LOOSE", "false, PACKED"})
class BatchUpdateContractTest extends RefsParity {
  private static final String MASTER = "refs/heads/master";
  private static final RefsSide.BatchSettings FORCE = batch -> batch.setAllowNonFastForwards(true);

  private final boolean atomic;
  private final RefUpdateContractTest.Stored stored;

  BatchUpdateContractTest(boolean atomic, RefUpdateContractTest.Stored stored) {
    this.atomic = atomic;
    this.stored = stored;
  }

  private static ReceiveCommand create(String name, ObjectId id) {
    return new ReceiveCommand(ZERO, id, name);
  }

  private static ReceiveCommand update(String name, ObjectId from, ObjectId to) {
    return new ReceiveCommand(from, to, name);
  }

  private static ReceiveCommand delete(String name, ObjectId id) {
    return new ReceiveCommand(id, ZERO, name);
  }

  private void put(RefsSide side, String name, ObjectId id) throws Exception {
    stored.put(side, name, id);
  }

  /** Tries a batch on {@code refs/heads/one} at A, {@code .../two} at B, and a tag. */
  private void tryBatch(RefsSide.BatchSettings settings, Commands commands) throws Exception {
    both(
        side -> {
          put(side, "refs/heads/one", A);
          put(side, "refs/heads/two", B);
          put(side, "refs/tags/t", TAG);
          side.batch(atomic, settings, commands.make().toArray(ReceiveCommand[]::new));
        });
  }

  /** A command remembers its result, so each side needs its own. */
  @FunctionalInterface
  private interface Commands {
    List<ReceiveCommand> make();
  }

  // ---- what is done

  @Test
  void doesAllKindsAtOnce() throws Exception {
    tryBatch(
        FORCE,
        () ->
            List.of(
                create("refs/heads/three", C),
                update("refs/heads/one", A, B),
                delete("refs/tags/t", TAG),
                update("refs/heads/two", B, D),
                create("refs/changes/01/1/meta", A),
                create("refs/tags/new", TAG_OF_TAG)));
  }

  @Test
  void createsWhatANewChangeNeeds() throws Exception {
    tryBatch(
        batch -> {},
        () -> List.of(create("refs/changes/01/1/1", A), create("refs/changes/01/1/meta", D)));
  }

  @Test
  void createsInAnEmptyRepository() throws Exception {
    both(side -> side.batch(atomic, create("refs/heads/one", A), create(MASTER, B)));
  }

  @Tag("locale")
  @Test
  void createsAnywhere() throws Exception {
    tryBatch(
        batch -> {},
        () ->
            List.of(
                create("refs/meta/config", A),
                create("refs/x", A),
                create("refs/heads/\u00e9", A),
                create("refs/heads/\uff5e", B),
                create("refs/heads/\ud83d\ude00", C),
                create("refs/heads/" + "l".repeat(240), C),
                create("refs/heads/" + "d/".repeat(40) + 'd', D)));
  }

  @Test
  void createsManyAtOnce() throws Exception {
    both(
        side -> {
          put(side, "refs/heads/one", A);
          ReceiveCommand[] commands = new ReceiveCommand[120];
          for (int i = 0; i < commands.length; i++) {
            commands[i] = create("refs/changes/" + i % 10 + "/" + i + "/1", i % 2 == 0 ? A : TAG);
          }
          side.batch(atomic, commands);
        });
  }

  @Test
  void knowsWhatTagsLeadTo() throws Exception {
    both(
        side -> {
          put(side, "refs/tags/old", TAG);
          side.batch(
              atomic,
              FORCE,
              create("refs/tags/one", TAG),
              create("refs/tags/two", TAG_OF_TAG),
              update("refs/tags/old", TAG, A));
          side.pack();
        });
  }

  @Test
  void deletesAll() throws Exception {
    tryBatch(
        batch -> {},
        () ->
            List.of(
                delete("refs/heads/one", A),
                delete("refs/heads/two", B),
                delete("refs/tags/t", TAG)));
  }

  @Test
  void doesOne() throws Exception {
    tryBatch(batch -> {}, () -> List.of(update("refs/heads/one", A, C)));
  }

  @Test
  void createsOne() throws Exception {
    tryBatch(batch -> {}, () -> List.of(create("refs/heads/new", C)));
  }

  @Test
  void deletesOne() throws Exception {
    tryBatch(batch -> {}, () -> List.of(delete("refs/heads/one", A)));
  }

  @Test
  void doesNothingIfThereIsNothingToDo() throws Exception {
    tryBatch(batch -> {}, List::of);
  }

  @Test
  void leavesCommandsThatHaveAResult() throws Exception {
    tryBatch(
        batch -> {},
        () -> {
          ReceiveCommand rejected = update("refs/heads/one", A, B);
          rejected.setResult(ReceiveCommand.Result.REJECTED_OTHER_REASON, "for a reason");
          ReceiveCommand done = create("refs/heads/done", B);
          done.setResult(ReceiveCommand.Result.OK);
          return List.of(
              rejected,
              create("refs/heads/three", C),
              done,
              update("refs/heads/two", B, C),
              create("refs/heads/four", C));
        });
  }

  @Test
  void doesNothingIfAllHaveAResult() throws Exception {
    tryBatch(
        batch -> {},
        () -> {
          ReceiveCommand rejected = update("refs/heads/one", A, B);
          rejected.setResult(ReceiveCommand.Result.REJECTED_CURRENT_BRANCH);
          return List.of(rejected);
        });
  }

  @Test
  void setsTheSameValue() throws Exception {
    tryBatch(
        batch -> {}, () -> List.of(update("refs/heads/one", A, A), update("refs/heads/two", B, C)));
  }

  @Test
  void setsTheSameValueOfOne() throws Exception {
    tryBatch(batch -> {}, () -> List.of(update("refs/heads/one", A, A)));
  }

  /** The same command to the batch twice, as a caller that tries again may do. */
  @Test
  void isNotDoneTwice() throws Exception {
    both(
        side -> {
          put(side, "refs/heads/one", A);
          BatchRefUpdate batch = side.refs().newBatchUpdate();
          ReceiveCommand one = update("refs/heads/one", A, B);
          batch.setAtomic(atomic).addCommand(one, create("refs/heads/two", A));
          for (int i = 0; i < 2; i++) {
            try (RevWalk walk = new RevWalk(side.repository())) {
              batch.execute(walk, NullProgressMonitor.INSTANCE);
            }
            side.see("result", one.getResult());
          }
        });
  }

  @Test
  void oneAfterAnother() throws Exception {
    both(
        side -> {
          put(side, "refs/heads/one", A);
          side.batch(atomic, update("refs/heads/one", A, B), create("refs/heads/x", A));
          side.batch(atomic, update("refs/heads/one", B, C), delete("refs/heads/x", A));
          side.batch(atomic, create("refs/heads/x/y", A), create("refs/heads/z", A));
          side.pack();
          side.batch(atomic, FORCE, update("refs/heads/z", A, D), delete("refs/heads/x/y", A));
          side.batch(atomic, create("refs/heads/x", A), create("refs/heads/x-y", A));
          side.update("refs/heads/x", B);
          side.delete("refs/heads/one");
        });
  }

  // ---- fast-forward or not

  @Test
  void refusesWhatIsNoFastForward() throws Exception {
    tryBatch(
        batch -> {}, () -> List.of(update("refs/heads/one", A, B), update("refs/heads/two", B, A)));
  }

  @Test
  void refusesATagForACommit() throws Exception {
    tryBatch(
        batch -> {},
        () -> List.of(update("refs/heads/one", A, B), update("refs/heads/two", B, TAG)));
  }

  @Test
  void refusesOneThatIsNoFastForward() throws Exception {
    tryBatch(batch -> {}, () -> List.of(update("refs/heads/two", B, A)));
  }

  @Test
  void doesWhatIsNoFastForwardIfTold() throws Exception {
    tryBatch(
        FORCE, () -> List.of(update("refs/heads/one", A, D), update("refs/heads/two", B, TAG)));
  }

  @Test
  void looksForNoMergeWhereTheTypeIsTold() throws Exception {
    both(
        side -> {
          put(side, "refs/heads/one", B);
          put(side, "refs/heads/two", B);
          BatchRefUpdate batch = side.refs().newBatchUpdate();
          ReceiveCommand one =
              new ReceiveCommand(B, A, "refs/heads/one", ReceiveCommand.Type.UPDATE_NONFASTFORWARD);
          ReceiveCommand two =
              new ReceiveCommand(B, A, "refs/heads/two", ReceiveCommand.Type.UPDATE_NONFASTFORWARD);
          batch.setAtomic(atomic).setAllowNonFastForwards(true).addCommand(one, two);
          try (RevWalk walk =
              new RevWalk(side.repository()) {
                @Override
                public boolean isMergedInto(RevCommit base, RevCommit tip) {
                  throw new AssertionError("asked for a merge");
                }
              }) {
            batch.execute(walk, NullProgressMonitor.INSTANCE);
          }
          side.see("results", one.getResult() + " " + two.getResult());
        });
  }

  // ---- one that can't be done

  @Test
  void oneExpectsAnotherValue() throws Exception {
    tryBatch(
        FORCE,
        () ->
            List.of(
                create("refs/heads/three", C),
                update("refs/heads/one", D, B),
                update("refs/heads/two", B, C)));
  }

  @Test
  void severalExpectOtherValues() throws Exception {
    tryBatch(
        FORCE,
        () ->
            List.of(
                update("refs/heads/two", A, C),
                create("refs/heads/three", C),
                update("refs/heads/one", D, B),
                delete("refs/tags/t", A)));
  }

  @Test
  void aDeletionExpectsAnotherValue() throws Exception {
    tryBatch(FORCE, () -> List.of(delete("refs/heads/one", D), update("refs/heads/two", B, C)));
  }

  @Test
  void aCreationOfWhatIsThere() throws Exception {
    tryBatch(FORCE, () -> List.of(update("refs/heads/two", B, C), create("refs/heads/one", B)));
  }

  @Test
  void anUpdateOfWhatIsNotThere() throws Exception {
    tryBatch(FORCE, () -> List.of(update("refs/heads/none", A, B), create("refs/heads/three", B)));
  }

  @Test
  void aDeletionOfWhatIsNotThere() throws Exception {
    tryBatch(FORCE, () -> List.of(update("refs/heads/one", A, B), delete("refs/heads/none", A)));
  }

  @Test
  void oneAloneThatCantBeDone() throws Exception {
    both(
        side -> {
          put(side, "refs/heads/one", A);
          side.batch(atomic, create("refs/heads/one", B));
          side.batch(atomic, update("refs/heads/one", B, C));
          side.batch(atomic, update("refs/heads/none", B, C));
          side.batch(atomic, delete("refs/heads/one", B));
          side.batch(atomic, delete("refs/heads/none", B));
          side.batch(atomic, update("refs/heads/one", A, MISSING));
          side.batch(atomic, create("refs/heads/one/two", B));
        });
  }

  @Test
  void aNewObjectThatIsMissing() throws Exception {
    tryBatch(
        FORCE,
        () ->
            List.of(
                update("refs/heads/two", B, C),
                update("refs/heads/one", A, MISSING),
                create("refs/heads/three", B)));
  }

  @Test
  void aCreationWhoseObjectIsMissing() throws Exception {
    tryBatch(
        batch -> {},
        () -> List.of(update("refs/heads/one", A, B), create("refs/heads/three", MISSING)));
  }

  @Test
  void anOldObjectThatIsMissing() throws Exception {
    tryBatch(
        FORCE, () -> List.of(update("refs/heads/one", MISSING, B), create("refs/heads/three", B)));
  }

  @Test
  void oneIsLocked() throws Exception {
    both(
        side -> {
          put(side, "refs/heads/one", A);
          put(side, "refs/heads/two", B);
          side.whileLocked(
              "refs/heads/one",
              () ->
                  side.batch(
                      atomic,
                      update("refs/heads/two", B, C),
                      update("refs/heads/one", A, B),
                      create("refs/heads/three", A)));
        });
  }

  @Test
  void aNewOneIsLocked() throws Exception {
    both(
        side -> {
          put(side, "refs/heads/one", A);
          side.whileLocked(
              "refs/heads/deep/three",
              () ->
                  side.batch(
                      atomic, create("refs/heads/deep/three", A), update("refs/heads/one", A, B)));
        });
  }

  /** For one alone there is nothing to write into packed-refs. */
  @Test
  void packedRefsIsLockedButNotNeeded() throws Exception {
    both(
        side -> {
          put(side, "refs/heads/one", A);
          side.whileLocked("packed-refs", () -> side.batch(atomic, update("refs/heads/one", A, B)));
        });
  }

  // ---- names against each other

  @Test
  void aNameBelowAnotherOfTheBatch() throws Exception {
    tryBatch(FORCE, () -> List.of(create("refs/heads/x", A), create("refs/heads/x/y", A)));
  }

  @Test
  void aNameAboveAnotherOfTheBatch() throws Exception {
    tryBatch(
        FORCE,
        () ->
            List.of(
                update("refs/heads/one", A, B),
                create("refs/heads/x/y/z", A),
                create("refs/heads/x", A)));
  }

  @Test
  void namesThatOnlyLookLikeConflicts() throws Exception {
    tryBatch(
        FORCE,
        () ->
            List.of(
                create("refs/heads/x", A),
                create("refs/heads/x-y", A),
                create("refs/heads/x.y", A),
                create("refs/heads/x0", A),
                create("refs/heads/xy/z", A)));
  }

  @Test
  void aNameBelowARef() throws Exception {
    tryBatch(
        FORCE,
        () ->
            List.of(
                update("refs/heads/two", B, C),
                create("refs/heads/one/x", A),
                create("refs/heads", A)));
  }

  @Test
  void aNameAboveARef() throws Exception {
    both(
        side -> {
          put(side, "refs/heads/x/y/z", A);
          side.batch(atomic, create("refs/heads/a", A), create("refs/heads/x", A));
          side.batch(atomic, create("refs/heads/x/y", A), create("refs/heads/b", A));
        });
  }

  @Test
  void aNameBelowOneThatIsDeleted() throws Exception {
    tryBatch(
        FORCE,
        () ->
            List.of(
                update("refs/heads/two", B, C),
                create("refs/heads/one/x", A),
                delete("refs/heads/one", A)));
  }

  @Test
  void aNameAboveOneThatIsDeleted() throws Exception {
    both(
        side -> {
          put(side, "refs/heads/x/y/z", A);
          put(side, "refs/heads/two", B);
          side.batch(
              atomic,
              create("refs/heads/x", A),
              update("refs/heads/two", B, C),
              delete("refs/heads/x/y/z", A));
        });
  }

  @Test
  void aNameAboveSeveralOfWhichOneIsDeleted() throws Exception {
    both(
        side -> {
          put(side, "refs/heads/x/y", A);
          put(side, "refs/heads/x/z", A);
          side.batch(atomic, create("refs/heads/x", A), delete("refs/heads/x/y", A));
        });
  }

  @Test
  void aDeletionBelowARef() throws Exception {
    tryBatch(FORCE, () -> List.of(delete("refs/heads/one/x", A), update("refs/heads/two", B, C)));
  }

  @Test
  void aDeletionBelowACreation() throws Exception {
    tryBatch(FORCE, () -> List.of(create("refs/heads/x", A), delete("refs/heads/x/y", A)));
  }

  @Test
  void theSameNameTwice() throws Exception {
    tryBatchOfOneNameTwice(
        () ->
            List.of(
                update("refs/heads/one", A, B),
                update("refs/heads/two", B, C),
                update("refs/heads/one", B, C)));
  }

  @Test
  void aDeletionAndACreationOfTheSameName() throws Exception {
    tryBatchOfOneNameTwice(() -> List.of(delete("refs/heads/one", A), create("refs/heads/one", C)));
  }

  /** JGit says the same of an atomic one, but leaves a lock behind. */
  private void tryBatchOfOneNameTwice(Commands commands) throws Exception {
    if (!atomic) {
      tryBatch(FORCE, commands);
      return;
    }
    alike(side -> put(side, "refs/heads/one", A));
    alike(side -> side.batch(true, FORCE, commands.make().toArray(ReceiveCommand[]::new)));
    assertThat(ours().values().get("refs/heads/one")).isEqualTo(A);
    assertThat(Files.exists(ours().file("refs/heads/one.lock"))).isFalse();
  }

  // ---- symbolic refs

  @Test
  void throughHead() throws Exception {
    both(
        side -> {
          put(side, MASTER, A);
          side.batch(atomic, update("HEAD", A, B));
        });
  }

  /** An atomic one with a symbolic ref among others JGit takes for a lock that failed. */
  @Test
  void throughHeadAmongOthers() throws Exception {
    both(
        side -> {
          put(side, MASTER, A);
          side.batch(atomic, update("HEAD", A, B), create("refs/heads/x", A));
        });
  }

  @Test
  void throughALink() throws Exception {
    both(
        side -> {
          put(side, MASTER, A);
          side.link("refs/heads/link", MASTER);
          side.batch(atomic, update("refs/heads/link", A, B));
          side.batch(atomic, delete("refs/heads/link", B));
        });
  }

  @Test
  void aLinkAmongOthers() throws Exception {
    both(
        side -> {
          put(side, MASTER, A);
          side.link("refs/heads/link", MASTER);
          side.batch(atomic, update("refs/heads/link", A, B), create("refs/heads/x", A));
        });
  }

  @Test
  void aLinkIsNoConflict() throws Exception {
    both(
        side -> {
          put(side, MASTER, A);
          side.link("refs/heads/link", MASTER);
          side.batch(atomic, create("refs/heads/link/x", A), create("refs/heads/x", A));
        });
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

  // ---- what else a batch may carry

  @Test
  void pushOptions() throws Exception {
    both(
        side -> {
          put(side, "refs/heads/one", A);
          side.batch(
              atomic,
              batch -> {},
              List.of("an option", "topic=t"),
              update("refs/heads/one", A, B),
              create("refs/heads/two", A));
          side.batch(atomic, batch -> {}, List.of(), update("refs/heads/one", B, C));
        });
  }

  @Test
  void aPushCertificate() throws Exception {
    both(
        side ->
            side.batch(
                atomic,
                batch -> batch.setPushCertificate((PushCertificate) null),
                create("refs/heads/one", A),
                create("refs/heads/two", A)));
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

  @Test
  void readsWhatOthersHaveWrittenSince() throws Exception {
    both(
        side -> {
          put(side, "refs/heads/one", A);
          side.see("before", show(side.refs().exactRef("refs/heads/one")));
          side.git("update-ref", "refs/heads/one", B.name());
          side.git("update-ref", "refs/heads/x/y", B.name());
          side.batch(atomic, update("refs/heads/one", A, C), create("refs/heads/z", A));
          side.batch(atomic, update("refs/heads/one", B, C), create("refs/heads/x", A));
          side.git("pack-refs", "--all");
          side.batch(atomic, delete("refs/heads/x/y", B), create("refs/heads/x", A));
        });
  }

  private static String show(Ref ref) {
    return ref.getName() + ' ' + ref.getObjectId();
  }
}
