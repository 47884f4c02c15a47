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

import static com.google.common.base.Strings.emptyToNull;
import static java.util.Comparator.comparing;
import static org.eclipse.jgit.transport.ReceiveCommand.Result.LOCK_FAILURE;
import static org.eclipse.jgit.transport.ReceiveCommand.Result.NOT_ATTEMPTED;
import static org.eclipse.jgit.transport.ReceiveCommand.Result.OK;
import static org.eclipse.jgit.transport.ReceiveCommand.Result.REJECTED_MISSING_OBJECT;
import static org.eclipse.jgit.transport.ReceiveCommand.Result.REJECTED_NONFASTFORWARD;
import static org.eclipse.jgit.transport.ReceiveCommand.Result.REJECTED_OTHER_REASON;

import com.google.common.base.Joiner;
import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RepositoryFiles;
import java.io.IOException;
import java.util.List;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.errors.LockFailedException;
import org.eclipse.jgit.errors.MissingObjectException;
import org.eclipse.jgit.internal.JGitText;
import org.eclipse.jgit.internal.storage.file.ReflogWriter;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.PersonIdent;
import org.eclipse.jgit.lib.ProgressMonitor;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.ReflogEntry;
import org.eclipse.jgit.lib.StoredConfig;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * A batch update of refs that are in files. An atomic batch of several commands is a {@link
 * RefTransaction}. The commands of any other batch are updates of single refs, one after the other,
 * as in JGit.
 *
 * <p>The results, their order and their messages are JGit's.
 */
final class FileBatchUpdate extends BatchRefUpdate {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** As long as JGit tries to lock the refs of a batch. */
  private static final long MAX_LOCK_WAIT_MILLIS = 3100;

  private final UpdateContext context;
  private final RepositoryFiles refs;
  private final Runnable afterwards;

  FileBatchUpdate(UpdateContext context, RefDatabase database, Runnable afterwards) {
    super(database);
    this.context = context;
    this.refs = context.refs;
    this.afterwards = afterwards;
  }

  @Override
  public void execute(RevWalk walk, ProgressMonitor monitor, @Nullable List<String> options)
      throws IOException {
    try {
      executePending(walk, monitor, options);
    } finally {
      afterwards.run();
    }
  }

  private void executePending(RevWalk walk, ProgressMonitor monitor, @Nullable List<String> options)
      throws IOException {
    List<ReceiveCommand> pending = ReceiveCommand.filter(getCommands(), NOT_ATTEMPTED);
    if (!isAtomic() || pending.size() == 1) {
      super.execute(walk, monitor, options);
      return;
    }
    if (pending.isEmpty()) {
      return;
    }
    if (pending.stream().anyMatch(c -> c.getOldSymref() != null || c.getNewSymref() != null)) {
      reject(pending.get(0), REJECTED_OTHER_REASON, JGitText.get().atomicSymRefNotSupported);
      return;
    }
    for (ReceiveCommand command : pending) {
      UpdateContext.checkName(command.getRefName(), NameConflicts.deletes(command));
    }
    if (!blockUntilTimestamps(MAX_WAIT)) {
      return;
    }
    if (options != null) {
      setPushOptions(options);
    }
    try {
      executeHere(walk, pending);
    } catch (RefReader.LeftToJGit e) {
      executeByJGit(walk, monitor, options);
    }
  }

  /**
   * Executes the batch.
   *
   * @throws RefReader.LeftToJGit if JGit must do that. Nothing has happened then
   */
  private void executeHere(RevWalk walk, List<ReceiveCommand> pending) throws IOException {
    if (isRefused(walk, pending)) {
      return;
    }
    StoredConfig config = refs.config(); // it may be broken when the refs have changed
    RefTransaction transaction = new RefTransaction(context, pending);
    try (transaction) {
      transaction.lock(MAX_LOCK_WAIT_MILLIS);
      transaction.checkExpected();
      transaction.write(walk);
      transaction.run();
    } catch (RefusedException | LockFailedException e) {
      if (e.getSuppressed().length > 0) {
        logger.atSevere().withCause(e).log(
            "%s: a refused batch could not be rolled back completely",
            refs.repository.getDirectory());
      }
      String byJGit = transaction.conflicts.refusedByJGit();
      String refused = e instanceof RefusedException own ? own.name : pending.get(0).getRefName();
      reject(named(byJGit != null ? byJGit : refused, pending), LOCK_FAILURE, null);
      return;
    }
    refs.wrote();
    pending.forEach(command -> command.setResult(OK));
    writeLogs(pending, config);
  }

