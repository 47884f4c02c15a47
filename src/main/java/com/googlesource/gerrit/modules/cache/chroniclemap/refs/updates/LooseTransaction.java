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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.updates;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.Journal;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.LockedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.PackedEdits;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.Transactions;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * Changes several refs as one, as loose refs: like native git, no list is written for refs that are
 * made or changed. Only deletions of packed refs go through {@code packed-refs}.
 *
 * <p>Three stages, the refs being locked throughout:
 *
 * <ol>
 *   <li>Prepare: values are read and compared, new ones written beside. A failure here has changed
 *       nothing.
 *   <li>Decide: the {@link Journal} says that it is to be, and is synced together with the new
 *       values if the repository's config says so; and readers of this process are told the old
 *       values from here on.
 *   <li>Finish: {@code packed-refs} is put into place if lines had to leave it, files are renamed,
 *       files of deleted refs deleted; then readers are told the new values, of all refs at once.
 *       If one of these steps fails, all refs are given their old values again.
 * </ol>
 *
 * <p>A process that is killed before the decision has changed nothing, and leaves locks that can be
 * told; one that is killed after it has its work finished by {@link Recovery}. Another process that
 * reads in the middle may see some of the new values, as with native git.
 *
 * <p>Costs grow with the refs of the batch; with the size of {@code packed-refs} only where a line
 * has to leave it.
 */
final class LooseTransaction implements PackedRefsQueue.Request {
  private final RefUpdater updater;
  private final LockedRefs locks;
  private final List<ReceiveCommand> commands;
  private final boolean durable;

  /** The values of now: of all refs, or null where there is none. */
  private final NavigableMap<String, Ref> oldValues = new TreeMap<>();

  /** Lines that are to leave {@code packed-refs}. */
  private final Map<String, Ref> removed = new HashMap<>();

  private NameConflicts conflicts;

  /** Set by the decision. */
  @Nullable private Transactions.Link link;

  /** Whether packed-refs was to have its old lines again. */
  private boolean isRestored;

  /**
   * Prepares nothing yet.
   *
   * @param commands in the order of names, for which the locks are
   * @param durable whether it is to outlive a crash of the machine
   */
  LooseTransaction(
      RefUpdater updater, LockedRefs locks, List<ReceiveCommand> commands, boolean durable) {
    this.updater = updater;
    this.locks = locks;
    this.commands = commands;
    this.durable = durable;
  }

  /**
   * Does it all.
   *
   * @throws NameConflicts.RefusedException if a ref is not as its command expects
   * @throws IOException if it failed; then nothing has changed, but where the message says so
   */
  void run() throws IOException {
    readOldValues();
    writeNewValues();
    try {
      change();
    } finally {
      if (link != null) {
        updater.writes().transactions().end(link);
      }
    }
    updater.madeLoose((int) commands.stream().filter(this::makesLoose).count());
  }

  private boolean makesLoose(ReceiveCommand command) {
    Ref old = oldValues.get(command.getRefName());
    return !deletes(command) && (old == null || !old.getStorage().isLoose());
  }

  private void change() throws IOException {
    try {
      if (commands.stream().anyMatch(LooseTransaction::deletes)) {
        updater.write(this, new PackedRefsQueue.Terms(locks, true, durable));
      } else {
        decide();
        finish();
      }
    } catch (IOException | RuntimeException | Error e) {
      if (!isRestored) { // the queue has not begun to write, or there was no need of it
        undo(e);
        restoreLines(e);
      }
      undecide(e);
      throw e;
    }
  }

  private static boolean deletes(ReceiveCommand command) {
    return command.getType() == ReceiveCommand.Type.DELETE;
  }

  // ---- prepare

  private void readOldValues() throws IOException {
    // Files first: a ref that is packed meanwhile is in the list that is asked for afterwards.
    conflicts = updater.conflicts(commands);
    for (ReceiveCommand command : commands) {
      oldValues.put(
          command.getRefName(), updater.refs().reader().loose().readFile(command.getRefName()));
    }
    ParsedRefs packed = updater.refs().reader().packed();
    for (ReceiveCommand command : commands) {
      String name = command.getRefName();
      Ref old = oldValues.get(name);
      if (old == null) {
        old = packed.exactRef(name);
        oldValues.put(name, old);
      }
      if (old != null) {
        updater.refs().sawRefs();
      }
      if (!isAsExpected(command, old)) {
        throw new NameConflicts.RefusedException(command);
      }
    }
    conflicts.refuse(packed);
  }

