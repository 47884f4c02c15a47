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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedEdits;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.Transactions;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * A transaction that changes several refs as loose refs. Like native git, it leaves {@code
 * packed-refs} alone for refs that are made or changed. Deletions go through the {@link
 * PackedRefsQueue}, as they may have to remove lines.
 *
 * <p>There are three stages. The refs are locked throughout:
 *
 * <ol>
 *   <li>Prepare: the old values are read and checked, and the new values are written to files
 *       beside the journal. If this fails, no ref has changed.
 *   <li>Decide: the {@link Journal} records the decision. It is synced with the new values if the
 *       repository's config says so. From here on, readers of this process see the old values.
 *   <li>Finish: a new {@code packed-refs} is renamed into place if lines had to be removed. The new
 *       values are renamed into place, and the files of deleted refs are deleted. Then readers of
 *       this process see the new values of all refs at once. If a step fails, all refs get their
 *       old values again.
 * </ol>
 *
 * <p>If the process is killed before the decision, no ref has changed, and {@link Recovery} deletes
 * the locks. If it is killed later, recovery completes the transaction. Other processes that read
 * during the last stage may see some of the new values, as with native git.
 *
 * <p>The cost grows with the refs of the batch, and with the size of {@code packed-refs} only if a
 * line is removed.
 */
final class LooseTransaction implements PackedRefsQueue.Request {
  private final RefUpdater updater;
  private final LockedRefs locks;
  private final NameConflicts conflicts;
  private final List<ReceiveCommand> commands;
  private final boolean durable;

  /** The numbers of the commands that set refs, and of those that delete refs. */
  private final List<Integer> made = new ArrayList<>();

  private final List<Integer> deleted = new ArrayList<>();

  /** The old values of all refs by name; null for a missing ref. */
  private final NavigableMap<String, Ref> oldValues = new TreeMap<>();

  /** The lines to remove from {@code packed-refs}. */
  private final Map<String, Ref> removed = new HashMap<>();

  /** Set by the decision. */
  @Nullable private Transactions.Link link;

  /** Whether {@link #rollBackLines} was called, by the queue or by {@link #rollBackPackedRefs}. */
  private boolean areLinesRolledBack;

  /**
   * Makes a transaction without preparing anything.
   *
   * @param conflicts those of the commands of the locked refs
   * @param durable whether the changes have to survive a crash of the machine
   */
  LooseTransaction(RefUpdater updater, LockedRefs locks, NameConflicts conflicts, boolean durable) {
    this.updater = updater;
    this.locks = locks;
    this.conflicts = conflicts;
    this.commands = conflicts.sorted;
    this.durable = durable;
    for (int i = 0; i < commands.size(); i++) {
      (NameConflicts.deletes(commands.get(i)) ? deleted : made).add(i);
    }
  }

  /**
   * Runs all stages.
   *
   * @throws NameConflicts.RefusedException if a ref is not as its command expects
   * @throws IOException if a stage failed. No ref has changed then, unless a suppressed exception
   *     says so
   */
  void run() throws IOException {
    readOldValues();
    for (int i : made) {
      locks.write(i, commands.get(i).getNewId());
    }
    try {
      change();
    } finally {
      if (link != null) {
        updater.writes.transactions.end(link);
      }
    }
    updater.madeLoose((int) commands.stream().filter(this::makesLoose).count());
  }

  private boolean makesLoose(ReceiveCommand command) {
    Ref old = oldValues.get(command.getRefName());
    return !NameConflicts.deletes(command) && (old == null || !old.getStorage().isLoose());
  }

  private void change() throws IOException {
    try {
      if (!deleted.isEmpty()) {
        updater.write(this, new PackedRefsQueue.Terms(locks, true, durable));
      } else {
        decide();
        finish();
      }
    } catch (IOException | RuntimeException | Error e) {
      if (!areLinesRolledBack) { // the queue was not used, or failed before its rollback
        rollBackFiles(e);
        rollBackPackedRefs(e);
      }
      // Or recovery would set the new values if this process were killed.
      attempt("in the journal", e, locks::rollBackDecision);
      throw e;
    }
  }

  // ---- prepare

