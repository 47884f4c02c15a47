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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.current;

import com.google.common.base.Ticker;
import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.FileCounts;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListMemory;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListSource;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListSource.Content;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListTiers;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;

/**
 * The {@code packed-refs} file of one repository, and its current list.
 *
 * <p>JGit's {@code core.trustPackedRefsStat} defines what is current. Under {@code always} and
 * {@code after_open}, the content is read if the file's attributes have changed ({@link FileStamp}
 * applies JGit's rules). Under {@code never}, the content is read for each lookup. The file is
 * never kept open.
 *
 * <p>Threads that need the content at the same time share one reading, which must have begun after
 * they asked. Thus a new content is parsed only once, and no answer is older than its question.
 *
 * <p>One instance serves all users of a repository in this process.
 */
public final class PackedRefsFile implements ListMemory.Holder {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Why JGit answers for a file that has no list, for people. */
  static final String IRREGULAR =
      "it is broken, or not written as git does: sorted by name, with names in UTF-8";

  /** The state in which nothing is known. As an answer, it leaves a single lookup to JGit. */
  private static final State UNKNOWN = new State(null, Content.UNKNOWN);

  /**
   * How long JGit answers after there was no memory for the list. Each further try would collect
   * the whole heap several times before it fails.
   */
  static final long PAUSE_NANOS = TimeUnit.MINUTES.toNanos(10);

  public final File file;
  private final ListTiers tiers;
  public final ListSource source;
  private final Consumer<PackedRefsFile> remember;
  final NfsRevalidation nfs;

  /** The result of the last reading. Written under this object's lock. */
  private volatile State state = UNKNOWN;

  // Readings are numbered. Guarded by this.
  private long begun;
  private long finished;
  private boolean reading;

  /** The first reading whose attributes may be trusted. Guarded by this. */
  private long stampsFrom;

  /** Incremented when a reading finds another content. */
  private volatile long version;

  public final FileCounts counts = new FileCounts();

  /** The memory of the loose refs in the same repository. */
  final LooseMemory looseMemory;

  /**
   * Until when JGit answers, by {@link ListTiers#nanoTime}; 0 if there was memory for the last
   * list.
   */
  private volatile long pausedUntil;

  /** The time of {@link ListMemory#now} at the last use. Need not be exact. */
  private long lastUse;

  private volatile boolean forgotten;

  /** Whether the log says that JGit answers. Only for the thread that reads. */
  private boolean isLogged;

  /** Whether the log says that the list is large. Guarded by this. */
  private boolean isSizeLogged;

  /**
   * The result of a reading.
   *
   * @param stamp taken before the reading; null if the content must be read again
   */
  private record State(@Nullable FileStamp stamp, Content content) {
    State withoutStamp() {
      return new State(null, content);
    }
  }

  /**
   * Makes a file that has not been read yet.
   *
   * @param nfs opens what a network file system has to look at again
   */
  public PackedRefsFile(
      File file, ListTiers tiers, Consumer<PackedRefsFile> remember, NfsRevalidation nfs) {
    this.nfs = nfs;
    this.file = file;
    this.tiers = tiers;
    this.source = new ListSource(file, tiers, counts);
    this.remember = remember;
    this.looseMemory =
        new LooseMemory(
            new File(file.getParentFile(), Constants.R_REFS),
            LooseMemory.MAX_REFS,
            Ticker.systemTicker());
  }

  /** The list of the last reading if it is in memory. The file may have changed since. */
  @Override
  @Nullable
  public ParsedRefs lastList() {
    return state.content.list();
  }

  /** Why JGit answers, as far as is known without reading anything; empty if it does not. */
  public Optional<String> leftReason() {
    return isPaused()
        ? Optional.of("there was no memory for its list")
        : state.content.leftToJGit() ? Optional.of(IRREGULAR) : Optional.empty();
  }

  /** The bad loose refs that were met in the last hour, each with what is wrong, in order. */
  public List<String> badRefs() {
    return looseMemory.bad();
  }

  // ---- the memory

  @Override
  public long lastUse() {
    return lastUse;
  }