  private static boolean isAsExpected(ReceiveCommand command, @Nullable Ref old) {
    if (old == null) {
      return command.getType() == ReceiveCommand.Type.CREATE;
    }
    return !old.isSymbolic() && command.getOldId().equals(old.getObjectId());
  }

  private void writeNewValues() throws IOException {
    for (int i = 0; i < commands.size(); i++) {
      if (!deletes(commands.get(i))) {
        locks.write(i, commands.get(i).getNewId());
      }
    }
  }

  // ---- packed-refs

  @Override
  public void collect(ParsedRefs packed, PackedEdits edits) throws IOException {
    conflicts.refuse(packed);
    removed.clear();
    for (ReceiveCommand command : commands) {
      if (!deletes(command)) {
        continue;
      }
      edits.remove(command.getRefName(), packed);
      Ref line = packed.exactRef(command.getRefName());
      if (line != null) {
        removed.put(command.getRefName(), line);
      }
    }
  }

  // ---- decide and finish

  @Override
  public void decide() throws IOException {
    if (link == null) {
      locks.decide(durable);
      link = updater.writes().transactions().begin(oldValues);
    }
  }

  @Override
  public void finish() throws IOException {
    for (int i = 0; i < commands.size(); i++) {
      if (!deletes(commands.get(i))) {
        locks.publish(i);
      }
    }
    for (int i = 0; i < commands.size(); i++) {
      if (deletes(commands.get(i))) {
        locks.deleteLoose(i);
      }
    }
    if (durable) {
      locks.syncFolders();
    }
  }

  // ---- undo: the locks are still there

  private interface Step {
    void run() throws IOException;
  }

  /** Runs one step, whose failure must not keep the others from being tried. */
  private static void attempt(String what, Throwable why, Step step) {
    try {
      step.run();
    } catch (IOException | RuntimeException | Error e) {
      why.addSuppressed(new IOException("could not be undone " + what, e));
    }
  }

  @Override
  public void undo(Throwable why) {
    if (link == null) {
      return; // no ref has changed
    }
    for (int i = 0; i < commands.size(); i++) {
      int number = i;
      attempt("for " + commands.get(i).getRefName(), why, () -> undo(number));
    }
    if (durable) {
      attempt("durably", why, locks::syncFolders);
    }
  }

  private void undo(int number) throws IOException {
    Ref old = oldValues.get(commands.get(number).getRefName());
    if (old != null && old.getStorage().isLoose()) {
      locks.write(number, old.getObjectId());
      if (durable) {
        locks.syncValue(number);
      }
      locks.publish(number);
    } else {
      locks.deleteLoose(number);
    }
  }

  private void restoreLines(Throwable why) {
    if (link != null) {
      attempt(
          "in packed-refs",
          why,
          () -> updater.write(this, new PackedRefsQueue.Terms(locks, false, durable)));
    }
  }

  /** Lines may have been removed, and others may have packed new values while these were there. */
  @Override
  public void restore(ParsedRefs packed, PackedEdits edits) {
    isRestored = true;
    for (int i = 0; i < commands.size(); i++) {
      String name = commands.get(i).getRefName();
      Ref old = oldValues.get(name);
      Ref line = removed.get(name);
      Ref now = packed.exactRef(name);
      if (now == null && line != null) {
        edits.set(name, line.getObjectId(), line.getPeeledObjectId());
      } else if (locks.isLocked(i) && !(old != null && old.getStorage().isLoose())) {
        // Another process owns a ref whose lock was lost. Under a loose ref, any line will do.
        if (old == null) {
          edits.remove(name, packed);
        } else if (now == null || !now.getObjectId().equals(old.getObjectId())) {
          edits.set(name, old.getObjectId(), old.getPeeledObjectId());
        }
      }
    }
  }

  /** Or, if this process is killed from here on, the refs would be given the new values. */
  private void undecide(Throwable why) {
    attempt("in the journal", why, locks::undecide);
  }
}