  private void readOldValues() throws IOException {
    // Reads files before the list, so that a ref that is packed meanwhile is found in the list.
    updater.checkUnderLocks(conflicts);
    for (ReceiveCommand command : commands) {
      oldValues.put(command.getRefName(), updater.refs.loose.readFile(command.getRefName()));
    }
    ParsedRefs packed = updater.refs.lockedReader.packed();
    for (ReceiveCommand command : commands) {
      String name = command.getRefName();
      Ref old = oldValues.get(name);
      if (old == null) {
        old = conflicts.packedRef(command, packed);
        oldValues.put(name, old);
      }
      if (old != null) {
        updater.refs.sawRefs();
      }
      if (!isAsExpected(command, old)) {
        throw new NameConflicts.RefusedException(command);
      }
    }
    conflicts.refuse(packed);
  }

  static boolean isAsExpected(ReceiveCommand command, @Nullable Ref old) {
    if (old == null) {
      return command.getType() == ReceiveCommand.Type.CREATE;
    }
    return !old.isSymbolic() && command.getOldId().equals(old.getObjectId());
  }

  // ---- packed-refs

  @Override
  public void collect(ParsedRefs packed, PackedEdits edits) throws IOException {
    conflicts.refuse(packed);
    removed.clear();
    for (int i : deleted) {
      String name = commands.get(i).getRefName();
      edits.remove(name, packed);
      Ref line = packed.exactRef(name);
      if (line != null) {
        removed.put(name, line);
      }
    }
  }

  // ---- decide and finish

  @Override
  public void decide() throws IOException {
    if (link == null) {
      locks.decide(durable);
      link = updater.writes.transactions.begin(oldValues);
    }
  }

  @Override
  public void finish() throws IOException {
    for (int i : made) {
      locks.publish(i);
    }
    for (int i : deleted) {
      locks.deleteLoose(i);
    }
    if (durable) {
      locks.syncFolders();
    }
  }

  // ---- rollback, under the locks

  /** Tries one step of the rollback. If that fails, the other steps still run. */
  static void attempt(String what, Throwable why, RefReader.Step step) {
    try {
      step.run();
    } catch (IOException | RuntimeException | Error e) {
      why.addSuppressed(new IOException("could not be rolled back " + what, e));
    }
  }

  @Override
  public void rollBackFiles(Throwable why) {
    if (link == null) {
      return; // no ref has changed
    }
    for (int i = 0; i < commands.size(); i++) {
      int number = i;
      attempt("for " + commands.get(i).getRefName(), why, () -> rollBackFile(number));
    }
    if (durable) {
      attempt("durably", why, locks::syncFolders);
    }
  }

  private void rollBackFile(int number) throws IOException {
    Ref old = oldValues.get(commands.get(number).getRefName());
    if (old != null && old.getStorage().isLoose()) {
      locks.rollBackValue(number, old, durable);
    } else {
      locks.deleteLoose(number);
    }
  }

  private void rollBackPackedRefs(Throwable why) {
    if (link != null) {
      // Not this request, which would publish the new values again.
      PackedRefsQueue.Request lines = (packed, edits) -> rollBackLines(packed, edits);
      attempt(
          "in packed-refs",
          why,
          () -> updater.write(lines, new PackedRefsQueue.Terms(locks, false, durable)));
    }
  }

  /** Restores removed lines, and the old values of refs whose new values others have packed. */
  @Override
  public void rollBackLines(ParsedRefs packed, PackedEdits edits) {
    areLinesRolledBack = true;
    for (int i = 0; i < commands.size(); i++) {
      String name = commands.get(i).getRefName();
      Ref old = oldValues.get(name);
      Ref line = removed.get(name);
      Ref now = packed.exactRef(name);
      if (now == null && line != null) {
        edits.set(name, line.getObjectId(), line.getPeeledObjectId());
      } else if (isCertainlyLocked(i) && !(old != null && old.getStorage().isLoose())) {
        // Without the lock, the ref may be another writer's. Any line will do under a loose ref.
        if (old == null) {
          edits.remove(name, packed);
        } else if (now == null || !now.getObjectId().equals(old.getObjectId())) {
          edits.set(name, old.getObjectId(), old.getPeeledObjectId());
        }
      }
    }
  }

  private boolean isCertainlyLocked(int number) {
    try {
      return locks.isLocked(number);
    } catch (IOException e) {
      return false;
    }
  }
}
