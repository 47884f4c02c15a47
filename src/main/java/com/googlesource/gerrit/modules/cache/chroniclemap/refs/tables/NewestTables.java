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

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.members.Member;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.file.NoSuchFileException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.logging.Level;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.events.RefsChangedEvent;
import org.eclipse.jgit.internal.storage.file.FileReftableStack;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.reftable.MergedReftable;
import org.eclipse.jgit.internal.storage.reftable.ReftableDatabase;
import org.eclipse.jgit.lib.Config;
import org.eclipse.jgit.lib.ConfigConstants;
import org.eclipse.jgit.lib.Constants;

/**
 * JGit's stack of the tables of a repository, for one update or one compaction. It is read when it
 * is first used, and then changed only if the list of tables still has the same content.
 *
 * <p>The stack that JGit keeps for a repository is not used for changes. By default, JGit may take
 * an old list for the newest one there, since it notes the attributes of the list after it has read
 * it; and if a compaction fails, because of other processes that change the tables meanwhile, JGit
 * uses tables that it has closed.
 *
 * <p>For one thread.
 */
final class NewestTables extends ReftableDatabase implements Closeable {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Neither this nor the next one is null: JGit answers for all reftables where one is missing. */
  private static final Constructor<?> MAKE = (Constructor<?>) Member.TABLE_STACK.find();

  private static final Method COMPACT = (Method) Member.TABLE_COMPACTION.find();

  private final FileRepository repository;
  private final File list;
  @Nullable private FileReftableStack stack;
  private boolean isChanged;

  /** Whether JGit cannot look up refs in the stack, and could not compact it. */
  boolean jgitMisreads;

  /**
   * Makes a stack that is not read yet.
   *
   * @param list {@code tables.list}
   */
  NewestTables(FileRepository repository, File list) {
    this.repository = repository;
    this.list = list;
  }

  @Override
  public MergedReftable openMergedReftable() throws IOException {
    Config config = new Config(repository.getConfig());
    config.setString(ConfigConstants.CONFIG_CORE_SECTION, null, "trustTablesListStat", "never");
    Supplier<Config> settings = () -> config;
    Runnable onChange = () -> isChanged = true;
    File folder = list.getParentFile();
    Object[] arguments =
        MAKE.getParameterCount() == 3
            ? new Object[] {folder, onChange, settings}
            : new Object[] {list, folder, onChange, settings};
    try {
      stack = (FileReftableStack) MAKE.newInstance(arguments);
    } catch (ReflectiveOperationException e) {
      throw new IOException(list + " cannot be read", e);
    }
    jgitMisreads = failsToLookUp();
    if (jgitMisreads) {
      logger.atInfo().atMostEvery(1, TimeUnit.MINUTES).log(
          "%s: the tables are compacted, as JGit takes a log for refs", list);
      compactFully();
      // Others may have kept JGit from that.
      jgitMisreads = failsToLookUp();
    }
    return stack.getMergedReftable();
  }

  /**
   * Whether JGit fails for any name: it may take the log of a table without refs for refs. A
   * compaction reads from the start, so it does not; but of such a table it drops the log, so that
   * entries may come back that git has expired.
   */
  private boolean failsToLookUp() {
    try {
      var unused = stack.getMergedReftable().exactRef(Constants.HEAD);
      return false;
    } catch (IOException | RuntimeException e) {
      return true;
    }
  }

  /**
   * Adds a table, and compacts tables of similar sizes, whose failure is only logged.
   *
   * @return false if others hold the lock of the list, or have changed the list since it was read
   */
  boolean add(FileReftableStack.Writer writer) throws IOException {
    try {
      return stack.addReftable(writer);
    } catch (IOException | RuntimeException e) {
      if (!isChanged) {
        throw e;
      }
      // A table that others have deleted, as they do after a compaction, needs no deletion by JGit.
      Level level = e instanceof NoSuchFileException ? Level.FINE : Level.WARNING;
      logger.at(level).withCause(e).atMostEvery(1, TimeUnit.HOURS).log(
          "%s: refs were updated, but the compaction of their tables has failed",
          repository.getDirectory());
      return true;
    }
  }

  /** Makes one table of all, unless others change the tables meanwhile. */
  void compact() throws IOException {
    openMergedReftable();
    compactFully();
  }

  private void compactFully() throws IOException {
    try {
      COMPACT.invoke(stack);
    } catch (ReflectiveOperationException e) {
      if (!(e.getCause() instanceof NoSuchFileException)) {
        throw new IOException(list + ": the tables cannot be compacted", e);
      }
    }
  }

  /** Has listeners know of a change. */
  @Override
  public void close() {
    if (stack != null) {
      stack.close();
    }
    if (isChanged) {
      repository.fireEvent(new RefsChangedEvent());
    }
  }
}
