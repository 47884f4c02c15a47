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

import java.util.List;
import org.eclipse.jgit.lib.RefRename;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;

/** A rename does what JGit's does: the value, HEAD, the reflog, and nothing left behind. */
@ParameterizedClass
@CsvSource({"true, LOOSE", "true, PACKED", "false, LOOSE", "false, PACKED", "false, BOTH"})
class RenameContractTest extends RefsParity {
  private static final String OLD = "refs/heads/old";
  private static final String NEW = "refs/heads/new";

  static final List<RefsScript> RENAMES =
      RefsScript.of(
          """
          moves
            grown old A; rename old new; rename new deep/er/name; rename deep/er/name old
          moves without a log
            put old A; rename old new
          moves the branch that HEAD leads to
            grown master A; update HEAD B; rename master new; read HEAD
          moves below itself
            grown old A; rename old old/below; rename old/below old
          moves below itself with HEAD
            grown master A; rename master master/below
          moves to another folder
            grown old A; rename old refs/tags/tag; rename refs/tags/tag refs/other/ref
          does not overwrite
            grown old A; grown new B; rename old new
          does not move to a name in conflict
            grown old A; put x B; put y/z B; rename old x/y; rename old y
          does not move a symbolic ref
            grown old A; link link old; rename link new
          does not move what is not there
            rename none new
          does not move to itself
            grown old A; rename old old
          does not move while one is locked
            grown old A; lock old; rename old new; unlock old; lock new; rename old new; unlock new;
            rename old new
          does not move the current branch while HEAD is locked
            grown master A; lock HEAD; rename master new; unlock HEAD
          """);

  private final boolean bare;
  private final RefsScript.Stored stored;

  RenameContractTest(boolean bare, RefsScript.Stored stored) {
    this.bare = bare;
    this.stored = stored;
  }

  @ParameterizedTest
  @FieldSource("RENAMES")
  void doesWhatJGitDoes(RefsScript script) throws Exception {
    renames(script.with(stored, /* isAtomic= */ true));
  }

  private void renames(Scenario scenario) throws Exception {
    open(bare, null);
    both(scenario);
  }

  private void put(RefsSide side, String how) throws Exception {
    script(how + " old A").with(stored, /* isAtomic= */ true).on(side);
  }

  /** In a locale that has no character for it, nothing may be lost. */
  @Tag("locale")
  @Test
  void movesToANameBeyondAscii() throws Exception {
    String steps =
        "grown old A; rename old \u00e9; rename \u00e9 \u4e2d/\u6587; rename \u4e2d/\u6587 new";
    renames(script(steps).with(stored, /* isAtomic= */ true));
  }

  @Test
  void saysWhatItIsToldTo() throws Exception {
    renames(
        side -> {
          put(side, "grown");
          side.rename(OLD, NEW, rename -> rename.setRefLogMessage("a message"));
          side.rename(NEW, OLD, rename -> rename.setRefLogIdent(RefObjects.person(8)));
          side.rename(OLD, NEW, RefRename::disableRefLog);
        });
  }

  @Test
  void doesNotMoveWhatHasChangedMeanwhile() throws Exception {
    renames(
        side -> {
          put(side, "put");
          RefRename rename = side.refs().newRename(OLD, NEW);
          side.git("update-ref", OLD, RefObjects.B.name());
          side.attempt("rename", rename::rename);
        });
  }
}
