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
import static java.util.stream.Collectors.joining;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.revwalk.RevCommit;
import org.eclipse.jgit.revwalk.RevWalk;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An update of one ref does what JGit's does, wherever the ref is stored. */
class RefUpdateContractTest extends RefsParity {
  private static final String NAME = "refs/heads/a";

  static final List<RefsScript> CREATIONS =
      RefsScript.wherever(
          """
          creates only if it is expected to be new
            put a A; update a B expect 0; update b B expect 0; update c B expect A
          creates tags
            update refs/tags/one TAG; update refs/tags/two TAG_OF_TAG; update refs/tags/light A
          needs a value
            update a -
          """);

  static final List<RefsScript> UPDATES =
      RefsScript.wherever(
          """
          moves forward
            put a A; update a B; update a C
          moves elsewhere only by force
            put a B; update a A; update a D; update a TAG; force a A; force a TAG; update a C; force a D
          changes nothing for the same value
            put a A; update a A; force a A; update a A expect A; update a A expect B
          updates only the expected value
            put a A; update a B expect C; update a B expect MISSING; update a B expect A
          refuses a missing object
            put a A; update a MISSING; force a MISSING; update b MISSING; detach a MISSING
          leaves a missing object
            loose a MISSING; update a A; force a A; loose b MISSING; delete b
          """);

  static final List<RefsScript> DELETIONS =
      RefsScript.wherever(
          """
          deletes
            put a A; put b B; put refs/tags/t TAG; delete a; delete a; delete refs/tags/t; update a C
          deletes the last one
            put a A; delete a
          deletes without force
            put a A; delete a unforced; delete a unforced to B; put b B; delete b unforced to B
          deletes only the expected value
            put a A; delete a expect B; delete a expect 0; delete a expect MISSING; delete a expect A
          deletes what is not there
            delete none/there; delete none expect 0; delete none unforced expect A
          deletes the folders of a loose ref
            update one/two/three/four A; update one/other A; update refs/changes/01/1/meta A;
            delete one/two/three/four; delete refs/changes/01/1/meta; exists refs/heads/one/two;
            exists refs/changes/01; exists refs/changes; exists refs/heads
          deletes the branch that HEAD leads to in a bare repository, which has no current one
            update master A; delete HEAD; update HEAD A; delete master
          """);

  static final List<RefsScript> DELETIONS_IF_NOT_BARE =
      RefsScript.wherever(
          """
          does not delete the current branch
            put master A; delete master; delete HEAD; update a A; delete a
          does not delete what HEAD leads to by the way
            update master A; link link master; link HEAD link; delete master; delete link; unlink link
          deletes any branch where HEAD is detached
            update master A; detach HEAD B; delete master; delete HEAD
          # Native git takes it for no repository meanwhile.
          deletes a branch without a HEAD
            update master A; rm HEAD; delete master; symbolic HEAD master
          """);

  static final List<RefsScript> SYMBOLIC_REFS =
      RefsScript.wherever(
          """
          updates what a symbolic ref leads to
            put master A; update HEAD B; update HEAD D; force HEAD D; update HEAD D;
            update HEAD A expect A
          detaches a symbolic ref
            put master A; detach HEAD A; detach HEAD B; update HEAD C; link HEAD master;
            link link master; detach link B; update link C
          detaches an unborn HEAD
            detach HEAD A
          detaches without force
            update master B; detach HEAD A unforced; detach HEAD B unforced
          creates the target of an unborn symbolic ref
            update HEAD A; link link deep/target; update link A
          deletes what a symbolic ref leads to, or itself
            put a A; put b A; link link a; link other b; delete link; unlink other; unlink link; unlink b
          links over a ref
            put a A; put b B; link a b; link a b; link a none; link c b; link HEAD b
          links only where no other name is in the way
            update a A; packed b/c A; link a/link a; link b a
          follows five links and no more
            update 0 A; link 1 0; link 2 1; link 3 2; link 4 3; link 5 4; link 6 5; link 7 6;
            force 1 B; force 2 A; force 3 B; force 4 A; force 5 B; force 6 A; force 7 B
          does not follow a circle
            symbolic x y; symbolic y x; update x A; delete y; detach y A
          """);

  static final List<RefsScript> NAMES =
      RefsScript.wherever(
          """
          refuses a name below a ref
            put a A; update a/b B; update a/b/c B; force a/b B; update a-b B; update ab B
          refuses a name above a ref
            put a/b/c A; update a B; update a/b B; update refs/heads B; delete a
          # For callers that know better; the file system may still refuse.
          looks for no conflict if told
            put a/b A; update c B unchecked
          a name is free once the other is deleted
            put a/b/c A; delete a/b/c; update a B; delete a; update a/b B
          empty folders are not in the way
            mkdir a/b/c; update a A
          """);

  static final List<RefsScript> LOCKS =
      RefsScript.wherever(
          """
          a lock of others is respected
            put a A; lock a; update a B; force a B; delete a; link a master; detach a B; update b B;
            unlock a; update a B
          a locked target is respected
            update master A; lock master; update HEAD B; detach HEAD B; unlock master
          a lock on packed-refs holds up deletions only
            put a A; lock packed-refs; update a B; update b B; unlock packed-refs
          # JGit refuses for a loose ref as well, for want of a look; what is packed can't go.
          a packed ref is not deleted while packed-refs is locked
            packed a A; lock packed-refs; delete a; unlock packed-refs; delete a
          """);

