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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefName;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedEdits;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RepositoryFiles;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.Transactions;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.NavigableMap;
import java.util.Set;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.revwalk.RevTag;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * A transaction that changes one ref or several. Like native git, it makes loose refs, and leaves
 * {@code packed-refs} alone for refs that are made or changed. Deletions go through the {@link
 * PackedRefsQueue}, as they may have to remove lines. So do all changes of a batch of very many
 * refs, and of one with a name below another that it deletes: these refs get lines instead of
 * files.
 *
 * <p>There are three stages. The refs are locked throughout, but for a single one whose lock file
 * has the new value and becomes the ref in the last step:
 *
 * <ol>
 *   <li>Prepare: the old values are read and checked, and the new values are written to files
 *       beside the journal. If this fails, no ref has changed.
 *   <li>Decide: the {@link Journal} records the decision, unless a single step makes the change. It
 *       is synced with the new values if the repository's config says so. From here on, readers of
 *       this process see the old values of several refs.
 *   <li>Finish: a new {@code packed-refs} is renamed into place if lines have changed. The new
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
 * line changes.
 */
final class RefTransaction implements PackedRefsQueue.Request, RefReader.NotLoose, Closeable {
  /** A ref and its change. */
  private static final class Change extends HeldLocks.LockedRef {
    final ReceiveCommand command;
    final boolean deletes;

    /** The old value; null for a missing ref. */
    @Nullable Ref old;

    /** Whether the ref had no loose file when its old value was read. */
    boolean isNotLoose;

    /** What the tag leads to that gets a line; null for another object. */
    @Nullable ObjectId peeled;

    /** The line to remove from {@code packed-refs}; null if there is none. */
    @Nullable Ref removed;

    Change(ReceiveCommand command) {
      super(command.getRefName(), command.getNewId());
      this.command = command;
      this.deletes = NameConflicts.deletes(command);
    }

    /** Whether the ref was loose, and led to an object or another ref. */
    boolean wasLoose() {
      return old != null && old.getStorage().isLoose();
    }
  }

  private final UpdateContext context;
  private final RepositoryFiles refs;

  /** In the order of names. */
  private final List<Change> changes;

  final NameConflicts conflicts;

  /** Whether refs get lines in {@code packed-refs}, and no files. */
  private final boolean isPacked;

  /** Whether the changes have to survive a crash of the machine. */
  private final boolean durable;

  /** Null until the refs are locked. */
  @Nullable private HeldLocks locks;

  /** The names that are set and were missing when their old values were read. */
  private final List<String> created = new ArrayList<>();

  /** The old values of all refs by name; null for a missing ref. */
  private NavigableMap<String, Ref> oldValues;

  /** Set by the decision if there are several refs. */
  @Nullable private Transactions.Link link;

  /** The loose refs that were made, and not yet counted. */
  private int newLoose;

  /** Whether refs may have changed. */
  private boolean hasBegun;

  /** Whether {@link #rollBackLines} was called, by the queue or by {@link #rollBackPackedRefs}. */
  private boolean areLinesRolledBack;

  /** Makes a transaction without preparing anything. */
  RefTransaction(UpdateContext context, List<ReceiveCommand> commands) throws IOException {
    this.context = context;
    this.refs = context.refs;
    this.changes =
        commands.stream().map(Change::new).sorted(Comparator.comparing(each -> each.name)).toList();
    for (int i = 1; i < changes.size(); i++) {
      if (changes.get(i).name.equals(changes.get(i - 1).name)) {
        throw new IOException("Duplicate ref: " + changes.get(i).name);
      }
    }
    this.conflicts = new NameConflicts(refs, commands);
    this.isPacked =
        commands.size() > Math.max(1, context.settings.maxLooseBatch()) || conflicts.areNested();
    this.durable = refs.config().getBoolean("core", null, "fsyncRefFiles", false);
  }

  // ---- prepare

