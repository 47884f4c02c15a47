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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.tables;

import static org.eclipse.jgit.lib.Ref.Storage.NEW;
import static org.eclipse.jgit.transport.ReceiveCommand.Result.LOCK_FAILURE;
import static org.eclipse.jgit.transport.ReceiveCommand.Result.NOT_ATTEMPTED;

import com.google.common.util.concurrent.Uninterruptibles;
import com.google.gerrit.common.Nullable;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefName;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.UninterruptedThreads;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.eclipse.jgit.internal.storage.reftable.ReftableBatchRefUpdate;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.ProgressMonitor;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * JGit's batch of updates in reftables, by a {@link NewestTables} of its own. It is refused only if
 * a ref of the batch is not as its command expects. If other processes hold the lock of the list of
 * tables, or change the list after it was read, the batch reads it again and tries again.
 *
 * <p>As in files, a command for a symbolic ref changes the ref that it leads to, but not in an
 * atomic batch of several.
 *
 * <p>For one thread.
 */
final class TableBatchUpdate extends BatchRefUpdate {
  /** What JGit says of the first command where it has caught an exception. */
  static final String IO_ERROR = "io error";

  /**
   * How long an update is tried again while others hold the list's lock or change the ref. Native
   * git gives up earlier.
   */
  static final Duration MAX_TRIED = Duration.ofSeconds(1);

  static final Duration PAUSE = Duration.ofMillis(1);

  private final TableRefDatabase database;
  private final Repository repository;

  /** Whether the only command gives HEAD the zero id, which in other commands is a deletion. */
  boolean setsHeadToZero;

  TableBatchUpdate(TableRefDatabase database, Repository repository) {
    super(database);
    this.database = database;
    this.repository = repository;
  }

  @Override
  public void execute(RevWalk walk, ProgressMonitor monitor, @Nullable List<String> options)
      throws IOException {
    List<ReceiveCommand> pending = ReceiveCommand.filter(getCommands(), NOT_ATTEMPTED);
    if (options != null) {
      setPushOptions(options);
    }
    if (pending.stream().anyMatch(command -> RefName.isTooLong(command.getRefName()))) {
      // As JGit says of a name that no block has room for, after work by the square of the length.
      pending.get(0).setResult(LOCK_FAILURE, IO_ERROR);
      ReceiveCommand.abort(pending);
      return;
    }
    List<ReceiveCommand> executed = dereferenced(pending);
    List<ReceiveCommand> left = executed;
    long begun = 0;
    while (!left.isEmpty()) {
      left = executeOnce(left, walk, monitor);
      begun = begun == 0 ? System.nanoTime() : begun;
      if (System.nanoTime() - begun > MAX_TRIED.toNanos()) {
        break;
      }
      if (!left.isEmpty()) {
        left.forEach(command -> command.setResult(NOT_ATTEMPTED));
        Uninterruptibles.sleepUninterruptibly(PAUSE);
      }
    }
    for (int i = 0; i < pending.size(); i++) {
      pending.get(i).setResult(executed.get(i).getResult(), executed.get(i).getMessage());
    }
  }

  /** Returns the commands to execute, in the order of those that were given. */
  private List<ReceiveCommand> dereferenced(List<ReceiveCommand> commands) throws IOException {
    if (isAtomic() && commands.size() > 1) {
      return commands;
    }
    Set<String> names = new HashSet<>();
    commands.forEach(command -> names.add(command.getRefName()));
    List<ReceiveCommand> executed = new ArrayList<>();
    for (ReceiveCommand command : commands) {
      boolean isOfRefItself = command.getOldSymref() != null || command.getNewSymref() != null;
      Ref ref = isOfRefItself ? null : database.exactRef(command.getRefName());
      boolean leads = ref != null && ref.isSymbolic() && names.add(ref.getLeaf().getName());
      executed.add(leads ? copy(command, command.getOldId(), ref.getLeaf().getName()) : command);
    }
    return executed;
  }

  private static ReceiveCommand copy(ReceiveCommand command, ObjectId oldId, String name) {
    ReceiveCommand copy = new ReceiveCommand(oldId, command.getNewId(), name);
    if (command.hasCustomRefLog()) {
      copy.setRefLogMessage(command.getRefLogMessage(), command.isRefLogIncludingResult());
    }
    return copy;
  }

  /**
   * Has JGit execute commands.
   *
   * @return those that were refused because of the tables, and not because of their refs
   */
  private List<ReceiveCommand> executeOnce(
      List<ReceiveCommand> commands, RevWalk walk, ProgressMonitor monitor) throws IOException {
    try (NewestTables tables = database.newestTables()) {
      Attempt attempt = new Attempt(tables);
      attempt.addCommand(commands);
      UninterruptedThreads.call(
          () -> {
            try {
              attempt.execute(walk, monitor, null);
            } catch (IndexOutOfBoundsException e) {
              if (!tables.jgitMisreads) {
                throw e;
              }
              // What JGit takes for refs led it out of a block. Nothing was changed.
              commands.forEach(command -> command.setResult(LOCK_FAILURE, IO_ERROR));
            }
            return null;
          });
      boolean isIoError = commands.stream().anyMatch(c -> IO_ERROR.equals(c.getMessage()));
      return tables.jgitMisreads && isIoError ? commands : attempt.left;
    } finally {
      // Also if it was refused: most likely others have changed the refs.
      database.changed();
    }
  }

  private final class Attempt extends ReftableBatchRefUpdate {
    private final NewestTables tables;
    private List<ReceiveCommand> left = List.of();

    Attempt(NewestTables tables) {
      super(database, tables, database.writing, repository);
      this.tables = tables;
      TableBatchUpdate batch = TableBatchUpdate.this;
      setAllowNonFastForwards(batch.isAllowNonFastForwards());
      setAtomic(batch.isAtomic());
      setRefLogIdent(batch.getRefLogIdent());
      if (batch.isRefLogDisabled()) {
        disableRefLog();
      } else {
        setRefLogMessage(batch.getRefLogMessage(), batch.isRefLogIncludingResult());
      }
      batch.getProposedTimestamps().forEach(this::addProposedTimestamp);
    }

    @Override
    protected void applyUpdates(List<Ref> refs, List<ReceiveCommand> commands) throws IOException {
      List<ReceiveCommand> logged = new ArrayList<>();
      for (ReceiveCommand command : commands) {
        logged.add(command.getOldSymref() == null ? command : withOldId(command));
      }
      if (setsHeadToZero) {
        refs.set(0, new ObjectIdRef.PeeledNonTag(NEW, Constants.HEAD, ObjectId.zeroId()));
      }
      if (!tables.add(writer -> write(writer, refs, logged))) {
        left = commands;
        left.forEach(command -> command.setResult(LOCK_FAILURE));
      }
    }

    /** The command of a symbolic ref that is changed itself does not have the id for the reflog. */
    private ReceiveCommand withOldId(ReceiveCommand command) throws IOException {
      Ref ref = tables.exactRef(command.getRefName());
      boolean hasId = ref != null && ref.getObjectId() != null;
      return copy(command, hasId ? ref.getObjectId() : ObjectId.zeroId(), command.getRefName());
    }
  }
}
