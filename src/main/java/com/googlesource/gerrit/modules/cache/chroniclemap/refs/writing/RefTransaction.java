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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RepositoryFiles;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.Transactions;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.StoredConfig;
import org.eclipse.jgit.revwalk.RevObject;
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
 * <p>There are three stages. The refs are locked throughout:
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
final class RefTransaction implements PackedRefsQueue.Request, Closeable {
  private final UpdateContext context;
  private final RepositoryFiles refs;

  /** The commands in the order of names. */
  final List<ReceiveCommand> commands;

  final NameConflicts conflicts;

  /** The repository's config, of which each reading checks six files. */
  final StoredConfig config;

  /** Whether refs get lines in {@code packed-refs}, and no files. */
  private final boolean isPacked;

  /** Whether the changes have to survive a crash of the machine. */
  private final boolean durable;

  /** The numbers of the commands that set refs, and of those that delete refs. */
  private final List<Integer> made = new ArrayList<>();

  private final List<Integer> deleted = new ArrayList<>();

  /** Null until the refs are locked. */
  @Nullable private HeldLocks locks;

  /** The refs that were not loose when their old values were read. */
  private Set<String> notLoose = Set.of();

  /** The old values of all refs by name; null for a missing ref. */
  private NavigableMap<String, Ref> oldValues = new TreeMap<>();

  /** The commands whose refs were missing when their old values were read. */
  private final List<ReceiveCommand> created = new ArrayList<>();

  /** What the tags lead to that get lines; null for other objects. */
  private final Map<String, ObjectId> peeled = new HashMap<>();

  /** The lines to remove from {@code packed-refs}. */
  private final Map<String, Ref> removed = new HashMap<>();

  /** Set by the decision if there are several refs. */
  @Nullable private Transactions.Link link;

  /** The loose refs that were made, and not yet counted. */
  private int newLoose;

  /** Whether refs may have changed. */
  private boolean hasBegun;

  /** Whether {@link #rollBackLines} was called, by the queue or by {@link #rollBackPackedRefs}. */
  private boolean areLinesRolledBack;

  /** Makes a transaction without preparing anything. */
  RefTransaction(UpdateContext context, List<ReceiveCommand> given) {
    this.context = context;
    this.refs = context.refs;
    this.commands = new ArrayList<>(given);
    commands.sort(Comparator.comparing(ReceiveCommand::getRefName));
    this.conflicts = new NameConflicts(refs, given);
    this.isPacked = given.size() > Math.max(1, context.maxLooseBatch()) || conflicts.areNested();
    this.config = refs.repository.getConfig();
    this.durable = context.isDurable(config);
    for (int i = 0; i < commands.size(); i++) {
      (NameConflicts.deletes(commands.get(i)) ? deleted : made).add(i);
    }
  }

  // ---- prepare

  /**
   * Locks the refs.
   *
   * @throws HeldLocks.Refused if there is another lock holder of a ref
   * @throws RefReader.LeftToJGit if JGit must write
   */
  void lock(long waitMillis) throws IOException, HeldLocks.Refused {
    if (isPacked) {
      packLoose();
    }
    locks =
        context.lock(
            commands.stream().map(c -> new Journal.Entry(c.getRefName(), c.getNewId())).toList(),
            waitMillis);
  }

  /**
   * Has no file in the way of the locks of refs below it, and nearly always none at all, so that
   * the new {@code packed-refs} is the only change.
   */
  private void packLoose() throws IOException {
    for (ReceiveCommand command : commands) {
      if (refs.loose.find(command.getRefName()) != null) {
        context.packer().pack(NullProgressMonitor.INSTANCE, true);
        return;
      }
    }
  }

  /**
   * Reads the old values of the locked refs.
   *
   * @throws NameConflicts.RefusedException if there is a conflict of names
   */
  void read() throws IOException {
    RefReader.ToWrite read = refs.lockedReader.refsToWrite(locks.names, this::checkFiles);
    oldValues = read.refs();
    for (ReceiveCommand command : commands) {
      if (oldValues.get(command.getRefName()) != null) {
        refs.sawRefs();
      } else if (!NameConflicts.deletes(command)) {
        created.add(command);
      }
    }
    if (read.packed() != null) {
      conflicts.checkPacked(read.packed(), created);
    }
  }

  private void checkFiles(Set<String> names) throws IOException {
    notLoose = names;
    context.checkFiles(conflicts, names);
  }

  /** The old value of a ref; null if it is missing. */
  @Nullable
  Ref old(String name) {
    return oldValues.get(name);
  }