  private void used() {
    long now = tiers.memory.now();
    if (lastUse != now) {
      lastUse = now;
    }
    if (forgotten) {
      forgotten = false;
      remember.accept(this);
    }
  }

  @Override
  public synchronized void onEvicted(ParsedRefs list) {
    if (state.content.list() == list) {
      state = new State(null, state.content.with(null));
    }
  }

  /** Gives up the list. A later use of this file has it remembered again. */
  public synchronized void forgotten() {
    forgotten = true;
    looseMemory.clear();
    ParsedRefs list = state.content.list();
    tiers.memory.release(this);
    if (list != null) {
      onEvicted(list);
    }
  }

  // ---- the current list

  /**
   * Returns the list of the file's content, or null if JGit has to answer. A missing file has an
   * empty list.
   *
   * @param trust how far to trust the file's attributes; not {@link TrustStat#INHERIT}
   */
  @Nullable
  public ParsedRefs current(TrustStat trust) throws IOException {
    used();
    if (isPaused()) {
      return null;
    }
    if (trust != TrustStat.ALWAYS) {
      refreshFolder();
    }
    if (trust == TrustStat.NEVER) {
      return readAfterNow().content.list();
    }
    if (trust == TrustStat.AFTER_OPEN) {
      refreshAttributes();
    }
    State now = state;
    if (!isModified(now)) {
      return now.content.list();
    }
    // A reading in progress may do, as it is as new as the attributes with which it began.
    now = waitForReading();
    return isModified(now) ? readAfterNow().content.list() : now.content.list();
  }

  /** Has the next lookup read the content, whatever the attributes are. */
  public synchronized void refresh() {
    stampsFrom = begun + 1;
    state = state.withoutStamp();
  }

  /** A number that changes whenever a reading finds another content than the one before. */
  public long version() {
    return version;
  }

  private boolean isPaused() {
    return pausedUntil != 0 && tiers.nanoTime.getAsLong() - pausedUntil < 0;
  }

  private boolean isModified(State of) {
    return of.stamp == null || of.stamp.isModified();
  }

  /**
   * Has an NFS client check whether another file has replaced this one. Opening the file itself is
   * not enough: the client opens the file that it knows by this name, which still exists, as
   * .nfs1234, while anybody has it open. Opening the folder has the client ask the server for the
   * folder's attributes. If these have changed, the client looks up the names in the folder again.
   */
  private void refreshFolder() throws IOException {
    Path path = file.toPath();
    Path target = RefPaths.behindLinks(path);
    nfs.openFolder(path.getParent());
    if (!target.equals(path)) {
      nfs.openFolder(target.getParent());
    }
  }

  /** Opens the file, which has some network file systems refresh its attributes. */
  private void refreshAttributes() throws IOException {
    try {
      nfs.open(file.toPath());
    } catch (FileNotFoundException | NoSuchFileException e) {
      // The attributes will show this, too.
    }
  }

  // ---- sharing

  private synchronized State waitForReading() {
    awaitReading(begun);
    return state;
  }

  /** Returns the result of a reading that begins after this call. */
  private State readAfterNow() throws IOException {
    long mine;
    synchronized (this) {
      long needed = begun + 1;
      awaitReading(needed);
      // If the list was evicted since, the file is read again.
      if (finished >= needed && state.content.isAnswer()) {
        return state;
      }
      awaitReading(Long.MAX_VALUE);
      if (isPaused()) {
        return UNKNOWN; // the other reading has failed
      }
      reading = true;
      mine = ++begun;
    }
    State before = state;
    State after = null;
    List<Runnable> afterUnlock = List.of();
    try {
      after = read(before);
      return after;
    } catch (OutOfMemoryError e) {
      noMemory(e);
      return UNKNOWN;
    } finally {
      synchronized (this) {
        try {
          // After a failure, each waiting thread reads by itself and sees the failure.
          if (after != null && mine > finished) {
            after = mine < stampsFrom ? after.withoutStamp() : after;
            if (after.content.list() == null || after.content.list() != state.content.list()) {
              afterUnlock = new ArrayList<>();
              holdIfItMay(after, afterUnlock);
            } else {
              state = after;
            }
            finished = mine;
            if (!Objects.equals(before.content.digest(), after.content.digest())) {
              version++;
            }
          }
        } finally {
          reading = false;
          notifyAll();
        }
      }
      afterUnlock.forEach(Runnable::run);
    }
  }

