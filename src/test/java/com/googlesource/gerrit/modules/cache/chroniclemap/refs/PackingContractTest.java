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
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.MISSING;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.TAG;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.TAG_OF_TAG;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.JGitPackedRefs;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.eclipse.jgit.api.PackRefsCommand;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.EmptyProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Packing leaves what JGit's leaves: no ref loose that can be packed, and each with its value. */
class PackingContractTest extends RefsParity {
  private static final String NAME = "refs/heads/a";
  private static final String OTHER = "refs/heads/b";

  private static void see(RefsSide side, String... names) throws Exception {
    for (String name : names) {
      side.see(name, (side.isLoose(name) ? "loose " : "") + (side.isPacked(name) ? "packed" : ""));
    }
  }

  @Test
  void packsWhatIsLoose() throws Exception {
    both(
        side -> {
          side.update(NAME, A);
          side.update("refs/heads/x/y/z", B);
          side.update("refs/changes/01/1/meta", B);
          side.update("refs/x", C);
          side.pack();
          see(side, NAME, "refs/heads/x/y/z", "refs/changes/01/1/meta", "refs/x");
          side.see("folder", Files.exists(side.file("refs/heads/x/y")));
        });
  }

  @Test
  void packsNothing() throws Exception {
    both(
        side -> {
          side.pack();
          side.see("packed-refs", Files.exists(side.file("packed-refs")));
        });
  }

  @Test
  void packsTwice() throws Exception {
    both(
        side -> {
          side.update(NAME, A);
          side.pack();
          Object key = Files.readAttributes(side.file("packed-refs"), "unix:ino").get("ino");
          side.pack();
          Object after = Files.readAttributes(side.file("packed-refs"), "unix:ino").get("ino");
          side.see("the same file", key.equals(after));
          see(side, NAME);
        });
  }

  @Test
  void packsANewValueOverAnOldOne() throws Exception {
    both(
        side -> {
          side.packed(NAME, A);
          side.packed(OTHER, A);
          side.update(NAME, B);
          side.pack();
          see(side, NAME, OTHER);
          side.loose(OTHER, A);
          side.pack();
          see(side, NAME, OTHER);
        });
  }

  @Test
  void packsOnlyTagsIfNotTold() throws Exception {
    both(
        side -> {
          side.update(NAME, A);
          side.update("refs/tags/t", TAG);
          side.pack(false);
          see(side, NAME, "refs/tags/t");
        });
  }

  @Test
  void packsWhatTagsLeadTo() throws Exception {
    both(
        side -> {
          side.update("refs/tags/one", TAG);
          side.update("refs/tags/two", TAG_OF_TAG);
          side.update("refs/tags/light", A);
          side.update("refs/heads/tag", TAG);
          side.pack();
          // Not its header: what JGit writes there depends on its version.
          side.see(
              "packed-refs",
              Files.readAllLines(side.file("packed-refs")).stream()
                  .filter(line -> !line.startsWith("#"))
                  .toList());
        });
  }

  /** JGit writes a header that says all are peeled over refs of which it does not know. */
  @Test
  void knowsWhatTagsLeadToWhereTheFileDidNotSay() throws Exception {
    betterThanJGit(
        side -> {
          Files.writeString(
              side.file("packed-refs"),
              A.name() + " refs/heads/c\n" + TAG.name() + " refs/tags/t\n");
          side.update(NAME, A);
          side.update("refs/tags/u", TAG);
          side.pack(true);
          RefDirectory peer = side.testRefs().peer();
          for (String tag : new String[] {"refs/tags/t", "refs/tags/u"}) {
            Ref ref = peer.peel(peer.exactRef(tag));
            assertThat(ref.getPeeledObjectId()).isEqualTo(A);
          }
          assertThat(side.isPacked(NAME)).isTrue();
        });
  }

  /** JGit 7.7 calls its file sorted, and native git then does not find what sorts otherwise. */
  @Tag("locale")
  @Test
  void packsNamesThatBytesAndCharactersSortDifferently() throws Exception {
    if (JGitPackedRefs.TRUSTS_SORTED) {
      // Another process with JGit tells the refs as they stand in a file: in ours as git has them.
      alike(PackingContractTest::packWhatSortsDifferently);
    } else {
      both(PackingContractTest::packWhatSortsDifferently);
    }
  }

