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

import static org.eclipse.jgit.transport.ReceiveCommand.Result.LOCK_FAILURE;
import static org.eclipse.jgit.transport.ReceiveCommand.Result.NOT_ATTEMPTED;
import static org.eclipse.jgit.transport.ReceiveCommand.Result.OK;

import com.google.common.flogger.FluentLogger;
import com.google.gerrit.common.Nullable;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose.LooseRefs;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.eclipse.jgit.events.ListenerHandle;
import org.eclipse.jgit.internal.JGitText;
import org.eclipse.jgit.internal.storage.file.FileReftableDatabase;
import org.eclipse.jgit.internal.storage.file.FileReftableStack;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ProgressMonitor;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * JGit's batch of updates in reftables, without JGit's errors after a successful update. JGit then
 * compacts tables, which fails if another process, such as {@code git pack-refs}, changes them
 * meanwhile. JGit 7.4 reports the update as failed and keeps using tables that it has closed, so it
 * refuses all further updates of the repository.
 *
 * <p>Whether an update was made is known from JGit's event. JGit fires it in the thread of the
 * update, when it has added a table and read the list again, and before it compacts the tables. It
 * writes all updates of a batch as one table, or none.
 *
 * <p>For one thread.
 */
final class TableBatchUpdate extends BatchRefUpdate {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** What JGit says of the first command where it has caught an exception. */
  static final String IO_ERROR = "io error";

  /** How long an update is tried that finds the list locked. */
  private static final Duration MOST_TRIED = Duration.ofSeconds(1);

  private final TableRefDatabase database;
  private final FileReftableDatabase jgit;
  private final Repository repository;

  TableBatchUpdate(TableRefDatabase database, FileReftableDatabase jgit, Repository repository) {
    super(database);
    this.database = database;
    this.jgit = jgit;
    this.repository = repository;
  }

  @Override
  public void execute(RevWalk walk, ProgressMonitor monitor, @Nullable List<String> options)
      throws IOException {
    List<ReceiveCommand> pending = ReceiveCommand.filter(getCommands(), NOT_ATTEMPTED);
    if (pending.isEmpty()) {
      return;
    }
    if (options != null) {
      setPushOptions(options);
    }
    if (pending.stream().anyMatch(command -> LooseRefs.isTooLong(command.getRefName()))) {
      // As JGit says of a name that no block has room for, after work by the square of the length.
      pending.get(0).setResult(LOCK_FAILURE, IO_ERROR);
      ReceiveCommand.abort(pending);
      return;
    }
    long begun = System.nanoTime();
    boolean hasFailed = false;
    while (true) {
      Outcome outcome = executeOnce(walk, monitor, options, pending, hasFailed);
      if (outcome == Outcome.DECIDED
          || (outcome == Outcome.LOCKED && System.nanoTime() - begun > MOST_TRIED.toNanos())
          || (outcome == Outcome.FAILED && (hasFailed || areThere(pending)))) {
        return;
      }
      hasFailed |= outcome == Outcome.FAILED;
      pending.stream()
          .filter(command -> isUndecided(command) || isLocked(command))
          .forEach(command -> command.setResult(NOT_ATTEMPTED));
    }
  }

  private enum Outcome {
    /** Each command has its result. */
    DECIDED,
    /** Nothing was written, since the list was locked to drop closed tables. */
    LOCKED,
    /**
     * JGit has failed, and has written nothing as far as is known: most likely because of tables
     * that it had closed after the failure of another update.
     */
    FAILED
  }

  /**
   * Has JGit execute the batch.
   *
   * @param hasFailed whether it has failed before, so that closed tables cannot be why it fails now
   */
  private Outcome executeOnce(
      RevWalk walk,
      ProgressMonitor monitor,
      @Nullable List<String> options,
      List<ReceiveCommand> pending,
      boolean hasFailed)
      throws IOException {
    AtomicInteger drops = new AtomicInteger(database.drops);
    AtomicReference<Thread> thread = new AtomicReference<>();
    AtomicBoolean isMade = new AtomicBoolean();
    ListenerHandle listening =
        repository
            .getListenerList()
            .addRefsChangedListener(
                event -> {
                  // JGit also reads its tables again if it has refused an update.
                  if (Thread.currentThread() == thread.get() && isInAddition()) {
                    drops.set(database.drops);
                    isMade.set(true);
                  }
                });
    RuntimeException failure = null;
    try {
      Undisturbed.call(
          () -> {
            thread.set(Thread.currentThread());
            try {
              byJGit().execute(walk, monitor, options);
              return null;
            } finally {
              // Another update may get this thread before the listener is removed.
              thread.set(null);
            }
          });
    } catch (RuntimeException e) {
      failure = e;
    } finally {
      listening.remove();
    }
    List<ReceiveCommand> undecided =
        pending.stream().filter(TableBatchUpdate::isUndecided).toList();
    if (failure == null && undecided.stream().noneMatch(c -> IO_ERROR.equals(c.getMessage()))) {
      return pending.stream().noneMatch(TableBatchUpdate::isLocked)
              || database.isSettledSince(drops.get())
          ? Outcome.DECIDED
          : Outcome.LOCKED;
    }
    if (isMade.get() || !hasFailed) {
      database.dropClosedTables(drops.get());
    }
    if (isMade.get()) {
      logger.atWarning().withCause(failure).log(
          "%s: refs were updated, but JGit could not compact the tables",
          repository.getDirectory());
      undecided.forEach(command -> command.setResult(OK));
      return Outcome.DECIDED;
    }
    if (failure != null) {
      throw failure;
    }
    return Outcome.FAILED;
  }

  /** Whether this thread is in the method of JGit that adds a table. */
  private static boolean isInAddition() {
    return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
        .walk(
            frames ->
                frames.anyMatch(
                    frame ->
                        frame.getDeclaringClass() == FileReftableStack.class
                            && frame.getMethodName().equals("addReftable")));
  }

  /** Whether all refs have their new values, perhaps by an update that JGit has not noticed. */
  private boolean areThere(List<ReceiveCommand> commands) throws IOException {
    for (ReceiveCommand command : commands) {
      Ref now = database.exactRef(command.getRefName());
      ObjectId id =
          now == null || now.getObjectId() == null ? ObjectId.zeroId() : now.getObjectId();
      if (isUndecided(command) && !id.equals(command.getNewId())) {
        return false;
      }
    }
    return true;
  }

  private BatchRefUpdate byJGit() {
    BatchRefUpdate batch = jgit.newBatchUpdate();
    batch.addCommand(getCommands());
    batch.setAllowNonFastForwards(isAllowNonFastForwards());
    batch.setAtomic(isAtomic());
    batch.setForceRefLog(isForceRefLog());
    batch.setPushCertificate(getPushCertificate());
    batch.setRefLogIdent(getRefLogIdent());
    if (isRefLogDisabled()) {
      batch.disableRefLog();
    } else {
      batch.setRefLogMessage(getRefLogMessage(), isRefLogIncludingResult());
    }
    getProposedTimestamps().forEach(batch::addProposedTimestamp);
    return batch;
  }

  /** Whether JGit has no other result than that it has failed. */
  private static boolean isUndecided(ReceiveCommand command) {
    return command.getResult() == NOT_ATTEMPTED
        || IO_ERROR.equals(command.getMessage())
        || JGitText.get().transactionAborted.equals(command.getMessage());
  }

  /** Whether the ref has changed, or the list of tables was locked, as it is to drop tables. */
  private static boolean isLocked(ReceiveCommand command) {
    return command.getResult() == LOCK_FAILURE && !IO_ERROR.equals(command.getMessage());
  }
}