  private void noMemory(OutOfMemoryError e) {
    counts.noMemory.increment();
    boolean isFirst = pausedUntil == 0;
    pausedUntil = tiers.nanoTime.getAsLong() + PAUSE_NANOS;
    if (isFirst) {
      logger.atSevere().withCause(e).log(
          "JGit answers for %s, for ten minutes at a time, as there is no memory for its parsed ref"
              + " list: %s. (-XX:MaxDirectMemorySize must be larger than"
              + " cache.packed_refs.memoryLimit)",
          file, e.getMessage());
    }
  }

  /**
   * Takes another list. If there is no memory for the list, only the current caller gets it. The
   * caller holds this object's lock.
   */
  private void holdIfItMay(State after, List<Runnable> afterUnlock) {
    try {
      hold(after, afterUnlock);
      pausedUntil = 0;
    } catch (OutOfMemoryError e) {
      // The state before is no answer to the threads that waited for this reading.
      state = UNKNOWN;
      noMemory(e);
    }
  }

  /** Takes another list. The caller holds this object's lock. */
  private void hold(State after, List<Runnable> afterUnlock) {
    if (after.content.list() == null) {
      tiers.memory.release(this);
      state = after;
      return;
    }
    ParsedRefs held = tiers.hold(this, after.content.list(), afterUnlock);
    state = new State(after.stamp, after.content.with(held));
    tiers.changed(this);
    warnIfLarge(held.blockBytes());
  }

  private void warnIfLarge(long bytes) {
    if (bytes > tiers.memory.limit && !isSizeLogged) {
      isSizeLogged = true;
      logger.atWarning().log(
          "The parsed ref list of %s is larger than cache.packed_refs.memoryLimit. It is held in"
              + " addition to that limit, but a second one would not be. Set the limit to %dm or"
              + " more",
          file, ((tiers.memory.limit + bytes) >> 20) + 1);
    }
  }

  /** Waits for the reading with a number, or for the current one. The caller holds the lock. */
  private void awaitReading(long number) {
    boolean interrupted = false;
    while (reading && finished < number) {
      try {
        wait();
      } catch (InterruptedException e) {
        interrupted = true; // reads by JGit are not interrupted either
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  // ---- writing

  /**
   * Takes the list of the content that was just renamed into place. Must be called before the lock
   * of the file is released, so that the list is current until then.
   *
   * @param stamp the attributes of the file
   * @param refsChanged whether the value of any ref has changed, and not only its place
   */
  public void published(ParsedRefs list, FileStamp stamp, boolean refsChanged) {
    List<Runnable> afterUnlock = new ArrayList<>();
    synchronized (this) {
      finished = ++begun;
      holdIfItMay(new State(stamp, Content.of(list)), afterUnlock);
      if (refsChanged) {
        version++;
      }
      notifyAll();
    }
    afterUnlock.forEach(Runnable::run);
  }

  // ---- reading

  @SuppressWarnings("ReferenceEquality") // the source returns the same object if nothing is new
  private State read(State before) throws IOException {
    counts.readings.increment();
    for (int attempt = 1; ; attempt++) {
      try {
        FileStamp stamp = FileStamp.of(file);
        Content content = source.read(before.content);
        if (content != before.content && content.leftToJGit()) {
          counts.notParsable.increment();
          if (!isLogged) {
            isLogged = true;
            logger.atWarning().log(
                "%s is left to JGit, as without this module: %s", file, IRREGULAR);
          }
        }
        return new State(stamp, content);
      } catch (IOException e) {
        if (!FileStamp.isThere(file)) {
          return new State(FileStamp.missing(file), Content.of(tiers.none));
        }
        if (attempt == LooseFile.MAX_ATTEMPTS || !LooseFile.isOfAnotherFile(e)) {
          throw LooseFile.unreadable(file, e);
        }
      }
    }
  }
}
