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

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.LockedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.packed.FileStamp;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.packed.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.EditedText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.PackedEdits;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.errors.LockFailedException;

/**
 * Writes the {@code packed-refs} of one repository for all threads of this process: those that come
 * while it is written wait, and their changes are written together, by one rewrite and one sync.
 * Each is told when the new file is in place, and of its own failure.
 *
 * <p>The writing is done by a thread that nobody interrupts, as an interrupt closes files. The file
 * {@code packed-refs.lock} is held from before the list is asked for until after the last change of
 * a loose ref that goes with it, by which all that pack refs, in this process or another, are kept
 * out.
 *
 * <p>A rewrite costs a copy of the file; where no line changes, nothing that grows.
 */
final class PackedRefsQueue {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How often the file may be found to have another content than its list says. */
  private static final int ATTEMPTS = 3;

  /** As long as JGit tries, which other processes count on. */
  private static final long LOCK_WAIT_MILLIS = 3100;

  private static final long LONGEST_PAUSE_MILLIS = 100;

  /**
   * A writer's part. Called by the thread that writes, in this order:
   *
   * <ol>
   *   <li>collect, again if the file turns out to have another content;
   *   <li>decide, when the new file is written and synced;
   *   <li>finish, when it is in place and published, and still locked.
   * </ol>
   *
   * <p>A request that fails in the first two leaves the file without its changes; the others go on
   * without it. If anything fails after the decision, undo and restore follow while the file is
   * still locked, as another process might keep it locked for long afterwards. Then {@link #run}
   * throws.
   */
  interface Request {
    /**
     * Says which lines are to change. May be called again with a newer list.
     *
     * @param packed what {@code packed-refs} has, which is locked
     * @throws IOException if this request is to fail; the others go on
     */
    void collect(ParsedRefs packed, PackedEdits edits) throws IOException;

    /**
     * The new file is written: decides that it is to be put into place. May be called again, where
     * another request could not.
     *
     * @throws IOException if that can't be: then nothing of this request has happened
     */
    default void decide() throws IOException {}

    /** The new file is in place, and still locked: does what is to be done with loose refs. */
    default void finish() throws IOException {}

    /**
     * Gives loose refs their old values.
     *
     * @param why what failed; what can't be undone is added to it
     */
    default void undo(Throwable why) {}

    /** Says which lines are to be as they were. */
    default void restore(ParsedRefs packed, PackedEdits edits) throws IOException {}
  }

  /**
   * How a request is to be written.
   *
   * @param locks in whose name {@code packed-refs} may be locked; they stay until run returns
   * @param changesRefs whether refs get other values, or only other places
   * @param durable whether the new file must be found after a crash of the machine: its text always
   *     is
   */
  record Terms(LockedRefs locks, boolean changesRefs, boolean durable) {}

  /** Asks for the list while the file is locked. */
  interface LockedList {
    @Nullable
    ParsedRefs get(boolean byContent) throws IOException;
  }

  private static final class Waiting {
    final Request request;
    final Terms terms;
    @Nullable Throwable failure;

    /** Whether it may have been decided. */
    boolean isDecided;

    /** Whether all of it was done. */
    boolean succeeded;

    /** Whether it is over, in whatever way. */
    boolean done;

    Waiting(Request request, Terms terms) {
      this.request = request;
      this.terms = terms;
    }
  }

  private final PackedRefsFile file;
  private final RefDisk disk;
  private final Executor writer;

  // Guarded by this.
  private List<Waiting> waiting = new ArrayList<>();

  /** The next one, made before: without memory those who wait would wait for ever. */
  private List<Waiting> spare = new ArrayList<>();

  private boolean writing;

  PackedRefsQueue(PackedRefsFile file, RefDisk disk, Executor writer) {
    this.disk = disk;
    this.file = file;
    this.writer = writer;
  }

  /**
   * Has a request done, and waits for that.
   *
   * @param list how this repository's settings have the list asked for
   * @throws LockFailedException if another process keeps {@code packed-refs} locked
   * @throws RefReader.LeftToJGit if JGit must do it: nothing has happened
   * @throws IOException if it failed
   */
  void run(Request request, Terms terms, LockedList list) throws IOException {
    Waiting mine = new Waiting(request, terms);
    synchronized (this) {
      waiting.add(mine);
      if (!writing) {
        begin(mine, list);
      }
      await(mine);
    }
    if (mine.failure instanceof IOException e) {
      throw e;
    }
    if (!mine.succeeded) {
      throw new IOException("packed-refs could not be written", mine.failure);
    }
  }

  /** With this object's lock. */
  private void begin(Waiting first, LockedList list) throws IOException {
    boolean begun = false;
    try {
      writing = true;
      writer.execute(() -> writeAll(list));
      begun = true;
    } catch (RuntimeException | Error e) {
      // No thread can be had.
      throw new IOException("packed-refs can't be written", e);
    } finally {
      if (!begun) {
        writing = false;
        waiting.remove(first);
      }
    }
  }

  /** Waits without end: the request is under way, and an interrupt does not stop it. */
  private void await(Waiting mine) {
    boolean interrupted = false;
    while (!mine.done) {
      try {
        wait();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
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
        waiting = spare;
        spare = group;
      }
      try {
        write(group, list);
      } catch (IOException | RuntimeException | Error e) {
        // By index: without memory there is no iterator.
        for (int i = 0; i < group.size(); i++) {
          fail(group.get(i), e);
        }
      } finally {
        synchronized (this) {
          for (int i = 0; i < group.size(); i++) {
            group.get(i).done = true;
          }
          group.clear();
          notifyAll();
        }
      }
    }
  }

