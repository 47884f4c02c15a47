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

import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.A;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.B;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.C;

import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefRename;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.CsvSource;

/** A rename does what JGit's does: the value, HEAD, the reflog, and nothing left behind. */
@ParameterizedClass
@CsvSource({"true, LOOSE", "true, PACKED", "false, LOOSE", "false, PACKED", "false, BOTH"})
class RenameContractTest extends RefsParity {
  private static final String OLD = "refs/heads/old";
  private static final String NEW = "refs/heads/new";

  private final boolean bare;
  private final RefUpdateContractTest.Stored stored;

  RenameContractTest(boolean bare, RefUpdateContractTest.Stored stored) {
    this.bare = bare;
    this.stored = stored;
  }

  private void renames(Scenario scenario) throws Exception {
    open(bare, null);
    both(scenario);
  }

  /** With a reflog of two entries. */
  private void put(RefsSide side, String name, ObjectId id) throws Exception {
    side.update(name, C, update -> update.setForceRefLog(true));
    side.delete(name);
    stored.put(side, name, A);
    side.force(name, B);
    side.update(name, C, update -> update.setForceRefLog(true));
    if (stored == RefUpdateContractTest.Stored.PACKED) {
      side.pack();
    }
    side.force(name, id);
    if (stored == RefUpdateContractTest.Stored.PACKED) {
      side.pack();
    }
  }

  @Test
  void moves() throws Exception {
    renames(
        side -> {
          put(side, OLD, A);
          side.rename(OLD, NEW);
          side.rename(NEW, "refs/heads/deep/er/name");
          side.rename("refs/heads/deep/er/name", OLD);
        });
  }

  /** In a locale that has no character for it, nothing may be lost. */
  @Tag("locale")
  @Test
  void movesToANameBeyondAscii() throws Exception {
    renames(
        side -> {
          put(side, OLD, A);
          side.rename(OLD, "refs/heads/\u00e9");
          side.rename("refs/heads/\u00e9", "refs/heads/\u4e2d/\u6587");
          side.rename("refs/heads/\u4e2d/\u6587", NEW);
        });
  }

  @Test
  void movesWithoutALog() throws Exception {
    renames(
        side -> {
          stored.put(side, OLD, A);
          side.rename(OLD, NEW);
        });
  }

  @Test
  void movesTheBranchThatHeadLeadsTo() throws Exception {
    renames(
        side -> {
          put(side, "refs/heads/master", A);
          side.update("HEAD", B);
          side.rename("refs/heads/master", NEW);
          side.see("HEAD", side.refs().exactRef("HEAD").getTarget().getName());
        });
  }

  @Test
  void movesBelowItself() throws Exception {
    renames(
        side -> {
          put(side, OLD, A);
          side.rename(OLD, OLD + "/below");
          side.rename(OLD + "/below", OLD);
        });
  }

  @Test
  void movesBelowItselfWithHead() throws Exception {
    renames(
        side -> {
          put(side, "refs/heads/master", A);
          side.rename("refs/heads/master", "refs/heads/master/below");
        });
  }

  @Test
  void movesToAnotherFolder() throws Exception {
    renames(
        side -> {
          put(side, OLD, A);
          side.rename(OLD, "refs/tags/tag");
          side.rename("refs/tags/tag", "refs/other/ref");
        });
  }

  @Test
  void doesNotOverwrite() throws Exception {
    renames(
        side -> {
          put(side, OLD, A);
          put(side, NEW, B);
          side.rename(OLD, NEW);
        });
  }

  @Test
  void doesNotMoveToANameInConflict() throws Exception {
    renames(
        side -> {
          put(side, OLD, A);
          stored.put(side, "refs/heads/x", B);
          stored.put(side, "refs/heads/y/z", B);
          side.rename(OLD, "refs/heads/x/y");
          side.rename(OLD, "refs/heads/y");
        });
  }

  @Test
  void doesNotMoveASymbolicRef() throws Exception {
    renames(
        side -> {
          put(side, OLD, A);
          side.link("refs/heads/link", OLD);
          side.rename("refs/heads/link", NEW);
        });
  }

  @Test
  void doesNotMoveWhatIsNotThere() throws Exception {
    renames(side -> side.rename("refs/heads/none", NEW));
  }

  @Test
  void doesNotMoveToItself() throws Exception {
    renames(
        side -> {
          put(side, OLD, A);
          side.rename(OLD, OLD);
        });
  }

  @Test
  void doesNotMoveWhileOneIsLocked() throws Exception {
    renames(
        side -> {
          put(side, OLD, A);
          side.whileLocked(OLD, () -> side.rename(OLD, NEW));
          side.whileLocked(NEW, () -> side.rename(OLD, NEW));
          side.rename(OLD, NEW);
        });
  }

  @Test
  void doesNotMoveTheCurrentBranchWhileHeadIsLocked() throws Exception {
    renames(
        side -> {
          put(side, "refs/heads/master", A);
          side.whileLocked("HEAD", () -> side.rename("refs/heads/master", NEW));
        });
  }

  @Test
  void saysWhatItIsToldTo() throws Exception {
    renames(
        side -> {
          put(side, OLD, A);
          side.rename(OLD, NEW, rename -> rename.setRefLogMessage("a message"));
          side.rename(NEW, OLD, rename -> rename.setRefLogIdent(RefObjects.person(8)));
          side.rename(OLD, NEW, RefRename::disableRefLog);
        });
  }

  @Test
  void doesNotMoveWhatHasChangedMeanwhile() throws Exception {
    renames(
        side -> {
          stored.put(side, OLD, A);
          RefRename rename = side.refs().newRename(OLD, NEW);
          side.git("update-ref", OLD, B.name());
          side.attempt("rename", rename::rename);
        });
  }
}