  private static void packWhatSortsDifferently(RefsSide side) throws Exception {
    side.update("refs/heads/\uff5e", A);
    side.update("refs/heads/\ud83d\ude00", B);
    side.update("refs/heads/z", C);
    side.pack();
    side.delete("refs/heads/z");
    if (side.refs() instanceof FileRefDatabase) {
      for (String name : List.of("refs/heads/\uff5e", "refs/heads/\ud83d\ude00")) {
        assertThat(side.testRefs().tryGit("show-ref", "--verify", name).status())
            .isEqualTo(TestRefs.canName(name) ? 0 : 128);
      }
    }
  }

  @Test
  void leavesSymbolicRefsLoose() throws Exception {
    both(
        side -> {
          side.update("HEAD", A);
          side.link("refs/heads/link", "refs/heads/master");
          side.link("refs/heads/nowhere", "refs/heads/none");
          side.pack();
          see(side, "HEAD", "refs/heads/link", "refs/heads/nowhere", "refs/heads/master");
        });
  }

  @Test
  void leavesADetachedHeadLoose() throws Exception {
    both(
        side -> {
          side.detach("HEAD", A);
          side.update(NAME, A);
          side.pack();
          see(side, "HEAD", NAME);
        });
  }

  @Test
  void doesTheSameInANonBareRepository() throws Exception {
    open(false, null);
    both(
        side -> {
          side.update("HEAD", A);
          side.update(NAME, B);
          side.pack();
          see(side, "HEAD", "refs/heads/master", NAME);
          side.delete("refs/heads/master");
        });
  }

  @Test
  void leavesALockedRefLoose() throws Exception {
    both(
        side -> {
          side.update(NAME, A);
          side.update(OTHER, B);
          side.whileLocked(NAME, side::pack);
          side.see("loose", side.isLoose(NAME));
          see(side, OTHER);
          side.pack();
          see(side, NAME, OTHER);
        });
  }

  @Test
  void failsWherePackedRefsIsLocked() throws Exception {
    both(
        side -> {
          side.update(NAME, A);
          side.whileLocked("packed-refs", side::pack);
          see(side, NAME);
        });
  }

  /** JGit packs nothing then, for ever. */
  @Test
  void leavesARefAloneWhoseObjectIsMissing() throws Exception {
    betterThanJGit(
        side -> {
          side.loose(NAME, MISSING);
          side.update(OTHER, A);
          side.pack();
          assertThat(side.isPacked(NAME)).isFalse();
          assertThat(side.isPacked(OTHER)).isTrue();
          assertThat(side.values().get(NAME)).isEqualTo(MISSING);
        });
  }

  @Test
  void packsWhatABatchHasMade() throws Exception {
    both(
        side -> {
          side.batch(
              true,
              new ReceiveCommand(ObjectId.zeroId(), A, NAME),
              new ReceiveCommand(ObjectId.zeroId(), TAG, "refs/tags/t"));
          side.pack();
          see(side, NAME, "refs/tags/t");
        });
  }

  @Test
  void updatesAndDeletesWhatIsPacked() throws Exception {
    both(
        side -> {
          side.update(NAME, A);
          side.update(OTHER, A);
          side.pack();
          side.update(NAME, B);
          side.delete(OTHER);
          see(side, OTHER);
          side.pack();
          see(side, NAME, OTHER);
          side.delete(NAME);
          see(side, NAME);
        });
  }

  @Test
  void leavesTheReflog() throws Exception {
    open(false, null);
    both(
        side -> {
          side.update(NAME, A);
          side.update(NAME, B);
          side.pack();
        });
  }

  // ---- while others write

  /** Changes a ref when packing has listed the refs, and before it packs them. */
  private static void packAfter(RefsSide side, RefsSide.Attempt act) {
    PackRefsCommand command = new PackRefsCommand(side.repository()).setAll(true);
    side.attempt(
        "pack",
        () -> {
          side.refs()
              .packRefs(
                  new EmptyProgressMonitor() {
                    private boolean acted;

                    @Override
                    public void update(int completed) {
                      if (!acted) {
                        acted = true;
                        side.attempt("meanwhile", act);
                      }
                    }
                  },
                  command);
          return "done";
        });
  }

  @Test
  void keepsWhatIsUpdatedMeanwhile() throws Exception {
    both(
        side -> {
          side.update(NAME, A);
          side.update(OTHER, A);
          packAfter(
              side,
              () -> {
                side.git("update-ref", NAME, B.name());
                return null;
              });
          side.delete(OTHER);
        });
  }

