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

import com.google.common.flogger.FluentLogger;
import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.FileStamp;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListSource;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedEdits;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.errors.LockFailedException;

/**
 * The queue of requests to change the {@code packed-refs} of one repository, from all threads of
 * this process. Requests that arrive during a rewrite form a group, which is written by one rewrite
 * and one sync. Each caller waits until the new file is in place, and gets its own failure.
 *
 * <p>The writing thread is never interrupted, as that would close files. The lock {@code
 * packed-refs.lock} is held from before the list is read until the last change of a loose ref that
 * goes with the rewrite. This excludes all other packing, in this process or another.
 *
 * <p>A rewrite costs a copy of the file. If no line changes, nothing is written.
 */
final class PackedRefsQueue {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How often to start again because the file has other content than its list. */
  private static final int MAX_ATTEMPTS = 3;

  /** As long as JGit tries, so that other processes can hold the lock as they may with JGit. */
  private static final long MAX_LOCK_WAIT_MILLIS = 3100;

  private static final long MAX_PAUSE_MILLIS = 100;

  /**
   * A request of one writer. The writing thread calls, in this order:
   *
   * <ol>
   *   <li>collect, again if the file turns out to have other content;
   *   <li>decide, when the new file is written and synced;
   *   <li>finish, when the new file is in place and published, and still locked.
   * </ol>
   *
   * <p>A request that fails in the first two steps is left out, and the others of its group go on.
   * If anything fails after the decision, both rollbacks follow under the same lock, as another
   * process might then hold the lock for long. Then {@link #run} throws.
   */
  interface Request {
    /**
     * Collects the lines to change. May be called again with a newer list.
     *
     * @param packed the content of {@code packed-refs}, which is locked
     * @throws IOException if this request fails
     */
    void collect(ParsedRefs packed, PackedEdits edits) throws IOException;

    /**
     * Decides this request, when the new file is written and before the rename. May be called
     * again, if another request of the group fails to decide.
     *
     * @throws IOException if the decision failed; then nothing of this request has happened
     */
    default void decide() throws IOException {}

    /** Changes loose refs, when the new file is in place and still locked. */
    default void finish() throws IOException {}

    /**
     * Gives loose refs their old values.
     *
     * @param why the failure, to which failures of the rollback are added
     */
    default void rollBackFiles(Throwable why) {}

    /** Collects the lines that get their old content again. */
    default void rollBackLines(ParsedRefs packed, PackedEdits edits) throws IOException {}
  }

  /**
   * The options of a request.
   *
   * @param locks lock {@code packed-refs} if this request leads its group; held until run returns
   * @param changesRefs whether refs get other values, and not only other places
   * @param durable whether the rename of the new file has to survive a crash of the machine; its
   *     content is always synced
   */
  record Options(HeldLocks locks, boolean changesRefs, boolean durable) {}

  /** Provides the list while {@code packed-refs} is locked. */
  interface LockedList {
    /** Returns the list; throws {@link RefReader.LeftToJGit} if JGit must write. */
    ParsedRefs get(boolean byContent) throws IOException;
  }

  private static final class Waiting {
    final Request request;
    final Options options;
    @Nullable Throwable failure;

    /** Whether the request may have been decided. */
    boolean isDecided;

    /** Whether all steps were done. */
    boolean succeeded;

    /** Counted down when the request is over, done or failed. */
    final CountDownLatch over = new CountDownLatch(1);

    Waiting(Request request, Options options) {
      this.request = request;
      this.options = options;
    }
  }

  private final PackedRefsFile file;
  private final RefDisk disk;
  private final Executor writer;

  /** Only for the writing thread. */
  private final RewriteTimes times;

  // Guarded by this.
  private List<Waiting> waiting = new ArrayList<>();

  /** The next group's list, made in advance: if memory ran out, the waiting threads would hang. */
  private List<Waiting> nextGroup = new ArrayList<>();

  private boolean writing;

  PackedRefsQueue(PackedRefsFile file, RefDisk disk, Executor writer) {
    this.disk = disk;
    this.times = new RewriteTimes(disk);
    this.file = file;
    this.writer = writer;
  }

  /**
   * Runs a request and waits for its end.
   *
   * @param list provides the list by this repository's settings
   * @throws LockFailedException if another process holds the lock of {@code packed-refs}
   * @throws RefReader.LeftToJGit if JGit must write; nothing has happened then
   * @throws IOException if the request failed
   */
  void run(Request request, Options options, LockedList list) throws IOException {
    Waiting mine = new Waiting(request, options);
    synchronized (this) {
      waiting.add(mine);
      if (!writing) {
        begin(mine, list);
      }
    }
    await(mine);
    if (mine.failure instanceof IOException e) {
      throw e;
    }
    if (!mine.succeeded) {
      throw new IOException("packed-refs could not be written", mine.failure);
    }
  }

  /** Starts the writing thread. Called with this object's lock. */
  private void begin(Waiting first, LockedList list) throws IOException {
    try {
      writing = true;
      writer.execute(() -> writeAll(list));
    } catch (RuntimeException | Error e) {
      writing = false;
      waiting.remove(first);
      throw new IOException("packed-refs can't be written: no thread could be started", e);
    }
  }

  /**
   * Waits without a timeout: the request is under way, and an interrupt can't stop it. Needs no
   * memory, as a caller who runs out of it would release its locks meanwhile.
   */
  private static void await(Waiting mine) {
    Uninterruptibles.awaitUninterruptibly(mine.over);
  }

