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
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.D;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.ZERO;

import java.io.IOException;
import java.nio.file.Files;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.ReflogEntry;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.CsvSource;

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
  private static final String MASTER = "refs/heads/master";

  private final boolean bare;
  private final String logAllRefUpdates;

  ReflogContractTest(boolean bare, String logAllRefUpdates) {
    this.bare = bare;
    this.logAllRefUpdates = logAllRefUpdates;
  }

  private void openConfigured() throws IOException {
    open(bare, null);
    if (!logAllRefUpdates.isEmpty()) {
      for (RefsSide side : new RefsSide[] {ours(), jgit()}) {
        side.repository().getConfig().setString("core", null, "logAllRefUpdates", logAllRefUpdates);
        side.repository().getConfig().save();
      }
    }
  }

  private void logs(Scenario scenario) throws Exception {
    openConfigured();
    both(scenario);
  }

  private static void message(RefUpdate update) {
    update.setRefLogMessage("a message\nof two lines", false);
  }

  private static void result(RefUpdate update) {
    update.setRefLogMessage("a message", true);
  }

  private static void resultOnly(RefUpdate update) {
    update.setRefLogMessage("", true);
  }

  private static void nothing(RefUpdate update) {
    update.disableRefLog();
  }

  private static void forced(RefUpdate update) {
    update.setForceRefLog(true);
  }

  private static void byAnother(RefUpdate update) {
    update.setRefLogIdent(RefObjects.person(7));
    update.setRefLogMessage("by another", false);
  }

  @Test
  void ofSingleUpdates() throws Exception {
    logs(
        side -> {
          side.update(NAME, A);
          side.update(NAME, B, ReflogContractTest::message);
          side.update(NAME, C, ReflogContractTest::result);
          side.force(NAME, D);
          side.update(NAME, D, ReflogContractTest::message);
          side.update(NAME, A, ReflogContractTest::message);
          side.delete(NAME);
          side.update(NAME, A, ReflogContractTest::resultOnly);
        });
  }

  @Test
  void ofRefsOfAllFolders() throws Exception {
    logs(
        side -> {
          side.update("refs/tags/t", A, ReflogContractTest::message);
          side.update("refs/changes/01/1/meta", A, ReflogContractTest::message);
          side.update("refs/notes/n", A, ReflogContractTest::message);
          side.update("refs/remotes/r/n", A, ReflogContractTest::message);
          side.update("refs/meta/config", A, ReflogContractTest::message);
          side.update("ORIG_HEAD", A, ReflogContractTest::message);
        });
  }

  @Test
  void ofOneThatWantsNone() throws Exception {
    logs(
        side -> {
          side.update(NAME, A, ReflogContractTest::nothing);
          side.update(NAME, B);
          side.update(NAME, C, ReflogContractTest::nothing);
        });
  }

  @Test
  void ofOneThatMustHaveIt() throws Exception {
    logs(
        side -> {
          side.update(NAME, A, ReflogContractTest::forced);
          side.update(NAME, B);
          side.update("refs/changes/01/1/meta", A, ReflogContractTest::forced);
          side.update("refs/changes/01/1/meta", B);
        });
  }

  @Test
  void byWhoIsNamed() throws Exception {
    logs(
        side -> {
          side.update(NAME, A, ReflogContractTest::byAnother);
          side.update("HEAD", A, ReflogContractTest::byAnother);
        });
  }

  @Test
  void thatIsThereAlready() throws Exception {
    logs(
        side -> {
          Files.createDirectories(side.file("logs/refs/x"));
          Files.createFile(side.file("logs/refs/x/y"));
          side.update("refs/x/y", A, ReflogContractTest::message);
        });
  }

  @Test
  void throughHead() throws Exception {
    logs(
        side -> {
          side.update("HEAD", A, ReflogContractTest::message);
          side.update("HEAD", B, ReflogContractTest::result);
          side.update(MASTER, C, ReflogContractTest::message);
          side.link("HEAD", NAME, ReflogContractTest::message);
          side.detach("HEAD", D);
          side.link("HEAD", MASTER, ReflogContractTest::result);
        });
  }

  @Test
  void ofADeletion() throws Exception {
    logs(
        side -> {
          side.update("refs/heads/x/y/z", A, ReflogContractTest::forced);
          side.update(NAME, A, ReflogContractTest::forced);
          side.delete("refs/heads/x/y/z");
          side.see("folder", Files.exists(side.file("logs/refs/heads/x")));
          side.update("refs/heads/x", A, ReflogContractTest::forced);
          side.pack();
          side.delete("refs/heads/x");
          side.update("refs/heads/x/y", A, ReflogContractTest::forced);
        });
  }

  @Test
  void ofWhatFails() throws Exception {
    logs(
        side -> {
          side.update(NAME, B, ReflogContractTest::message);
          side.update(NAME, A, ReflogContractTest::message);
          side.update("refs/heads/a/b", A, ReflogContractTest::message);
          side.whileLocked(NAME, () -> side.update(NAME, C, ReflogContractTest::message));
          side.batch(
              true,
              batch -> batch.setRefLogMessage("a batch", true),
              new ReceiveCommand(A, C, NAME),
              new ReceiveCommand(ZERO, C, MASTER));
        });
  }

  // ---- of batches

  private static ReceiveCommand[] commands() {
    return new ReceiveCommand[] {
      new ReceiveCommand(A, B, NAME),
      new ReceiveCommand(B, A, "refs/heads/back"),
      new ReceiveCommand(ZERO, A, "refs/heads/new"),
      new ReceiveCommand(A, ZERO, "refs/heads/gone"),
      new ReceiveCommand(ZERO, A, "refs/changes/01/1/meta")
    };
  }

  /** The same atomic and not; each begins with refs that have a log and such that have none. */
  private void ofBatches(RefsSide.BatchSettings settings) throws Exception {
    for (boolean atomic : new boolean[] {true, false}) {
      logs(
          side -> {
            side.update(NAME, A, ReflogContractTest::forced);
            side.update("refs/heads/back", B, ReflogContractTest::nothing);
            side.update("refs/heads/gone", A, ReflogContractTest::forced);
            side.batch(
                atomic,
                batch -> {
                  batch.setAllowNonFastForwards(true);
                  settings.set(batch);
                },
                commands());
          });
      folder = folder.resolve("next");
    }
  }

  @Test
  void ofABatchThatSaysNothing() throws Exception {
    ofBatches(batch -> {});
  }

  @Test
  void ofABatchWithAMessage() throws Exception {
    ofBatches(batch -> batch.setRefLogMessage("a\nmessage", false));
  }

  @Test
  void ofABatchWithItsResults() throws Exception {
    ofBatches(batch -> batch.setRefLogMessage("a message", true));
  }

  @Test
  void ofABatchWithItsResultsOnly() throws Exception {
    ofBatches(batch -> batch.setRefLogMessage(null, true));
  }

  @Test
  void ofABatchThatWantsNone() throws Exception {
    ofBatches(batch -> batch.setRefLogMessage("a message", true).disableRefLog());
  }

  @Test
  void ofABatchThatMustHaveThem() throws Exception {
    ofBatches(batch -> batch.setRefLogMessage("a message", true).setForceRefLog(true));
  }

  @Test
  void ofABatchBySomebody() throws Exception {
    ofBatches(
        batch ->
            batch
                .setRefLogIdent(RefObjects.person(9))
                .setRefLogMessage("by somebody", false)
                .setForceRefLog(true));
  }

  @Test
  void ofABatchWhoseCommandsSayForThemselves() throws Exception {
    ofBatches(
        batch -> {
          batch.setRefLogMessage("a message", true);
          batch.getCommands().get(0).setRefLogMessage("its own", false);
          batch.getCommands().get(1).disableRefLog();
          batch.getCommands().get(2).setRefLogMessage("its own", true);
          batch.getCommands().get(4).setForceRefLog(true);
        });
  }

  @Test
  void ofFastForwards() throws Exception {
    for (boolean atomic : new boolean[] {true, false}) {
      logs(
          side -> {
            side.update(NAME, A, ReflogContractTest::forced);
            side.update(MASTER, A, ReflogContractTest::forced);
            side.batch(
                atomic,
                batch -> batch.setRefLogMessage(null, true),
                new ReceiveCommand(A, B, NAME),
                new ReceiveCommand(A, C, MASTER));
          });
      folder = folder.resolve("next");
    }
  }

  @Test
  void ofANameBelowOneThatIsDeletedWithIt() throws Exception {
    logs(
        side -> {
          side.update(NAME, A, ReflogContractTest::forced);
          side.batch(
              true,
              batch -> batch.setRefLogMessage("a message", false).setForceRefLog(true),
              new ReceiveCommand(A, ZERO, NAME),
              new ReceiveCommand(ZERO, A, "refs/heads/a/b"));
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
          side.update(NAME, A, ReflogContractTest::byAnother);
          side.update(NAME, B, ReflogContractTest::byAnother);
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