  /**
   * Locks the refs, and reads their old values.
   *
   * @throws RefusedException if there is another lock holder of a ref, or a conflict of names
   * @throws RefReader.LeftToJGit if JGit must write
   */
  void lock(long waitMillis) throws IOException {
    conflicts.checkBeforeLocks();
    if (isPacked) {
      packLoose();
    }
    locks = context.lock(changes, waitMillis);
    RefReader.ToWrite read = refs.lockedReader.refsToWrite(locks.names, this);
    oldValues = read.refs();
    for (Change change : changes) {
      change.old = oldValues.get(change.name);
      if (change.old == null && !change.deletes) {
        created.add(change.name);
      }
    }
    if (read.packed() != null) {
      conflicts.checkPacked(read.packed(), created);
    }
  }

  /**
   * Has no file in the way of the locks of refs below it, and nearly always none at all, so that
   * the new {@code packed-refs} is the only change.
   */
  private void packLoose() throws IOException {
    for (Change change : changes) {
      // A new ref has none, or the batch is refused.
      if (change.command.getType() != ReceiveCommand.Type.CREATE
          && refs.loose.find(RefName.of(change.name)) != null) {
        context.packer().pack(NullProgressMonitor.INSTANCE, true);
        return;
      }
    }
  }

  @Override
  public void check(Set<String> names) throws IOException {
    changes.forEach(change -> change.isNotLoose = names.contains(change.name));
    context.checkFiles(conflicts, names);
  }

  @Override
  public boolean isMissing(ParsedRefs packed, int number) {
    return conflicts.isInFreeFolder(packed, changes.get(number).command);
  }

  /** The old value of the only ref; null if it is missing. */
  @Nullable
  Ref old() {
    return changes.get(0).old;
  }

  /** Checks that all refs are as the commands of a batch expect them. */
  void checkExpected() throws RefusedException {
    for (Change change : changes) {
      boolean isAsExpected =
          change.old == null
              // Or it may be a symbolic ref that leads through too many others.
              ? change.command.getType() == ReceiveCommand.Type.CREATE && change.isNotLoose
              : !change.old.isSymbolic()
                  && change.command.getOldId().equals(change.old.getObjectId());
      if (!isAsExpected) {
        throw new RefusedException(change.name, null);
      }
    }
  }

  /** Writes the new values, which {@link #run} sets. */
  void write(RevWalk walk) throws IOException {
    for (Change change : changes) {
      if (!change.deletes) {
        if (!isPacked) {
          change.write(change.newId.name(), durable);
        } else if (walk.parseAny(change.newId) instanceof RevTag tag) {
          change.peeled = walk.peel(tag).copy();
        }
      }
    }
  }

  /** Writes the new content of the only ref. */
  void write(String content) throws IOException {
    changes.get(0).write(content, durable);
  }

  /**
   * Changes the refs.
   *
   * @throws IOException if a stage failed. No ref has changed then, unless a suppressed exception
   *     says so
   */
  void run() throws IOException {
    try {
      change();
    } finally {
      if (link != null) {
        context.writes.transactions.end(link);
      }
    }
    newLoose =
        isPacked ? 0 : (int) changes.stream().filter(c -> !c.deletes && !c.wasLoose()).count();
  }

