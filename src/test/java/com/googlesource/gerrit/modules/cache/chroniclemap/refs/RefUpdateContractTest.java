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

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.revwalk.RevCommit;
import org.eclipse.jgit.revwalk.RevWalk;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An update of one ref does what JGit's does, wherever the ref is stored. */
class RefUpdateContractTest extends RefsParity {
  private static final String NAME = "refs/heads/a";
  private static final String MASTER = "refs/heads/master";

  /** Where a ref is. */
  enum Stored {
    LOOSE,
    PACKED,
    /** Loose, with another value in packed-refs. */
    BOTH;

    void put(RefsSide side, String name, ObjectId id) throws Exception {
      switch (this) {
        case LOOSE -> side.loose(name, id);
        case PACKED -> side.packed(name, id);
        case BOTH -> {
          side.packed(name, D);
          side.loose(name, id);
        }
      }
    }
  }

  // ---- creating

  @Tag("locale")
  @ParameterizedTest
  @ValueSource(
      strings = {
        NAME,
        "refs/heads/a/b/c/d",
        "refs/tags/t",
        "refs/changes/01/1/meta",
        "refs/meta/config",
        "refs/x",
        "refs/heads/\u00e9",
        "refs/heads/\uff5e\ud83d\ude00",
        "refs/heads/a-b",
        "HEAD",
        "ORIG_HEAD",
        "FETCH_HEAD"
      })
  void creates(String name) throws Exception {
    both(side -> side.update(name, A));
  }

  /**
   * In a locale that has no character for it nobody can know whether there is a loose one: neither
   * that there is none may be said, nor what is packed.
   */
  @Tag("locale")
  @Test
  void readsWhatGitHasMade() throws Exception {
    String name = "refs/heads/\u00e9";
    alike(
        side -> {
          side.attempt("none", () -> side.refs().exactRef(name));
          side.testRefs()
              .tryGitWith("create " + name + ' ' + A.name() + '\n', "update-ref", "--stdin");
          side.attempt("loose", () -> side.refs().exactRef(name).getObjectId());
          side.git("pack-refs", "--all");
          side.attempt("packed", () -> side.refs().exactRef(name).getObjectId());
          side.testRefs()
              .tryGitWith("update " + name + ' ' + B.name() + '\n', "update-ref", "--stdin");
          side.attempt("both", () -> side.refs().exactRef(name).getObjectId());
          side.update(name, C);
        });
    if (RefPaths.limitsOfNames().isEmpty()) {
      compareState("at the end");
    }
  }

  @Test
  void createsOneWithALongName() throws Exception {
    String part = "p".repeat(200);
    both(side -> side.update("refs/heads/" + (part + '/').repeat(5) + part, A));
  }

  /** The file system refuses it; nothing is left of the attempt. */
  @Test
  void createsNoneWithATooLongName() throws Exception {
    both(side -> side.update("refs/heads/" + "p".repeat(300), A));
  }

  @Test
  void createsTags() throws Exception {
    both(
        side -> {
          side.update("refs/tags/one", TAG);
          side.update("refs/tags/two", TAG_OF_TAG);
          side.update("refs/tags/light", A);
        });
  }