  private static void fail(Waiting waiting, Throwable why) {
    if (waiting.failure == null) {
      waiting.failure = why;
    }
  }

  private void write(List<Waiting> group, LockedList list) throws IOException {
    LockedRefs leader = group.get(0).terms.locks();
    lock(leader);
    try {
      List<Waiting> going = new ArrayList<>(group);
      boolean byContent = false;
      for (int attempt = 1; !going.isEmpty(); attempt++) {
        ParsedRefs packed = list.get(byContent);
        if (packed == null) {
          throw new RefReader.LeftToJGit();
        }
        PackedEdits edits = new PackedEdits();
        going.removeIf(each -> !succeeds(each, () -> each.request.collect(packed, edits)));
        try {
          if (write(going, leader, packed, edits)) {
            return;
          }
        } catch (EditedText.ChangedException e) {
          if (attempt >= ATTEMPTS) {
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
        undo(group, leader, list);
      } finally {
        leader.unlockPackedRefs();
      }
    }
  }

  /** Undoes what was decided and has failed. */
  private void undo(List<Waiting> group, LockedRefs leader, LockedList list) {
    List<Waiting> failed =
        group.stream().filter(each -> each.isDecided && !each.succeeded).toList();
    if (failed.isEmpty()) {
      return;
    }
    failed.forEach(each -> each.request.undo(each.failure));
    Path target = leader.besidePackedRefs();
    try {
      ParsedRefs packed = list.get(true);
      if (packed == null) {
        throw new RefReader.LeftToJGit();
      }
      PackedEdits edits = new PackedEdits();
      for (Waiting each : failed) {
        each.request.restore(packed, edits);
      }
      publish(failed, writeEdited(packed, edits, target), target);
    } catch (IOException | RuntimeException | Error e) {
      failed.forEach(
          each ->
              each.failure.addSuppressed(new IOException("could not be undone in packed-refs", e)));
    } finally {
      deleteUnused(target);
    }
  }

  /** Returns false if one of them fails to decide, so that what was written has too much. */
  private boolean write(
      List<Waiting> going, LockedRefs leader, ParsedRefs packed, PackedEdits edits)
      throws IOException {
    Path target = leader.besidePackedRefs();
    try {
      Written written = writeEdited(packed, edits, target);
      List<Waiting> undecided = new ArrayList<>();
      for (Waiting each : going) {
        each.isDecided = true;
        if (!succeeds(each, each.request::decide)) {
          undecided.add(each);
        }
      }
      if (!undecided.isEmpty()) {
        going.removeAll(undecided);
        return false;
      }
      publish(going, written, target);
    } finally {
      deleteUnused(target);
    }
    for (Waiting each : going) {
      each.succeeded = succeeds(each, each.request::finish);
    }
    return true;
  }

  /**
   * A new file.
   *
   * @param stamp null where no line changes, so that none was written
   */
  private record Written(ParsedRefs list, @Nullable FileStamp stamp) {}

  private Written writeEdited(ParsedRefs packed, PackedEdits edits, Path target)
      throws IOException {
    if (edits.isEmpty()) {
      return new Written(packed, null);
    }
    ParsedRefs made;
    try (FileChannel out = disk.openToWrite(target)) {
      made = file.writeEdited(packed, edits, out);
      if (made != packed) {
        disk.sync(out, target);
      }
    }
    return new Written(
        made, made == packed ? null : FileStamp.ofWritten(target.toFile(), file.file()));
  }

  /** Puts a new file into place. */
  private void publish(List<Waiting> requests, Written written, Path target) throws IOException {
    if (written.stamp == null) {
      return;
    }
    disk.rename(target, file.file().toPath());
    file.published(
        written.list, written.stamp, requests.stream().anyMatch(each -> each.terms.changesRefs()));
    if (requests.stream().anyMatch(each -> each.terms.durable())) {
      disk.syncFolders(List.of(file.file().getParentFile().toPath()));
    }
  }

  /** Deletes what was written and not put into place. */
  private void deleteUnused(Path target) {
    try {
      if (Files.exists(target)) {
        disk.delete(target);
      }
    } catch (IOException e) {
      logger.atWarning().withCause(e).log("cannot delete %s", target);
    }
  }

  private interface Step {
    void run() throws IOException;
  }

  private static boolean succeeds(Waiting waiting, Step step) {
    try {
      step.run();
      return true;
    } catch (IOException | RuntimeException | Error e) {
      fail(waiting, e);
      return false;
    }
  }

  private void lock(LockedRefs leader) throws IOException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LOCK_WAIT_MILLIS);
    for (long pause = 1;
        !leader.lockPackedRefs();
        pause = Math.min(2 * pause, LONGEST_PAUSE_MILLIS)) {
      if (System.nanoTime() - end >= 0) {
        throw new LockFailedException(file.file());
      }
      try {
        Thread.sleep(pause);
      } catch (InterruptedException e) {
        throw (IOException) new InterruptedIOException().initCause(e);
      }
    }
  }
}
