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

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.UninterruptedThreads;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.eclipse.jgit.annotations.Nullable;

/**
 * The tables of a repository on disk, as {@code reftable/tables.list} names them.
 *
 * <p>The stack is read again after {@link #changed}. Tables that are still named are kept. A table
 * that is gone was replaced by a compaction since the list was read, so the list is read again.
 *
 * <p>Any thread may call. A thread that finds a change waits until the new tables are open.
 */
final class TablesFile {
  /** For so long, a list is read again that names a missing table; as long as JGit does. */
  private static final Duration MAX_WAIT = Duration.ofMillis(2500);

  /** How long a failure is remembered: it may have been one of this moment. */
  private static final Duration FAILED_FOR = Duration.ofSeconds(10);

  private final Path folder;
  final Path list;
  private final AtomicLong changes = new AtomicLong();

  /**
   * A stack, and the changes that it surely contains.
   *
   * @param stack null if it was not read yet, or cannot be read
   * @param failure why it cannot be read
   * @param failed when that was, as a time of {@link System#nanoTime}
   */
  private record Known(
      long changes, @Nullable TableStack stack, @Nullable Throwable failure, long failed) {}

  private volatile Known known = new Known(-1, null, null, 0);

  /**
   * Makes the tables of a repository, which are not read yet.
   *
   * @param folder {@code reftable} in the repository
   */
  TablesFile(Path folder) {
    this.folder = folder;
    this.list = folder.resolve("tables.list");
  }

  /** The size of the tables in use, in bytes. */
  long bytes() {
    TableStack stack = known.stack;
    return stack == null
        ? 0
        : stack.byName.values().stream().mapToLong(table -> table.file.limit()).sum();
  }

  /** Has the stack read again at its next use. */
  void changed() {
    changes.incrementAndGet();
  }

  /** Whether there is none, or one to open a file, which may go by with that of the process. */
  private static boolean isOfThisMoment(@Nullable Throwable failure) {
    return failure == null
        || (failure instanceof FileSystemException && !(failure instanceof NoSuchFileException));
  }

  /**
   * Returns the stack, with all changes before this call that {@link #changed} told of.
   *
   * @param readsList whether to read the list, which tells of all other changes
   * @throws FileSystemException if the list or a table can't be opened, such as without a free file
   *     handle
   * @throws IOException if it cannot be read otherwise; also at later calls, until it has changed
   *     or some seconds have passed
   */
  TableStack stack(boolean readsList) throws IOException {
    Known now = known;
    // Without a stack, another thread may have read the list already, before a change that this one
    // has to see, and be about to open its tables.
    if (now.stack == null
        ? now.changes != changes.get()
            || isOfThisMoment(now.failure)
            || System.nanoTime() - now.failed > FAILED_FOR.toNanos()
        : readsList && !readList().equals(List.copyOf(now.stack.byName.keySet()))) {
      changed();
    }
    if (now.changes != changes.get()) {
      now = read();
    }
    if (now.stack == null) {
      if (isOfThisMoment(now.failure)) {
        throw (FileSystemException)
            new FileSystemException(list.toString(), null, now.failure.getMessage())
                .initCause(now.failure);
      }
      throw new IOException(now.failure);
    }
    return now.stack;
  }

  private synchronized Known read() {
    long seen = changes.get();
    if (known.changes != seen) {
      try {
        known = new Known(seen, UninterruptedThreads.call(this::readAll), null, 0);
      } catch (IOException | RuntimeException | InternalError e) {
        known = new Known(seen, null, e, System.nanoTime());
      }
    }
    return known;
  }

  private TableStack readAll() throws IOException {
    long begun = System.nanoTime();
    while (true) {
      List<String> names = readList();
      try {
        return open(names);
      } catch (NoSuchFileException e) {
        boolean isOver = System.nanoTime() - begun > MAX_WAIT.toNanos();
        if (isOver || readList().equals(names)) {
          throw e;
        }
        // Somebody compacts again and again.
        Uninterruptibles.sleepUninterruptibly(Duration.ofMillis(1));
      }
    }
  }

  private List<String> readList() throws IOException {
    try {
      return Files.readAllLines(list, UTF_8).stream().filter(name -> !name.isEmpty()).toList();
    } catch (NoSuchFileException e) {
      // A repository without refs.
      return List.of();
    }
  }

  private TableStack open(List<String> names) throws IOException {
    Map<String, Table> before = known.stack == null ? Map.of() : known.stack.byName;
    Map<String, Table> tables = new LinkedHashMap<>();
    for (String name : names) {
      Table table = before.get(name);
      tables.put(name, table != null ? table : Table.open(folder.resolve(name)));
    }
    return new TableStack(tables);
  }
}