  static final List<RefsScript> OTHER_WRITERS =
      RefsScript.wherever(
          """
          reads the old value under the lock
            put a A; prepare one: update a C expect A; prepare two: update a C;
            git update-ref refs/heads/a B; run one; run two
          sees what others packed or deleted meanwhile
            put a A; put b A; prepare packed: update a B; prepare deleted: update b B;
            git pack-refs --all; git update-ref -d refs/heads/b; run packed; run deleted
          sees what others created meanwhile
            prepare create: update a B expect 0; prepare move: update a B;
            git update-ref refs/heads/a A; run create; run move
          deletes what others packed meanwhile
            loose a A; prepare one: delete a; git pack-refs --all; run one
          an update may be used again
            prepare one: update a A; run one; run one to B
          an update that has deleted a ref can make it
            loose a A; prepare one: delete a; run one; reuse one: update a B; run one to B
          """);

  @ParameterizedTest
  @FieldSource({"CREATIONS", "UPDATES", "DELETIONS", "SYMBOLIC_REFS", "NAMES", "OTHER_WRITERS"})
  void doesWhatJGitDoes(RefsScript script) throws Exception {
    both(script);
  }

  @ParameterizedTest
  @FieldSource("DELETIONS_IF_NOT_BARE")
  void protectsTheCurrentBranch(RefsScript script) throws Exception {
    open(false, null);
    both(script);
  }

  @ParameterizedTest
  @FieldSource("LOCKS")
  void locksOfOthersAreRespected(RefsScript script) throws Exception {
    both(script);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void syncsToDiskIfTold(boolean sync) throws Exception {
    String steps = "; update a A; update a B; link HEAD a; pack; delete a";
    both(script("config core.fsyncRefFiles " + sync + steps));
  }

  // ---- names

  /** Of all folders and lengths. */
  @Tag("locale")
  @Test
  void creates() throws Exception {
    String part = "p".repeat(200);
    both(
        script(
            """
            update a A; update b/c/d/e A; update refs/tags/t A; update refs/changes/01/1/meta A;
            update refs/meta/config A; update refs/x A; update \u00e9 A; update a-b A;
            update \uff5e\ud83d\ude00 A; update HEAD A; update ORIG_HEAD A; update FETCH_HEAD A;
            update LONG A
            """
                .replace("LONG", (part + '/').repeat(5) + part)));
  }

  /**
   * In a locale that has no character for it nobody can know whether there is a loose one: neither
   * that there is none may be said, nor what is packed.
   */
  @Tag("locale")
  @Test
  void readsWhatGitHasMade() throws Exception {
    alike(
        script(
            """
            read \u00e9; update-ref create refs/heads/\u00e9 A; read \u00e9;
            git pack-refs --all; read \u00e9; update-ref update refs/heads/\u00e9 B; read \u00e9;
            update \u00e9 C
            """));
    if (RefPaths.limitsOfNames().isEmpty()) {
      compareState("at the end");
    }
  }

  /** The file system refuses it; nothing is left of the attempt. */
  @Test
  void createsNoneWithATooLongName() throws Exception {
    both(script("update " + "p".repeat(300) + " A"));
  }

  @Tag("locale")
  @Test
  void deletesAllPackedRefs() throws Exception {
    // JGit does not find the second of these two while they are beside each other.
    List<String> names = List.of("a", "a-b", "b/c", "\ud83d\ude00", "\uff5e", "refs/tags/t");
    both(
        script(
            names.stream().map(name -> "packed " + name + " TAG; ").collect(joining())
                + names.stream().map(name -> "delete " + name + "; ").collect(joining())
                + "exists packed-refs"));
  }

  @Test
  void linksOnlyToFullNames() throws Exception {
    both(
        side -> {
          side.link("HEAD", "master");
          side.link("HEAD", "HEAD");
        });
  }

  // ---- updates as objects

  @Test
  void doesNotLookForAMergeWhereItIsForced() throws Exception {
    both(
        side -> {
          side.loose(NAME, B);
          RefUpdate update = side.newUpdate(NAME, false, A);
          update.setForceUpdate(true);
          try (RevWalk walk = new NoMerges(side)) {
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
          script("update a A; update other A; pack; update a B; read a").on(side);
          MoreFiles.deleteRecursively(
              side.testRefs().folder(), RecursiveDeleteOption.ALLOW_INSECURE);
          side.see("all", side.refs().getRefs());
          script("read a; delete a; delete other; link HEAD a; read HEAD").on(side);
        });
  }

  /** As by a script that tidies up. JGit has no such folder. */
  @Test
  void itsOwnFolderMayBeDeletedAtAnyTime() throws Exception {
    both(
        side -> {
          for (String steps :
              List.of("update a A", "update a B", "pack", "update other A; delete a")) {
            Path folder = side.file("cache-chroniclemap");
            if (Files.exists(folder)) {
              MoreFiles.deleteRecursively(folder, RecursiveDeleteOption.ALLOW_INSECURE);
            }
            script(steps).on(side);
          }
        });
  }

  /** Fails where somebody looks whether an update is a fast-forward. */
  static final class NoMerges extends RevWalk {
    NoMerges(RefsSide side) {
      super(side.repository());
    }

    @Override
    public boolean isMergedInto(RevCommit base, RevCommit tip) throws IOException {
      throw new AssertionError("asked for a merge");
    }
  }
}
