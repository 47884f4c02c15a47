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
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.ZERO;

import java.util.List;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.ReflogEntry;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Reflogs are written where JGit writes them, with the same entries. The comparison of states holds
 * each file below {@code logs/} against JGit's.
 *
 * <p>Bare or not, as the configuration has it or as it is where nothing is configured.
 */
@ParameterizedClass
@CsvSource({"true, ''", "false, ''", "true, true", "true, always", "false, false"})
class ReflogContractTest extends RefsParity {
  private static final String NAME = "refs/heads/a";

  static final List<RefsScript> SCRIPTS =
      RefsScript.of(
          """
          of single updates
            update a A; update a B message; update a C result; force a D; update a D message;
            update a A message; delete a; update a A result-only
          of refs of all folders
            update refs/tags/t A message; update refs/changes/01/1/meta A message;
            update refs/notes/n A message; update refs/remotes/r/n A message;
            update refs/meta/config A message; update ORIG_HEAD A message
          of one that wants none
            update a A unlogged; update a B; update a C unlogged
          of one that must have it
            update a A logged; update a B; update refs/changes/01/1/meta A logged;
            update refs/changes/01/1/meta B
          by who is named
            update a A by-another; update HEAD A by-another
          that is there already
            touch logs/refs/x/y; update refs/x/y A message
          through HEAD
            update HEAD A message; update HEAD B result; update master C message;
            link HEAD a message; detach HEAD D; link HEAD master result
          of a deletion
            update x/y/z A logged; update a A logged; delete x/y/z; exists logs/refs/heads/x;
            update x A logged; pack; delete x; update x/y A logged
          of what fails
            update a B message; update a A message; update a/b A message; lock a;
            update a C message; unlock a; batch atomic result: a A>C, master 0>C
          of a name below one that is deleted with it
            update a A logged; batch atomic message logged: a A>0, a/b 0>A
          of a name below one that is deleted behind it
            update a A logged; batch atomic message logged: a/b/c 0>A, a A>0
          of a name below a packed one that is deleted with it
            update a A logged; git pack-refs --all; batch atomic message logged: a/b/c 0>A, a A>0
          of fast-forwards in a batch
            update a A logged; update master A logged; batch atomic result-only: a A>B, master A>C
          of fast-forwards, one at a time
            update a A logged; update master A logged; batch each result-only: a A>B, master A>C
          """);

  private final boolean bare;
  private final String logAllRefUpdates;

  ReflogContractTest(boolean bare, String logAllRefUpdates) {
    this.bare = bare;
    this.logAllRefUpdates = logAllRefUpdates;
  }

  private void logs(Scenario scenario) throws Exception {
    open(bare, null);
    if (!logAllRefUpdates.isEmpty()) {
      alike(script("config core.logAllRefUpdates " + logAllRefUpdates));
    }
    both(scenario);
  }

  @ParameterizedTest
  @FieldSource("SCRIPTS")
  void areThoseOfJGit(RefsScript script) throws Exception {
    logs(script);
  }

  // ---- of batches

  /** Some of its refs have a log, and some have none. */
  private static final String LOGGED_AND_NOT =
      "update a A logged; update back B unlogged; update gone A logged";

  /** The same atomic and not, with each of these options. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "message",
        "result",
        "result-only",
        "result unlogged",
        "result logged",
        "by-another message logged"
      })
  void ofABatch(String options) throws Exception {
    for (boolean atomic : new boolean[] {true, false}) {
      String batch = ": a A>B, back B>A, new 0>A, gone A>0, refs/changes/01/1/meta 0>A";
      logs(
          script("batch force " + options + batch)
              .after(LOGGED_AND_NOT)
              .with(RefsScript.Stored.LOOSE, atomic));
      folder = folder.resolve("next");
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void ofABatchWhoseCommandsSayForThemselves(boolean atomic) throws Exception {
    logs(
        side -> {
          script(LOGGED_AND_NOT).on(side);
          ReceiveCommand a = new ReceiveCommand(A, B, NAME);
          ReceiveCommand back = new ReceiveCommand(B, A, "refs/heads/back");
          ReceiveCommand made = new ReceiveCommand(ZERO, A, "refs/heads/new");
          ReceiveCommand gone = new ReceiveCommand(A, ZERO, "refs/heads/gone");
          ReceiveCommand meta = new ReceiveCommand(ZERO, A, "refs/changes/01/1/meta");
          a.setRefLogMessage("its own", false);
          back.disableRefLog();
          made.setRefLogMessage("its own", true);
          meta.setForceRefLog(true);
          side.batch(
              atomic,
              batch -> batch.setAllowNonFastForwards(true).setRefLogMessage("a message", true),
              a,
              back,
              made,
              gone,
              meta);
        });
  }

  // ---- reading

  /** Without the time, which of single updates is that of the write. */
  private static String show(@Nullable ReflogEntry entry) {
    if (entry == null) {
      return "none";
    }
    return String.join(
        " ",
        entry.getOldId().name(),
        entry.getNewId().name(),
        entry.getWho().getEmailAddress(),
        entry.getComment());
  }

  @Test
  void areRead() throws Exception {
    logs(
        side -> {
          script("update a A by-another; update a B by-another").on(side);
          for (String name : new String[] {NAME, "HEAD", "refs/heads/none"}) {
            Ref ref = side.refs().exactRef(name);
            if (ref != null) {
              for (ReflogEntry entry : side.refs().getReflogReader(ref).getReverseEntries()) {
                side.see("entry of " + name, show(entry));
              }
              side.see("last", show(side.refs().getReflogReader(ref).getLastEntry()));
            }
            side.see("reader by name", side.refs().getReflogReader(name) != null);
          }
          side.git("reflog", "show", "--format=%H %gs", NAME);
        });
  }
}