  @ParameterizedTest
  @EnumSource
  void createsOnlyIfItIsExpectedToBeNew(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, A);
          side.update(NAME, B, update -> update.setExpectedOldObjectId(ZERO));
          side.update("refs/heads/b", B, update -> update.setExpectedOldObjectId(ZERO));
          side.update("refs/heads/c", B, update -> update.setExpectedOldObjectId(A));
        });
  }

  @Test
  void needsAValue() throws Exception {
    both(
        side -> {
          RefUpdate update = side.newUpdate(NAME, false, null);
          side.run("without value", update, RefUpdate::update);
        });
  }

  // ---- updating

  @ParameterizedTest
  @EnumSource
  void movesForward(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, A);
          side.update(NAME, B);
          side.update(NAME, C);
        });
  }

  @ParameterizedTest
  @EnumSource
  void movesElsewhereOnlyByForce(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, B);
          side.update(NAME, A);
          side.update(NAME, D);
          side.update(NAME, TAG);
          side.force(NAME, A);
          side.force(NAME, TAG);
          side.update(NAME, C);
          side.force(NAME, D);
        });
  }

  @ParameterizedTest
  @EnumSource
  void changesNothingForTheSameValue(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, A);
          side.update(NAME, A);
          side.force(NAME, A);
          side.update(NAME, A, update -> update.setExpectedOldObjectId(A));
          side.update(NAME, A, update -> update.setExpectedOldObjectId(B));
        });
  }

  @ParameterizedTest
  @EnumSource
  void updatesOnlyTheExpectedValue(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, A);
          side.update(NAME, B, update -> update.setExpectedOldObjectId(C));
          side.update(NAME, B, update -> update.setExpectedOldObjectId(MISSING));
          side.update(NAME, B, update -> update.setExpectedOldObjectId(A));
        });
  }

  @ParameterizedTest
  @EnumSource
  void refusesAMissingObject(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, A);
          side.update(NAME, MISSING);
          side.force(NAME, MISSING);
          side.update("refs/heads/b", MISSING);
          side.detach(NAME, MISSING);
        });
  }

  /** A ref whose object is gone may be moved away from it. */
  @Test
  void leavesAMissingObject() throws Exception {
    both(
        side -> {
          side.loose(NAME, MISSING);
          side.update(NAME, A);
          side.force(NAME, A);
          side.loose("refs/heads/b", MISSING);
          side.delete("refs/heads/b");
        });
  }

  @Test
  void doesNotLookForAMergeWhereItIsForced() throws Exception {
    both(
        side -> {
          side.loose(NAME, B);
          RefUpdate update = side.newUpdate(NAME, false, A);
          update.setForceUpdate(true);
          try (RevWalk walk =
              new RevWalk(side.repository()) {
                @Override
                public boolean isMergedInto(RevCommit base, RevCommit tip) {
                  throw new AssertionError("asked for a merge");
                }
              }) {
            side.run("force", update, forced -> forced.update(walk));
          }
        });
  }

  /** What a subclass of ObjectId holds on to is not for a list of refs. */
  @Test
  void takesAnyKindOfId() throws Exception {
    both(
        side -> {
          try (RevWalk walk = new RevWalk(side.repository())) {
            side.update(NAME, walk.parseCommit(A));
          }
          side.attempt(
              "kind of id", () -> side.refs().exactRef(NAME).getObjectId().getClass().getName());
        });
  }

  @Test
  void anUpdateMayBeUsedAgain() throws Exception {
    both(
        side -> {
          RefUpdate update = side.newUpdate(NAME, false, A);
          side.run("first", update, RefUpdate::update);
          update.setNewObjectId(B);
          side.run("second", update, RefUpdate::update);
        });
  }

  /** JGit says so, and does not: there was no ref when the update was made. */
  @Test
  void anUpdateThatHasMadeARefCanDeleteIt() throws Exception {
    betterThanJGit(
        side -> {
          RefUpdate update = side.newUpdate(NAME, false, A);
          side.run("first", update, RefUpdate::update);
          update.setForceUpdate(true);
          side.run("second", update, RefUpdate::delete);
          assertThat(side.values()).isEmpty();
        });
  }

  @Test
  void anUpdateThatHasDeletedARefCanMakeIt() throws Exception {
    both(
        side -> {
          Stored.LOOSE.put(side, NAME, A);
          RefUpdate update = side.newUpdate(NAME, false, A);
          update.setForceUpdate(true);
          side.run("first", update, RefUpdate::delete);
          update.setNewObjectId(B);
          side.run("second", update, RefUpdate::update);
        });
  }

  // ---- deleting

  @ParameterizedTest
  @EnumSource
  void deletes(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, A);
          stored.put(side, "refs/heads/b", B);
          stored.put(side, "refs/tags/t", TAG);
          side.delete(NAME);
          side.delete(NAME);
          side.delete("refs/tags/t");
          side.update(NAME, C);
        });
  }

  @ParameterizedTest
  @EnumSource
  void deletesTheLastOne(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, A);
          side.delete(NAME);
        });
  }

  @ParameterizedTest
  @EnumSource
  void deletesWithoutForce(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, A);
          side.delete(NAME, update -> {});
          side.delete(NAME, update -> update.setNewObjectId(B));
          stored.put(side, "refs/heads/b", B);
          side.delete("refs/heads/b", update -> update.setNewObjectId(B));
        });
  }

  @ParameterizedTest
  @EnumSource
  void deletesOnlyTheExpectedValue(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, A);
          for (ObjectId expected : new ObjectId[] {B, ZERO, MISSING, A}) {
            side.delete(
                NAME,
                update -> {
                  update.setForceUpdate(true);
                  update.setExpectedOldObjectId(expected);
                });
          }
        });
  }

  @Test
  void deletesWhatIsNotThere() throws Exception {
    both(
        side -> {
          side.delete("refs/heads/none/there");
          side.delete(
              "refs/heads/none",
              update -> {
                update.setForceUpdate(true);
                update.setExpectedOldObjectId(ZERO);
              });
          side.delete("refs/heads/none", update -> update.setExpectedOldObjectId(A));
        });
  }

  @Test
  void deletesTheFoldersOfALooseRef() throws Exception {
    both(
        side -> {
          side.update("refs/heads/one/two/three/four", A);
          side.update("refs/heads/one/other", A);
          side.update("refs/changes/01/1/meta", A);
          side.delete("refs/heads/one/two/three/four");
          side.delete("refs/changes/01/1/meta");
          side.see("one/two", Files.exists(side.file("refs/heads/one/two")));
          side.see("changes/01", Files.exists(side.file("refs/changes/01")));
          side.see("changes", Files.exists(side.file("refs/changes")));
          side.see("heads", Files.exists(side.file("refs/heads")));
        });
  }

  @Tag("locale")
  @Test
  void deletesAllPackedRefs() throws Exception {
    both(
        side -> {
          side.packed(NAME, A);
          side.packed("refs/heads/a-b", A);
          side.packed("refs/heads/a/b", A);
          side.packed("refs/tags/t", TAG);
          side.packed("refs/heads/\uff5e", A);
          side.packed("refs/heads/\ud83d\ude00", A);
          for (String name : side.values().keySet()) {
            side.delete(name);
          }
          side.see("packed-refs is there", Files.exists(side.file("packed-refs")));
        });
  }

  @Nested
  class InANonBareRepository {
    @ParameterizedTest
    @EnumSource
    void doesNotDeleteTheCurrentBranch(Stored stored) throws Exception {
      open(false, null);
      both(
          side -> {
            stored.put(side, MASTER, A);
            side.delete(MASTER);
            side.delete("HEAD");
            side.update(NAME, A);
            side.delete(NAME);
          });
    }

    @Test
    void doesNotDeleteWhatHeadLeadsToByTheWay() throws Exception {
      open(false, null);
      both(
          side -> {
            side.update(MASTER, A);
            side.link("refs/heads/link", MASTER);
            side.link("HEAD", "refs/heads/link");
            side.delete(MASTER);
            side.delete("refs/heads/link");
            side.deleteDetached("refs/heads/link");
          });
    }

    @Test
    void deletesAnyBranchWhereHeadIsDetached() throws Exception {
      open(false, null);
      both(
          side -> {
            side.update(MASTER, A);
            side.detach("HEAD", B);
            side.delete(MASTER);
            side.delete("HEAD");
          });
    }

    @Test
    void deletesABranchWithoutAHead() throws Exception {
      open(false, null);
      both(
          side -> {
            side.update(MASTER, A);
            Files.delete(side.file("HEAD"));
            // Native git takes it for no repository any more.
            side.delete(MASTER);
            side.loose("HEAD", "ref: " + MASTER);
          });
    }
  }

  /** A bare one has no current branch to protect. */
  @Test
  void deletesTheBranchThatHeadLeadsToInABareRepository() throws Exception {
    both(
        side -> {
          side.update(MASTER, A);
          side.delete("HEAD");
          side.update("HEAD", A);
          side.delete(MASTER);
        });
  }

  // ---- symbolic refs

  @ParameterizedTest
  @EnumSource
  void updatesWhatASymbolicRefLeadsTo(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, MASTER, A);
          side.update("HEAD", B);
          side.update("HEAD", D);
          side.force("HEAD", D);
          side.update("HEAD", D);
          side.update("HEAD", A, update -> update.setExpectedOldObjectId(A));
        });
  }

  @ParameterizedTest
  @EnumSource
  void detachesASymbolicRef(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, MASTER, A);
          side.detach("HEAD", A);
          side.detach("HEAD", B);
          side.update("HEAD", C);
          side.link("HEAD", MASTER);
          side.link("refs/heads/link", MASTER);
          side.detach("refs/heads/link", B);
          side.update("refs/heads/link", C);
        });
  }

  @Test
  void detachesAnUnbornHead() throws Exception {
    both(side -> side.detach("HEAD", A));
  }

  @Test
  void detachesWithoutForce() throws Exception {
    both(
        side -> {
          side.update(MASTER, B);
          RefUpdate update = side.newUpdate("HEAD", true, A);
          side.run("detach", update, RefUpdate::update);
          RefUpdate same = side.newUpdate("HEAD", true, B);
          side.run("detach", same, RefUpdate::update);
        });
  }

  @Test
  void createsTheTargetOfAnUnbornSymbolicRef() throws Exception {
    both(
        side -> {
          side.update("HEAD", A);
          side.link("refs/heads/link", "refs/heads/deep/target");
          side.update("refs/heads/link", A);
        });
  }

  @ParameterizedTest
  @EnumSource
  void deletesWhatASymbolicRefLeadsToOrItself(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, A);
          stored.put(side, "refs/heads/b", A);
          side.link("refs/heads/link", NAME);
          side.link("refs/heads/other", "refs/heads/b");
          side.delete("refs/heads/link");
          side.deleteDetached("refs/heads/other");
          side.deleteDetached("refs/heads/link");
          side.deleteDetached("refs/heads/b");
        });
  }

  @ParameterizedTest
  @EnumSource
  void linksOverARef(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, A);
          stored.put(side, "refs/heads/b", B);
          side.link(NAME, "refs/heads/b");
          side.link(NAME, "refs/heads/b");
          side.link(NAME, "refs/heads/none");
          side.link("refs/heads/c", "refs/heads/b");
          side.link("HEAD", "refs/heads/b");
        });
  }

  @Test
  void linksOnlyToFullNames() throws Exception {
    both(
        side -> {
          side.link("HEAD", "master");
          side.link("HEAD", "HEAD");
        });
  }

  @Test
  void linksOnlyWhereNoOtherNameIsInTheWay() throws Exception {
    both(
        side -> {
          side.update(NAME, A);
          side.packed("refs/heads/b/c", A);
          side.link("refs/heads/a/link", NAME);
          side.link("refs/heads/b", NAME);
        });
  }

  @Test
  void followsFiveLinksAndNoMore() throws Exception {
    both(
        side -> {
          side.update("refs/heads/0", A);
          for (int i = 1; i < 8; i++) {
            side.link("refs/heads/" + i, "refs/heads/" + (i - 1));
          }
          for (int i = 1; i < 8; i++) {
            side.force("refs/heads/" + i, i % 2 == 0 ? A : B);
          }
        });
  }

  @Test
  void doesNotFollowACircle() throws Exception {
    both(
        side -> {
          side.loose("refs/heads/x", "ref: refs/heads/y");
          side.loose("refs/heads/y", "ref: refs/heads/x");
          side.update("refs/heads/x", A);
          side.delete("refs/heads/y");
          side.detach("refs/heads/y", A);
        });
  }

  // ---- conflicts of names

  @ParameterizedTest
  @EnumSource
  void refusesANameBelowARef(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, A);
          side.update("refs/heads/a/b", B);
          side.update("refs/heads/a/b/c", B);
          side.force("refs/heads/a/b", B);
          side.update("refs/heads/a-b", B);
          side.update("refs/heads/ab", B);
        });
  }

  @ParameterizedTest
  @EnumSource
  void refusesANameAboveARef(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, "refs/heads/a/b/c", A);
          side.update(NAME, B);
          side.update("refs/heads/a/b", B);
          side.update("refs/heads", B);
          side.delete(NAME);
        });
  }

  /** For callers that know better; the file system may still refuse. */
  @ParameterizedTest
  @EnumSource
  void looksForNoConflictIfTold(Stored stored) throws Exception {
    alike(
        side -> {
          stored.put(side, "refs/heads/a/b", A);
          side.update("refs/heads/c", B, update -> update.setCheckConflicting(false));
        });
    compareState("at the end");
  }

  @ParameterizedTest
  @EnumSource
  void aNameIsFreeOnceTheOtherIsDeleted(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, "refs/heads/a/b/c", A);
          side.delete("refs/heads/a/b/c");
          side.update(NAME, B);
          side.delete(NAME);
          side.update("refs/heads/a/b", B);
        });
  }

  @Test
  void emptyFoldersAreNotInTheWay() throws Exception {
    both(
        side -> {
          Files.createDirectories(side.file("refs/heads/a/b/c"));
          side.update(NAME, A);
        });
  }

  // ---- locks and other writers

  @ParameterizedTest
  @EnumSource
  void aLockOfOthersIsRespected(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, A);
          side.whileLocked(
              NAME,
              () -> {
                side.update(NAME, B);
                side.force(NAME, B);
                side.delete(NAME);
                side.link(NAME, MASTER);
                side.detach(NAME, B);
                side.update("refs/heads/b", B);
              });
          side.update(NAME, B);
        });
  }

  @Test
  void aLockedTargetIsRespected() throws Exception {
    both(
        side -> {
          side.update(MASTER, A);
          side.whileLocked(
              MASTER,
              () -> {
                side.update("HEAD", B);
                side.detach("HEAD", B);
              });
        });
  }

  @ParameterizedTest
  @EnumSource
  void aLockOnPackedRefsHoldsUpDeletionsOnly(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, A);
          side.whileLocked(
              "packed-refs",
              () -> {
                side.update(NAME, B);
                side.update("refs/heads/b", B);
              });
        });
  }

  /** JGit refuses for a loose ref as well, for want of a look; what is packed can't go. */
  @Test
  void aPackedRefIsNotDeletedWhilePackedRefsIsLocked() throws Exception {
    both(
        side -> {
          side.packed(NAME, A);
          side.whileLocked("packed-refs", () -> side.delete(NAME));
          side.delete(NAME);
        });
  }

  @ParameterizedTest
  @EnumSource
  void readsTheOldValueUnderTheLock(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, A);
          RefUpdate expecting = side.newUpdate(NAME, false, C);
          expecting.setExpectedOldObjectId(A);
          RefUpdate late = side.newUpdate(NAME, false, C);
          side.git("update-ref", NAME, B.name());
          side.run("expecting another", expecting, RefUpdate::update);
          side.run("late", late, RefUpdate::update);
        });
  }

  @ParameterizedTest
  @EnumSource
  void seesWhatOthersPackedOrDeletedMeanwhile(Stored stored) throws Exception {
    both(
        side -> {
          stored.put(side, NAME, A);
          stored.put(side, "refs/heads/b", A);
          RefUpdate packed = side.newUpdate(NAME, false, B);
          RefUpdate deleted = side.newUpdate("refs/heads/b", false, B);
          side.git("pack-refs", "--all");
          side.git("update-ref", "-d", "refs/heads/b");
          side.run("packed meanwhile", packed, RefUpdate::update);
          side.run("deleted meanwhile", deleted, RefUpdate::update);
        });
  }

  @Test
  void seesWhatOthersCreatedMeanwhile() throws Exception {
    both(
        side -> {
          RefUpdate create = side.newUpdate(NAME, false, B);
          create.setExpectedOldObjectId(ZERO);
          RefUpdate move = side.newUpdate(NAME, false, B);
          side.git("update-ref", NAME, A.name());
          side.run("create", create, RefUpdate::update);
          side.run("move", move, RefUpdate::update);
        });
  }

  @Test
  void deletesWhatOthersPackedMeanwhile() throws Exception {
    both(
        side -> {
          side.loose(NAME, A);
          RefUpdate delete = side.newUpdate(NAME, false, null);
          delete.setForceUpdate(true);
          side.git("pack-refs", "--all");
          side.run("delete", delete, RefUpdate::delete);
        });
  }

  /** JGit says FORCED, but keeps what has become loose: not what is promised. */
  @Test
  void aDeletionThatIsToldIsDone() throws Exception {
    betterThanJGit(
        side -> {
          side.packed(NAME, A);
          RefUpdate delete = side.newUpdate(NAME, false, null);
          delete.setForceUpdate(true);
          side.git("update-ref", NAME, B.name());
          assertThat(delete.delete()).isEqualTo(RefUpdate.Result.FORCED);
          assertThat(side.values()).isEmpty();
        });
  }

  // ---- damage

  /** As when a project is deleted while somebody pushes to it. */
  @Test
  void aRepositoryThatIsGoneFailsUpdatesAndAnswers() throws Exception {
    alike(
        side -> {
          side.update(NAME, A);
          side.update("refs/heads/other", A);
          side.pack();
          side.update(NAME, B);
          side.see("before", side.refs().exactRef(NAME));
          MoreFiles.deleteRecursively(
              side.testRefs().folder(), RecursiveDeleteOption.ALLOW_INSECURE);
          side.see("after", side.refs().exactRef(NAME));
          side.see("all", side.refs().getRefs());
          side.delete(NAME);
          side.delete("refs/heads/other");
          side.link("HEAD", NAME);
          side.see("HEAD", side.refs().exactRef("HEAD"));
        });
  }

  /** As by a script that tidies up. JGit has no such folder. */
  @Test
  void itsOwnFolderMayBeDeletedAtAnyTime() throws Exception {
    both(
        side -> {
          side.update(NAME, A);
          deleteTransactions(side);
          side.update(NAME, B);
          deleteTransactions(side);
          side.pack();
          deleteTransactions(side);
          side.update("refs/heads/other", A);
          side.delete(NAME);
        });
  }

  private static void deleteTransactions(RefsSide side) throws IOException {
    Path folder = side.file("cache-chroniclemap");
    if (Files.exists(folder)) {
      MoreFiles.deleteRecursively(folder, RecursiveDeleteOption.ALLOW_INSECURE);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void syncsToDiskIfTold(boolean sync) throws Exception {
    openBare();
    for (RefsSide side : new RefsSide[] {ours(), jgit()}) {
      setFsync(side, sync);
    }
    both(
        side -> {
          side.update(NAME, A);
          side.update(NAME, B);
          side.link("HEAD", NAME);
          side.pack();
          side.delete(NAME);
        });
  }

  private static void setFsync(RefsSide side, boolean sync) throws IOException {
    side.repository().getConfig().setBoolean("core", null, "fsyncRefFiles", sync);
    side.repository().getConfig().save();
  }

  @ParameterizedTest
  @ValueSource(strings = {"always", "after_open", "never"})
  void doesTheSameWhateverIsTrusted(String trust) throws Exception {
    open(true, trust);
    both(
        side -> {
          side.update(NAME, A);
          side.pack();
          side.update(NAME, B);
          side.git("update-ref", NAME, C.name());
          side.update(NAME, C, update -> update.setExpectedOldObjectId(B));
          side.update(NAME, C, update -> update.setExpectedOldObjectId(C));
          side.delete(NAME);
          side.update("refs/heads/a/b", A);
        });
  }
}