  private void writeAll(LockedList list) {
    while (true) {
      List<Waiting> group;
      synchronized (this) {
        if (waiting.isEmpty()) {
          writing = false;
          return;
        }
        group = waiting;
        waiting = nextGroup;
        nextGroup = group;
      }
      try {
        write(group, list);
      } catch (IOException | RuntimeException | Error e) {
        // By index, as an iterator could not be made if memory ran out.
        for (int i = 0; i < group.size(); i++) {
          fail(group.get(i), e);
        }
      } finally {
        for (int i = 0; i < group.size(); i++) {
          group.get(i).over.countDown();
        }
        group.clear();
      }
    }
  }

  private static void fail(Waiting waiting, Throwable why) {
    if (waiting.failure == null) {
      waiting.failure = why;
    }
  }

  private void write(List<Waiting> group, LockedList list) throws IOException {
    HeldLocks leader = group.get(0).options.locks();
    lock(leader);
    try {
      List<Waiting> accepted = new ArrayList<>(group);
      boolean byContent = false;
      for (int attempt = 1; !accepted.isEmpty(); attempt++) {
        ParsedRefs packed = list.get(byContent);
        PackedEdits edits = new PackedEdits();
        accepted.removeIf(each -> !succeeds(each, () -> each.request.collect(packed, edits)));
        try {
          if (write(accepted, leader, packed, edits)) {
            return;
          }
        } catch (ListSource.ChangedException e) {
          if (attempt >= MAX_ATTEMPTS) {
            throw e;
          }
          byContent = true;
        }
      }
    } catch (IOException | RuntimeException | Error e) {
      for (int i = 0; i < group.size(); i++) {
        fail(group.get(i), e);
      }
    } finally {
      try {
        rollBack(group, leader, list);
      } finally {
        leader.unlockPackedRefs();
      }
    }
  }

  /** Rolls back the requests that were decided and then failed. */
  private void rollBack(List<Waiting> group, HeldLocks leader, LockedList list) {
    List<Waiting> failed =
        group.stream().filter(each -> each.isDecided && !each.succeeded).toList();
    if (failed.isEmpty()) {
      return;
    }
    failed.forEach(each -> each.request.rollBackFiles(each.failure));
    Path target = leader.besidePackedRefs();
    try {
      ParsedRefs packed = list.get(true);
      PackedEdits edits = new PackedEdits();
      for (Waiting each : failed) {
        each.request.rollBackLines(packed, edits);
      }
      publish(failed, writeEdited(packed, edits, target), target, leader.packedRefs);
    } catch (IOException | RuntimeException | Error e) {
      failed.forEach(
          each ->
              each.failure.addSuppressed(
                  new IOException("could not be rolled back in packed-refs", e)));
    } finally {
      deleteUnused(target);
    }
  }

  /** Returns false if a request fails to decide. The written file has too many changes then. */
  private boolean write(
      List<Waiting> accepted, HeldLocks leader, ParsedRefs packed, PackedEdits edits)
      throws IOException {
    Path target = leader.besidePackedRefs();
    try {
      Written written = writeEdited(packed, edits, target);
      List<Waiting> undecided = new ArrayList<>();
      for (Waiting each : accepted) {
        each.isDecided = true;
        if (!succeeds(each, each.request::decide)) {
          undecided.add(each);
        }
      }
      if (!undecided.isEmpty()) {
        accepted.removeAll(undecided);
        return false;
      }
      publish(accepted, written, target, leader.packedRefs);
    } finally {
      deleteUnused(target);
    }
    for (Waiting each : accepted) {
      each.succeeded = succeeds(each, each.request::finish);
    }
    return true;
  }

  /**
   * A new file.
   *
   * @param stamp null if no line changes, so that nothing was written
   */
  private record Written(ParsedRefs list, @Nullable FileStamp stamp) {}

  private Written writeEdited(ParsedRefs packed, PackedEdits edits, Path target)
      throws IOException {
    if (edits.isEmpty()) {
      return new Written(packed, null);
    }
    ParsedRefs made;
    try (FileChannel out = disk.openToWrite(target)) {
      made = file.source.writeEdited(packed, edits, out);
      if (made != packed) {
        times.set(file.file.toPath(), target);
        disk.sync(out, target);
      }
    }
    return new Written(
        made, made == packed ? null : FileStamp.ofWritten(target.toFile(), file.file));
  }

  /** Renames a new file into place. */
  private void publish(List<Waiting> requests, Written written, Path target, Path place)
      throws IOException {
    if (written.stamp == null) {
      return;
    }
    disk.rename(target, place, () -> !written.stamp.renamed().isModified());
    file.published(
        written.list,
        written.stamp.renamed(),
        requests.stream().anyMatch(each -> each.options.changesRefs()));
    if (requests.stream().anyMatch(each -> each.options.durable())) {
      disk.syncFolders(List.of(place.getParent()));
    }
  }

  /** Deletes a new file that was not renamed into place. */
  private void deleteUnused(Path target) {
    try {
      if (!Files.notExists(target)) {
        disk.delete(target);
      }
    } catch (IOException e) {
      logger.atWarning().withCause(e).log("cannot delete the unused file %s", target);
    }
  }

  private static boolean succeeds(Waiting waiting, RefReader.Step step) {
    try {
      step.run();
      return true;
    } catch (IOException | RuntimeException | Error e) {
      fail(waiting, e);
      return false;
    }
  }

  private void lock(HeldLocks leader) throws IOException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(MAX_LOCK_WAIT_MILLIS);
    for (long pause = 1; !leader.lockPackedRefs(); pause = Math.min(2 * pause, MAX_PAUSE_MILLIS)) {
      if (System.nanoTime() - end >= 0) {
        throw new LockFailedException(file.file);
      }
      Uninterruptibles.sleepUninterruptibly(Duration.ofMillis(pause));
    }
  }
}
