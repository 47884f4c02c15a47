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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.LockedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.PackedEdits;
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
 * Changes several refs as one by a rewrite of {@code packed-refs}: also other processes see all of
 * it or nothing, and a killed one leaves nothing half done. For batches of very many refs, for
 * those in which a folder takes the place of a ref or the other way round, and for whoever asks for
 * it.
 *
 * <p>The refs are locked and none of them is loose. Costs grow with the size of {@code
 * packed-refs}; those that wait at the same time share that.
 */
final class PackedTransaction implements PackedRefsQueue.Request {
  private final RefUpdater updater;
  private final LockedRefs locks;
  private final List<ReceiveCommand> commands;
  private final RevWalk walk;
  private final boolean durable;
  private final Map<ReceiveCommand, ObjectId> peeled = new HashMap<>();
  private final Map<String, Ref> oldValues = new HashMap<>();
  @Nullable private Transactions.Link link;

  PackedTransaction(
      RefUpdater updater, LockedRefs locks, List<ReceiveCommand> commands, RevWalk walk) {
    this.updater = updater;
    this.locks = locks;
    this.commands = commands;
    this.walk = walk;
    this.durable = updater.isDurable();
  }

  /**
   * Does it all.
   *
   * @throws NameConflicts.RefusedException if a ref is not as its command expects
   * @throws IOException if it failed; then nothing has changed, but where what is suppressed in the
   *     exception says so
   */
  void run() throws IOException {
    for (ReceiveCommand command : commands) {
      if (command.getType() != ReceiveCommand.Type.DELETE) {
        RevObject object = walk.parseAny(command.getNewId());
        peeled.put(command, object instanceof RevTag ? walk.peel(object).copy() : null);
      }
    }
    try {
      updater.write(this, new PackedRefsQueue.Terms(locks, true, durable));
    } finally {
      if (link != null) {
        updater.writes().transactions().end(link);
      }
    }
  }

  @Override
  public void collect(ParsedRefs packed, PackedEdits edits) throws IOException {
    for (ReceiveCommand command : commands) {
      Ref old = packed.exactRef(command.getRefName());
      oldValues.put(command.getRefName(), old);
      boolean expected =
          old == null
              ? command.getType() == ReceiveCommand.Type.CREATE
              : command.getOldId().equals(old.getObjectId());
      if (!expected) {
        throw new NameConflicts.RefusedException(command);
      }
    }
    NameConflicts.underLocks(updater.paths(), commands).refuse(packed);
    for (ReceiveCommand command : commands) {
      if (command.getType() == ReceiveCommand.Type.DELETE) {
        edits.remove(command.getRefName(), packed);
      } else {
        edits.set(command.getRefName(), command.getNewId().copy(), peeled.get(command));
      }
    }
  }

  /**
   * The file changes all at once. But who reads now may have read a loose file just before that was
   * deleted, and would see the old value of that ref with the new ones of others.
   */
  @Override
  public void decide() {
    if (link == null) {
      link = updater.writes().transactions().begin(new TreeMap<>(oldValues));
    }
  }

  /**
   * Looks again. Native git looks for refs and not for locks: whoever has locked a ref above or
   * below a new one since {@link #collect} may have done so before the new one could be seen, and
   * is kept out by nothing when its lock is gone.
   */
  @Override
  public void finish() throws IOException {
    NameConflicts.underLocks(updater.paths(), commands).refuse();
  }

  @Override
  public void restore(ParsedRefs packed, PackedEdits edits) {
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
