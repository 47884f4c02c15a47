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
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.MISSING;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.TAG;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.JGitPackedRefs;
import java.nio.file.Files;
import java.util.List;
import org.eclipse.jgit.api.PackRefsCommand;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.EmptyProgressMonitor;
import org.eclipse.jgit.lib.Ref;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Packing leaves what JGit's leaves: no ref loose that can be packed, and each with its value. */
class PackingContractTest extends RefsParity {
  private static final String NAME = "refs/heads/a";
  private static final String OTHER = "refs/heads/b";

  static final List<RefsScript> SCRIPTS =
      RefsScript.of(
          """
          packs what is loose
            update a A; update x/y/z B; update refs/changes/01/1/meta B; update refs/x C; pack;
            stored a; stored x/y/z; stored refs/changes/01/1/meta; stored refs/x;
            exists refs/heads/x/y
          packs nothing
            pack; exists packed-refs
          packs a new value over an old one
            packed a A; packed b A; update a B; pack; stored a; stored b; loose b A; pack; stored a;
            stored b
          packs only tags if not told
            update a A; update refs/tags/t TAG; pack-tags; stored a; stored refs/tags/t
          leaves symbolic refs loose
            update HEAD A; link link master; link nowhere none; pack; stored HEAD; stored link;
            stored nowhere; stored master
          leaves a detached HEAD loose
            detach HEAD A; update a A; pack; stored HEAD; stored a
          leaves a locked ref loose
            update a A; update b B; lock a; pack; unlock a; exists refs/heads/a; stored b; pack;
            stored a; stored b
          # A lock that its holder has taken before stays until the holder lets it go.
          leaves the lock of a caller
            update a A; lock a; pack; exists refs/heads/a.lock; update a B; unlock a
          fails where packed-refs is locked
            update a A; lock packed-refs; pack; unlock packed-refs; stored a
          packs what a batch has made
            batch: a 0>A, refs/tags/t 0>TAG; pack; stored a; stored refs/tags/t
          updates and deletes what is packed
            update a A; update b A; pack; update a B; delete b; stored b; pack; stored a; stored b;
            delete a; stored a
          # What JGit issue 281 tells of: JGit's batch holds its locks while it packs. Of ours no
          # lock is let go before the batch is done, so that another's update in between is refused.
          an atomic batch that packs is not disturbed
            update a A; update b A; batch: a A>B, b A>0; exists refs/heads/a.lock;
            exists refs/heads/b.lock; pack; stored a; stored b
          """);

  static final List<RefsScript> IF_NOT_BARE =
      RefsScript.of(
          """
          packs the current branch
            update HEAD A; update a B; pack; stored HEAD; stored master; stored a; delete master
          leaves the reflog
            update a A; update a B; pack
          """);

  @ParameterizedTest
  @FieldSource("SCRIPTS")
  void leavesWhatJGitLeaves(RefsScript script) throws Exception {
    both(script);
  }

  @ParameterizedTest
  @FieldSource("IF_NOT_BARE")
  void leavesTheSameInANonBareRepository(RefsScript script) throws Exception {
    open(false, null);
    both(script);
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
        });
  }

  @Test
  void packsWhatTagsLeadTo() throws Exception {
    both(
        side -> {
          script(
                  """
                  update refs/tags/one TAG; update refs/tags/two TAG_OF_TAG;
                  update refs/tags/light A; update tag TAG; pack
                  """)
              .on(side);
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
    script("update \uff5e A; update \ud83d\ude00 B; update z C; pack; delete z").on(side);
    if (side.refs() instanceof FileRefDatabase) {
      for (String name : List.of("refs/heads/\uff5e", "refs/heads/\ud83d\ude00")) {
        assertThat(side.testRefs().tryGit("show-ref", "--verify", name).status())
            .isEqualTo(TestRefs.canName(name) ? 0 : 128);
      }
    }
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

  // ---- while others write

  /** Changes a ref when packing has listed the refs, and before it packs them. */
  private static void packAfter(RefsSide side, String steps) {
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
                        side.attempt(
                            "meanwhile",
                            () -> {
                              script(steps).on(side);
                              return null;
                            });
                      }
                    }
                  },
                  command);
          return "done";
        });
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "git update-ref refs/heads/a B",
        "git update-ref -d refs/heads/a",
        "git pack-refs --all; git update-ref refs/heads/a B"
      })
  void losesAndBringsBackNothingThatIsChangedMeanwhile(String steps) throws Exception {
    both(
        side -> {
          script("update a A; update b A").on(side);
          packAfter(side, steps);
          script("read a; stored b; delete b").on(side);
        });
  }
}
