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
import java.io.IOException;
import java.util.List;
import org.eclipse.jgit.internal.JGitText;
import org.eclipse.jgit.internal.storage.file.FileReftableDatabase;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ProgressMonitor;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * JGit's batch of updates in reftables, which tells the truth where JGit fails after it has made
 * the updates. It compacts tables then, and that fails if another process, such as {@code git
 * pack-refs}, changes them meanwhile. JGit 7.4 reports an error although the refs are written, and
 * goes on to answer from tables that it has closed: it refuses all updates of the repository from
 * then on.
 *
 * <p>For one thread.
 */
final class TableBatchUpdate extends BatchRefUpdate {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** What JGit says of the first command where it has caught an exception. */
  static final String IO_ERROR = "io error";

  private final TableRefDatabase database;
  private final FileReftableDatabase jgit;

  TableBatchUpdate(TableRefDatabase database, FileReftableDatabase jgit) {
    super(database);
    this.database = database;
    this.jgit = jgit;
  }

  @Override
  public void execute(RevWalk walk, ProgressMonitor monitor, @Nullable List<String> options)
      throws IOException {
    List<ReceiveCommand> pending = ReceiveCommand.filter(getCommands(), NOT_ATTEMPTED);
    RuntimeException failure = null;
    try {
      byJGit().execute(walk, monitor, options);
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      // Compaction found an empty table, or fewer tables than there were.
      failure = e;
    }
    List<ReceiveCommand> failed = pending.stream().filter(TableBatchUpdate::isFailed).toList();
    if (failure == null && failed.stream().noneMatch(c -> IO_ERROR.equals(c.getMessage()))) {
      return;
    }
    database.forget();
    if (areDone(failed)) {
      failed.forEach(command -> command.setResult(OK));
    } else if (failure != null) {
      logger.atSevere().withCause(failure).log(
          "JGit failed to update %s", failed.get(0).getRefName());
      failed.get(0).setResult(LOCK_FAILURE, IO_ERROR);
      ReceiveCommand.abort(failed);
    }
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

  /** Not those that JGit has refused because of what they are. */
  private static boolean isFailed(ReceiveCommand command) {
    return command.getResult() == NOT_ATTEMPTED
        || IO_ERROR.equals(command.getMessage())
        || JGitText.get().transactionAborted.equals(command.getMessage());
  }

  /** JGit writes all of a batch as one table, or nothing. */
  private boolean areDone(List<ReceiveCommand> commands) throws IOException {
    for (ReceiveCommand command : commands) {
      Ref now = database.exactRef(command.getRefName());
      boolean isDone =
          command.getNewSymref() != null
              ? now != null
                  && now.isSymbolic()
                  && now.getTarget().getName().equals(command.getNewSymref())
              : (now == null || !now.isSymbolic()) && idOf(now).equals(command.getNewId());
      if (!isDone) {
        return false;
      }
    }
    return true;
  }

  /** The id of a ref, zero if there is none. */
  static ObjectId idOf(@Nullable Ref ref) {
    return ref != null && ref.getObjectId() != null ? ref.getObjectId() : ObjectId.zeroId();
  }
}