  /** Checks that all refs are as the commands of a batch expect them. */
  void checkExpected() throws NameConflicts.RefusedException {
    for (ReceiveCommand command : commands) {
      Ref old = old(command.getRefName());
      boolean isAsExpected =
          old == null
              // Or it may be a symbolic ref that leads through too many others.
              ? command.getType() == ReceiveCommand.Type.CREATE
                  && notLoose.contains(command.getRefName())
              : !old.isSymbolic() && command.getOldId().equals(old.getObjectId());
      if (!isAsExpected) {
        throw new NameConflicts.RefusedException(command);
      }
    }
  }

  /** Writes the new values, which {@link #run} sets. */
  void write(RevWalk walk) throws IOException {
    for (int i : made) {
      ObjectId id = commands.get(i).getNewId();
      if (isPacked) {
        RevObject object = walk.parseAny(id);
        peeled.put(
            commands.get(i).getRefName(),
            object instanceof RevTag ? walk.peel(object).copy() : null);
      } else {
        locks.write(i, Constants.encodeASCII(id.name() + '\n'));
      }
    }
  }

  /** Writes the new content of the only ref. */
  void write(String content) throws IOException {
    locks.write(0, Constants.encode(content + '\n'));
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
    newLoose = isPacked ? 0 : (int) made.stream().filter(i -> !isLoose(i)).count();
  }

  /** Whether a ref was loose. */
  private boolean isLoose(int number) {
    Ref old = old(commands.get(number).getRefName());
    return old != null && old.getStorage().isLoose();
  }

  private void change() throws IOException {
    try {
      if (isPacked || !deleted.isEmpty()) {
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
      attempt("in the journal", e, locks::rollBackDecision);
      throw e;
    }
  }

  // ---- packed-refs

  @Override
  public void collect(ParsedRefs packed, PackedEdits edits) throws IOException {
    // All that may fail comes first, as the edits are those of all requests. Native git may have
    // made and packed a ref below a new one since the old values were read.
    conflicts.checkPacked(packed, created);
    for (int i = 0; i < commands.size(); i++) {
      if (isPacked || NameConflicts.deletes(commands.get(i))) {
        locks.checkLocked(i);
      }
    }
    removed.clear();
    for (int i : deleted) {
      String name = commands.get(i).getRefName();
      edits.remove(name, packed);
      Ref line = packed.exactRef(name);
      if (line != null) {
        removed.put(name, line);
      }
    }
    for (int i : isPacked ? made : List.<Integer>of()) {
      String name = commands.get(i).getRefName();
      edits.set(name, commands.get(i).getNewId().copy(), peeled.get(name));
    }
  }

  // ---- decide and finish

  @Override
  public void decide() throws IOException {
    if (hasBegun) {
      return;
    }
    if (commands.size() > 1 && steps() > 1) {
      locks.decide(durable);
    } else if (durable) {
      locks.syncValues();
    }
    if (commands.size() > 1) {
      link = context.writes.transactions.begin(oldValues);
    }
    hasBegun = true;
  }

  /** The number of steps that change a ref: the rename of packed-refs, and those of files. */
  private long steps() {
    return (isPacked || !removed.isEmpty() ? 1 : 0)
        + made.stream().filter(i -> !isPacked || isLoose(i)).count()
        + deleted.stream().filter(this::isLoose).count();
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
    for (int i : made) {
      if (!isPacked) {
        locks.publish(i);
      } else if (isLoose(i)) {
        locks.deleteLoose(i);
      }
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
    for (int i = 0; i < commands.size(); i++) {
      int number = i;
      attempt("for " + commands.get(i).getRefName(), why, () -> rollBackFile(number));
    }
    if (durable) {
      attempt("durably", why, locks::syncFolders);
    }
  }

  private void rollBackFile(int number) throws IOException {
    String name = commands.get(number).getRefName();
    if (isLoose(number)) {
      locks.rollBackValue(number, old(name), durable);
    } else if (old(name) == null && !notLoose.contains(name)) {
      // A symbolic ref that leads through too many others, which is not to be deleted.
      throw new IOException("its value before is not known");
    } else {
      locks.deleteLoose(number);
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
    for (int i = 0; i < commands.size(); i++) {
      String name = commands.get(i).getRefName();
      Ref old = old(name);
      Ref line = removed.get(name);
      Ref now = packed.exactRef(name);
      if (now == null && line != null) {
        edits.set(name, line.getObjectId(), line.getPeeledObjectId());
      } else if (!isLoose(i) && isMine(i)) {
        // Any line will do under a loose ref.
        if (old == null) {
          edits.remove(name, packed);
        } else if (now == null || !now.getObjectId().equals(old.getObjectId())) {
          edits.set(name, old.getObjectId(), old.getPeeledObjectId());
        }
      }
    }
  }

  /**
   * Whether a line may be set back. Without the lock, the ref may be another writer's. But a line
   * of this transaction is its own as long as packed-refs is locked: another lock holder can only
   * have made a loose file, which hides the line.
   */
  private boolean isMine(int number) {
    try {
      return isPacked || locks.isLocked(number);
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