  private static ReceiveCommand named(String name, List<ReceiveCommand> commands) {
    return commands.stream().filter(c -> c.getRefName().equals(name)).findFirst().orElseThrow();
  }

  private void executeByJGit(RevWalk walk, ProgressMonitor monitor, @Nullable List<String> options)
      throws IOException {
    BatchRefUpdate batch = refs.jgit.newBatchUpdate();
    batch.addCommand(getCommands());
    batch.setAtomic(true);
    batch.setAllowNonFastForwards(isAllowNonFastForwards());
    batch.setRefLogIdent(getRefLogIdent());
    batch.setRefLogMessage(getRefLogMessage(), isRefLogIncludingResult());
    batch.setForceRefLog(isForceRefLog());
    batch.setPushCertificate(getPushCertificate());
    batch.execute(walk, monitor, options);
  }

  /** Rejects the first command that is refused because of the objects, if there is one. */
  private boolean isRefused(RevWalk walk, List<ReceiveCommand> pending) throws IOException {
    for (ReceiveCommand command : pending) {
      try {
        if (!ObjectId.zeroId().equals(command.getNewId())) {
          walk.parseAny(command.getNewId());
        }
      } catch (MissingObjectException e) {
        reject(command, REJECTED_MISSING_OBJECT, null);
        return true;
      }
    }
    for (ReceiveCommand command : isAllowNonFastForwards() ? List.<ReceiveCommand>of() : pending) {
      command.updateType(walk);
      if (command.getType() == ReceiveCommand.Type.UPDATE_NONFASTFORWARD) {
        reject(command, REJECTED_NONFASTFORWARD, null);
        return true;
      }
    }
    return false;
  }

  // ---- results

  /** Rejects one command, and with it the whole batch. */
  private void reject(
      ReceiveCommand command, ReceiveCommand.Result result, @Nullable String message) {
    command.setResult(result, message);
    ReceiveCommand.abort(getCommands());
  }

  /** The batch does not fail if a log can't be written: the refs have changed. */
  private void writeLogs(List<ReceiveCommand> commands, StoredConfig config) {
    // The log of a deleted ref would be in the way of that of a new ref below or above it.
    commands.sort(comparing(command -> !NameConflicts.deletes(command)));
    for (ReceiveCommand command : commands) {
      try {
        writeLog(command, config);
      } catch (IOException | RuntimeException e) {
        // The next log may be written.
      }
    }
  }

  private void writeLog(ReceiveCommand command, StoredConfig config) throws IOException {
    String name = command.getRefName();
    if (NameConflicts.deletes(command)) {
      context.deleteLog(name);
      return;
    }
    boolean force = isForceRefLog(command);
    if (isRefLogDisabled(command) || !context.preparesLog(name, force, config)) {
      return;
    }
    String result = isRefLogIncludingResult(command) ? toLogText(command) : null;
    String message =
        Joiner.on(": ").skipNulls().join(emptyToNull(getRefLogMessage(command)), result);
    PersonIdent ident =
        getRefLogIdent() != null ? getRefLogIdent() : new PersonIdent(refs.repository);
    ReflogWriter unused =
        new ReflogWriter(refs.jgit, force)
            .log(name, command.getOldId(), command.getNewId(), ident, message);
  }

  @Nullable
  private String toLogText(ReceiveCommand command) {
    return switch (command.getType()) {
      case CREATE -> ReflogEntry.PREFIX_CREATED;
      case UPDATE ->
          isAllowNonFastForwards()
              ? ReflogEntry.PREFIX_FORCED_UPDATE
              : ReflogEntry.PREFIX_FAST_FORWARD;
      case UPDATE_NONFASTFORWARD -> ReflogEntry.PREFIX_FORCED_UPDATE;
      default -> null;
    };
  }
}
