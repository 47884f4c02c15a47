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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.Transactions;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.revwalk.RevObject;
import org.eclipse.jgit.revwalk.RevTag;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * A transaction that changes several refs by one rewrite of {@code packed-refs}. Other processes
 * see all of it or nothing too, and a killed process leaves nothing half done. It serves batches of
 * very many refs, batches that replace a ref by refs below it, and those for which the settings or
 * plain locks require it.
 *
 * <p>The refs are locked, and none of them is loose. The cost grows with the size of {@code
 * packed-refs}. Concurrent transactions share a rewrite.
 */
final class PackedTransaction implements PackedRefsQueue.Request {
  private final RefUpdater updater;
  private final LockedRefs locks;
  private final NameConflicts conflicts;
  private final List<ReceiveCommand> commands;
  private final RevWalk walk;
  private final boolean durable;
  private final Map<ReceiveCommand, ObjectId> peeled = new HashMap<>();
  private final Map<String, Ref> oldValues = new HashMap<>();
  @Nullable private Transactions.Link link;

  PackedTransaction(
      RefUpdater updater,
      LockedRefs locks,
      NameConflicts conflicts,
      RevWalk walk,
      boolean durable) {
    this.updater = updater;
    this.locks = locks;
    this.conflicts = conflicts;
    this.commands = conflicts.sorted;
    this.walk = walk;
    this.durable = durable;
  }

  /**
   * Runs the transaction.
   *
   * @throws NameConflicts.RefusedException if a ref is not as its command expects
   * @throws IOException if the transaction failed. No ref has changed then, unless a suppressed
   *     exception says so
   */
  void run() throws IOException {
    for (ReceiveCommand command : commands) {
      if (!NameConflicts.deletes(command)) {
        RevObject object = walk.parseAny(command.getNewId());
        peeled.put(command, object instanceof RevTag ? walk.peel(object).copy() : null);
      }
    }
    if (durable) {
      // Packing has deleted loose files. One of them could hide the new line after a power loss.
      locks.syncFolders();
    }
    try {
      updater.write(this, new PackedRefsQueue.Terms(locks, true, durable));
    } finally {
      if (link != null) {
        updater.writes.transactions.end(link);
      }
    }
  }

  @Override
  public void collect(ParsedRefs packed, PackedEdits edits) throws IOException {
    for (int i = 0; i < commands.size(); i++) {
      locks.checkLocked(i);
      ReceiveCommand command = commands.get(i);
      Ref old = conflicts.packedRef(command, packed);
      oldValues.put(command.getRefName(), old);
      if (!LooseTransaction.isAsExpected(command, old)) {
        throw new NameConflicts.RefusedException(command);
      }
    }
    conflicts.checkUnderLocks(updater.refs.paths);
    conflicts.refuse(packed);
    for (ReceiveCommand command : commands) {
      if (NameConflicts.deletes(command)) {
        edits.remove(command.getRefName(), packed);
      } else {
        edits.set(command.getRefName(), command.getNewId().copy(), peeled.get(command));
      }
    }
  }

  /**
   * Has readers see the old values until the end. The file changes at once, but a reader may have
   * read a loose file just before its deletion. Such a reader would mix one old value with new
   * ones.
   */
  @Override
  public void decide() {
    if (link == null) {
      link = updater.writes.transactions.begin(new TreeMap<>(oldValues));
    }
  }

  /**
   * Checks for conflicts again. Native git looks for refs and not for locks: since {@link
   * #collect}, it may have locked a ref above or below a new one that it could not see yet. Once
   * the lock of the new ref is gone, nothing would stop native git.
   */
  @Override
  public void finish() throws IOException {
    conflicts.checkUnderLocks(updater.refs.paths);
    conflicts.refuse(null);
  }

  /**
   * Restores the lines even of a ref whose lock was lost. As {@code packed-refs} has been locked
   * since {@link #collect}, another holder can only have made a loose file, which hides the line.
   */
  @Override
  public void rollBackLines(ParsedRefs packed, PackedEdits edits) {
    oldValues.forEach(
        (name, old) -> {
          if (old == null) {
            edits.remove(name, packed);
          } else {
            edits.set(name, old.getObjectId(), old.getPeeledObjectId());
          }
        });
  }
}