  @Test
  void bringsBackNothingThatIsDeletedMeanwhile() throws Exception {
    both(
        side -> {
          side.update(NAME, A);
          side.update(OTHER, A);
          packAfter(
              side,
              () -> {
                side.git("update-ref", "-d", NAME);
                return null;
              });
          see(side, NAME, OTHER);
        });
  }

  @Test
  void losesNothingToAnotherThatPacksMeanwhile() throws Exception {
    both(
        side -> {
          side.update(NAME, A);
          side.update(OTHER, A);
          packAfter(
              side,
              () -> {
                side.git("pack-refs", "--all");
                side.git("update-ref", NAME, B.name());
                return null;
              });
        });
  }

  /** A lock that its holder has taken before stays until the holder lets it go. */
  @Test
  void leavesTheLockOfACaller() throws Exception {
    both(
        side -> {
          side.update(NAME, A);
          side.whileLocked(
              NAME,
              () -> {
                side.pack();
                side.see("lock is there", Files.exists(side.file(NAME + ".lock")));
                side.update(NAME, B);
              });
        });
  }

  /**
   * What JGit issue 281 tells of: JGit's batch holds its locks while it packs. Of ours no lock is
   * let go before the batch is done, so that another's update in between is refused.
   */
  @Test
  void anAtomicBatchThatPacksIsNotDisturbed() throws Exception {
    both(
        side -> {
          side.update(NAME, A);
          side.update(OTHER, A);
          side.batch(
              true,
              new ReceiveCommand(A, B, NAME),
              new ReceiveCommand(A, ObjectId.zeroId(), OTHER));
          side.see("locks", side.isLoose(NAME + ".lock") || side.isLoose(OTHER + ".lock"));
          side.pack();
          see(side, NAME, OTHER);
        });
  }

  /** Two at a time: JGit may refuse one for the lock; no ref is lost by either. */
  @Test
  void twoPackAtATime() throws Exception {
    openBare();
    for (RefsSide side : new RefsSide[] {ours(), jgit()}) {
      for (int i = 0; i < 20; i++) {
        RefUpdate update = side.newUpdate("refs/heads/" + i, false, i % 2 == 0 ? A : B);
        assertThat(update.update()).isEqualTo(RefUpdate.Result.NEW);
      }
      ExecutorService threads = Executors.newFixedThreadPool(2);
      try {
        List<Future<?>> packing = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
          packing.add(
              threads.submit(
                  () -> {
                    side.pack(true);
                    return null;
                  }));
        }
        for (Future<?> one : packing) {
          one.get();
        }
      } finally {
        threads.shutdownNow();
      }
      for (int i = 0; i < 20; i++) {
        assertThat(side.isPacked("refs/heads/" + i)).isTrue();
        assertThat(side.isLoose("refs/heads/" + i)).isFalse();
      }
    }
    compareState("at the end");
  }

  /** While one updates a ref over and over and another packs, each update is told and kept. */
  @Test
  void updatesGoOnWhileItPacks() throws Exception {
    openBare();
    for (RefsSide side : new RefsSide[] {ours(), jgit()}) {
      ObjectId[] values = {A, B, C};
      ExecutorService thread = Executors.newSingleThreadExecutor();
      try {
        Future<?> updates =
            thread.submit(
                () -> {
                  ObjectId expected = ObjectId.zeroId();
                  for (int i = 0; i < 30; i++) {
                    ObjectId next = values[i % 3];
                    RefUpdate.Result result;
                    do {
                      RefUpdate update = side.newUpdate(NAME, false, next);
                      update.setExpectedOldObjectId(expected);
                      update.setForceUpdate(true);
                      result = update.update();
                      // Packing may hold the lock for a moment; the value is as it was then.
                    } while (result == RefUpdate.Result.LOCK_FAILURE
                        && (expected.equals(ObjectId.zeroId())
                            || side.refs().exactRef(NAME).getObjectId().equals(expected)));
                    assertThat(result).isAnyOf(RefUpdate.Result.NEW, RefUpdate.Result.FORCED);
                    expected = next;
                  }
                  return null;
                });
        while (!updates.isDone()) {
          side.pack(true);
        }
        updates.get();
      } finally {
        thread.shutdownNow();
      }
      // Whether the last value was packed in time is by chance.
      side.pack(true);
      assertThat(side.values()).containsExactly(NAME, values[29 % 3]);
    }
    compareState("at the end");
  }
}