  private void change() throws IOException {
    try {
      if (isPacked || changes.stream().anyMatch(change -> change.deletes)) {
        if (durable && isPacked) {
          // Packing has deleted files. One of them could hide the new line after a power loss.
          locks.syncFolders();
        }
        context.write(this, new PackedRefsQueue.Options(locks, true, durable));
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
      attempt("in the journal", e, () -> locks.journal.rollBackDecision(durable));
      throw e;
    }
  }

  // ---- packed-refs

  @Override
  public void collect(ParsedRefs packed, PackedEdits edits) throws IOException {
    // All that may fail comes first, as the edits are those of all requests. Native git may have
    // made and packed a ref below a new one since the old values were read.
    conflicts.checkPacked(packed, created);
    locks.checkLocked(changes.stream().filter(each -> isPacked || each.deletes).toList());
    for (Change change : changes) {
      if (change.deletes) {
        edits.remove(change.name, packed);
        change.removed = packed.exactRef(change.name);
      } else if (isPacked) {
        edits.set(change.name, change.newId.copy(), change.peeled);
      }
    }
  }

  // ---- decide and finish

  @Override
  public void decide() throws IOException {
    if (hasBegun) {
      return;
    }
    boolean isSingle = changes.size() == 1;
    if (!isSingle && steps() > 1) {
      locks.decide(durable);
    } else if (durable) {
      locks.syncValues();
    }
    if (!isSingle) {
      link = context.writes.transactions.begin(oldValues);
    }
    hasBegun = true;
  }

  /** The number of steps that change a ref: the rename of packed-refs, and those of files. */
  private long steps() {
    boolean rewrites = isPacked || changes.stream().anyMatch(change -> change.removed != null);
    return (rewrites ? 1 : 0)
        + changes.stream().filter(c -> c.wasLoose() || (!c.deletes && !isPacked)).count();
  }

  /**
   * Changes the files. If new refs have no file that would stop native git, conflicts are looked
   * for again: native git looks for refs and not for locks, so it may have locked a ref above or
   * below a new one before the new line could be seen.
   */
  @Override
  public void finish() throws IOException {
    if (isPacked) {
      conflicts.checkFiles(Set.copyOf(locks.names));
    }
    for (Change change : changes) {
      if (!change.deletes && !isPacked) {
        change.publish();
      }
    }
    for (Change change : changes) {
      if (change.deletes || (isPacked && change.wasLoose())) {
        change.deleteLoose();
      }
    }
    if (durable) {
      locks.syncFolders();
    }
  }

  // ---- rollback, under the locks

  /** Tries one step of the rollback. If that fails, the other steps still run. */
  private static void attempt(String what, Throwable why, RefReader.Step step) {
    try {
      step.run();
    } catch (IOException | RuntimeException | Error e) {
      why.addSuppressed(new IOException("could not be rolled back " + what, e));
    }
  }

  @Override
  public void rollBackFiles(Throwable why) {
    if (!hasBegun) {
      return; // no ref has changed
    }
    for (Change change : changes) {
      attempt("for " + change.name, why, () -> rollBackFile(change));
    }
    if (durable) {
      attempt("durably", why, locks::syncFolders);
    }
  }

  private void rollBackFile(Change change) throws IOException {
    if (change.wasLoose()) {
      change.rollBack(change.old, durable);
    } else if (change.old == null && !change.isNotLoose) {
      // A symbolic ref that leads through too many others, which is not to be deleted.
      throw new IOException("its value before is not known");
    } else {
      change.deleteLoose();
    }
  }

  private void rollBackPackedRefs(Throwable why) {
    if (hasBegun) {
      // Not this request, which would publish the new values again.
      PackedRefsQueue.Request lines = (packed, edits) -> rollBackLines(packed, edits);
      attempt(
          "in packed-refs",
          why,
          () -> context.write(lines, new PackedRefsQueue.Options(locks, false, durable)));
    }
  }

  /** Restores removed lines, and the old values of refs whose new values have lines. */
  @Override
  public void rollBackLines(ParsedRefs packed, PackedEdits edits) {
    areLinesRolledBack = true;
    for (Change change : changes) {
      Ref old = change.old;
      Ref line = change.removed;
      Ref now = packed.exactRef(change.name);
      if (now == null && line != null) {
        edits.set(change.name, line.getObjectId(), line.getPeeledObjectId());
      } else if (!change.wasLoose() && isMine(change)) {
        // Any line will do under a loose ref.
        if (old == null) {
          edits.remove(change.name, packed);
        } else if (now == null || !now.getObjectId().equals(old.getObjectId())) {
          edits.set(change.name, old.getObjectId(), old.getPeeledObjectId());
        }
      }
    }
  }

  /**
   * Whether a line may be set back. Without the lock, the ref may be another writer's. But a line
   * of this transaction is its own as long as packed-refs is locked: another lock holder can only
   * have made a loose file, which hides the line.
   */
  private boolean isMine(Change change) {
    try {
      return isPacked || change.isLocked();
    } catch (IOException e) {
      return false;
    }
  }

  /** Unlocks the refs, if they are locked. Only then can new loose refs be packed. */
  @Override
  public void close() {
    if (locks != null) {
      locks.close();
      if (newLoose > 0) {
        context.madeLoose(newLoose);
      }
      newLoose = 0;
    }
  }
}
