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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.RefLocks;
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
  private final RefWriter writer;
  private final RefLocks locks;
  private final List<ReceiveCommand> commands;
  private final boolean durable;

  /** The values of now: of all refs, or null where there is none. */
  private final NavigableMap<String, Ref> oldValues = new TreeMap<>();

  /** Lines that are to leave {@code packed-refs}. */
  private final Map<String, Ref> removed = new HashMap<>();

  private NameConflicts conflicts;

  /** Set by the decision. */
  @Nullable private Transactions.Link link;

  /**
   * Prepares nothing yet.
   *
   * @param commands in the order of names, for which the locks are
   * @param durable whether it is to outlive a crash of the machine
   */
  LooseTransaction(
      RefWriter writer, RefLocks locks, List<ReceiveCommand> commands, boolean durable) {
    this.writer = writer;
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
        writer.writes().transactions().end(link);
      }
    }
    writer.madeLoose((int) commands.stream().filter(this::makesLoose).count());
  }

  private boolean makesLoose(ReceiveCommand command) {
    Ref old = oldValues.get(command.getRefName());
    return !deletes(command) && (old == null || !old.getStorage().isLoose());
  }

  private void change() throws IOException {
    try {
      if (commands.stream().anyMatch(LooseTransaction::deletes)) {
        writer.write(this, new PackedRefsQueue.Terms(locks, true, durable));
      } else {
        decide();
        finish();
      }
    } catch (IOException | RuntimeException | Error e) {
      undo(e);
      throw e;
    }
  }

  private static boolean deletes(ReceiveCommand command) {
    return command.getType() == ReceiveCommand.Type.DELETE;
  }

  // ---- prepare

  private void readOldValues() throws IOException {
    // Files first: a ref that is packed meanwhile is in the list that is asked for afterwards.
    conflicts = NameConflicts.underLocks(writer.paths(), commands);
    for (ReceiveCommand command : commands) {
      oldValues.put(
          command.getRefName(), writer.refs().reader().loose().readFile(command.getRefName()));
    }
    ParsedRefs packed = writer.refs().reader().packed();
    for (ReceiveCommand command : commands) {
      String name = command.getRefName();
      Ref old = oldValues.get(name);
      if (old == null) {
        old = packed.exactRef(name);
        oldValues.put(name, old);
      }
      if (old != null) {
        writer.refs().sawRefs();
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
      link = writer.writes().transactions().begin(oldValues);
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
        locks.checkLocked(i);
        writer.deleteLoose(commands.get(i).getRefName());
      }
    }
    if (durable) {
      locks.syncFolders();
    }
  }

  // ---- undo

  /** Gives all refs their old values again, as far as may be. The locks are still there. */
  private void undo(Throwable why) {
    if (link != null) {
      undoRefs(why);
    }
    try {
      // Or, if this process is killed from here on, the rest would be given the new values.
      locks.undecide();
    } catch (IOException e) {
      why.addSuppressed(e);
    }
  }

  private void undoRefs(Throwable why) {
    for (int i = 0; i < commands.size(); i++) {
      String name = commands.get(i).getRefName();
      Ref old = oldValues.get(name);
      try {
        locks.checkLocked(i);
        if (old != null && old.getStorage().isLoose()) {
          locks.write(i, old.getObjectId());
          if (durable) {
            locks.syncValue(i);
          }
          locks.publish(i);
        } else {
          writer.deleteLoose(name);
        }
      } catch (IOException e) {
        why.addSuppressed(new IOException("could not be undone for " + name, e));
      }
    }
    if (durable) {
      try {
        locks.syncFolders();
      } catch (IOException e) {
        why.addSuppressed(e);
      }
    }
    try {
      writer.write(
          (packed, edits) -> restore(oldValues, removed, packed, edits),
          new PackedRefsQueue.Terms(locks, false, durable));
    } catch (IOException e) {
      why.addSuppressed(new IOException("could not be undone in packed-refs", e));
    }
  }

  /**
   * Gives {@code packed-refs} the lines it had: some may have left it, and others may have packed
   * new values while these were there. Nothing is written if it has them.
   *
   * @param removed lines of those that were loose
   */
  static void restore(
      Map<String, Ref> oldValues, Map<String, Ref> removed, ParsedRefs packed, PackedEdits edits) {
    oldValues.forEach(
        (name, old) -> {
          if (old == null) {
            edits.remove(name, packed);
            return;
          }
          // Under a loose ref any line will do.
          Ref line = old.getStorage().isLoose() ? removed.get(name) : old;
          Ref now = packed.exactRef(name);
          boolean isRight =
              now != null
                  && (old.getStorage().isLoose() || now.getObjectId().equals(old.getObjectId()));
          if (line != null && !isRight) {
            edits.set(name, line.getObjectId(), line.getPeeledObjectId());
          }
        });
  }
}
