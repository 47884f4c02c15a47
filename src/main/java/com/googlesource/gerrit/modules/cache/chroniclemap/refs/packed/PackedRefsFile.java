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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.packed;

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ContentDigest;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Draft;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListMemory;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose.LooseMemory;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose.Opener;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.EditedText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.FileText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.NotParsableException;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.NotParsableException.Reason;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.PackedEdits;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.PackedRefsReader;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.text.MessageFormat;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.JGitText;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;
import org.eclipse.jgit.util.FileUtils;

/**
 * The {@code packed-refs} file of one repository: tells which list it holds now.
 *
 * <p>What "now" means is JGit's {@code core.trustPackedRefsStat}: under {@code always} and {@code
 * after_open} the file's attributes are asked ({@link FileStamp}: JGit's rules, racy timestamps
 * included), and its content is read if they have changed; under {@code never} the content is read
 * each time. The file is opened, read and closed.
 *
 * <p>All threads that need the content at the same time share one reading, but only one that began
 * after they asked. So a new content is parsed once, however many threads meet it, and nobody gets
 * an answer that is older than his question.
 *
 * <p>One instance serves all users of a repository in this process.
 */
public final class PackedRefsFile implements ListMemory.Holder {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** JGit is to answer this time. */
  private static final State LEFT_FOR_NOW = new State(null, null, null);

  private final File file;
  private final ListTiers tiers;
  private final Consumer<PackedRefsFile> remember;
  private final Opener opener;

  /** What was read last; replaced under this object's lock. */
  private volatile State state;

  // Readings are numbered. Guarded by this.
  private long begun;
  private long finished;
  private boolean reading;

  /** The first reading whose attributes may be trusted. Guarded by this. */
  private long stampsFrom;

  /** Incremented when another content is seen. */
  private volatile long version;

  private final FileCounts counts = new FileCounts();
  private final LooseMemory looseMemory;
  private final MemoryPause pause;

  /** Key of the file whose content was read last. Of the one thread that reads. */
  @Nullable private Object checkedKey;

  /** When a list was last asked for, in the time of {@link ListMemory#now}. Need not be exact. */
  private long lastUse;

  private volatile boolean forgotten;

  /** Whether it was said that JGit answers. Of the one thread that reads. */
  private boolean told;

  private final AtomicBoolean toldOfSize = new AtomicBoolean();

  /**
   * What was read.
   *
   * @param stamp taken before reading; null if the content must be read again
   * @param list null if JGit is to answer, or the content must be read again
   * @param digest of the content; null if it is not known, as for one that is too large
   * @param leftToJGit why the content can't be parsed, so that JGit is to answer; null if it can
   */
  private record State(
      @Nullable FileStamp stamp,
      @Nullable ParsedRefs list,
      @Nullable ContentDigest digest,
      @Nullable Reason leftToJGit) {
    State(@Nullable FileStamp stamp, @Nullable ParsedRefs list, @Nullable ContentDigest digest) {
      this(stamp, list, digest, null);
    }

    State withoutStamp() {
      return new State(null, list, digest, leftToJGit);
    }

    /** Whether it says who is to answer. */
    boolean isAnswer() {
      return list != null || leftToJGit != null;
    }
  }

  /** Makes one that is never forgotten. */
  public PackedRefsFile(File file, ListTiers tiers) {
    this(file, tiers, used -> {});
  }

  /**
   * Makes one of which nothing was read yet.
   *
   * @param remember told when it is used after it was {@link #forgotten}
   */
  public PackedRefsFile(File file, ListTiers tiers, Consumer<PackedRefsFile> remember) {
    this(file, tiers, remember, Opener.OF_SYSTEM);
  }

  PackedRefsFile(File file, ListTiers tiers, Consumer<PackedRefsFile> remember, Opener opener) {
    this.opener = opener;
    this.file = file;
    this.tiers = tiers;
    this.remember = remember;
    this.looseMemory = new LooseMemory(new File(file.getParentFile(), Constants.R_REFS));
    this.pause = new MemoryPause(tiers.nanoTime());
    this.state = new State(null, null, null);
  }

  public File file() {
    return file;
  }

  public FileCounts counts() {
    return counts;
  }

  /** What is known of the loose refs beside it. */
  public LooseMemory looseMemory() {
    return looseMemory;
  }

  /** The list that was read last, if it is in memory; says nothing of the file. */
  @Nullable
  public ParsedRefs lastList() {
    return state.list;
  }

  /** Why JGit answers for what was read last; null if it does not. */
  @Nullable
  public Reason leftToJGit() {
    return state.leftToJGit;
  }

  /** Whether JGit answers for a while, as there was no memory. */
  public boolean isPaused() {
    return pause.isOn();
  }

  // ---- the memory

  @Override
  public long lastUse() {
    return lastUse;
  }

  private void used() {
    long now = tiers.memory().now();
    if (lastUse != now) {
      lastUse = now;
    }
    if (forgotten) {
      forgotten = false;
      remember.accept(this);
    }
  }

  @Override
  public synchronized void leave(ParsedRefs list) {
    if (state.list == list) {
      state = new State(null, null, state.digest);
    }
    tiers.left(list);
  }

  @Override
  public void isBeside(long enough) {
    if (!toldOfSize.getAndSet(true)) {
      logger.atWarning().log(
          "The parsed ref list of %s is larger than cache.packed_refs.memoryLimit: it is held beside"
              + " that limit, and no second one is. Set the limit to %dm or more",
          file, (enough >> 20) + 1);
    }
  }

  @Override
  public synchronized void take(ParsedRefs list, ParsedRefs copy) {
    if (state.list == list) {
      state = new State(state.stamp, copy, state.digest);
    }
  }

  /** Gives up the list. The file can be used all the same: then it is remembered, with a list. */
  public synchronized void forgotten() {
    forgotten = true;
    looseMemory.clear();
    ParsedRefs list = state.list;
    tiers.memory().release(this);
    if (list != null) {
      leave(list);
    }
  }

  // ---- the list of now

  /**
   * Returns the list of the file's content, or null if JGit is to answer. A file that is not there
   * has an empty list.
   *
   * @param trust what attributes of the file are worth; not {@link TrustStat#INHERIT}
   */
  @Nullable
  public ParsedRefs current(TrustStat trust) throws IOException {
    used();
    if (pause.isOn()) {
      return null;
    }
    if (trust != TrustStat.ALWAYS) {
      refreshFolder();
    }
    if (trust == TrustStat.NEVER) {
      return readAfterNow(false).list;
    }
    if (trust == TrustStat.AFTER_OPEN) {
      refreshAttributes();
    }
    State now = state;
    if (!isModified(now)) {
      return now.list;
    }
    // A reading that has begun may do: it is as new as the attributes that it began with.
    now = waitForReading();
    return isModified(now) ? readAfterNow(true).list : now.list;
  }

  /**
   * As under {@link TrustStat#NEVER}, but notes the attributes, which a later question may trust.
   */
  @Nullable
  public ParsedRefs currentByContent() throws IOException {
    used();
    if (pause.isOn()) {
      return null;
    }
    refreshFolder();
    return readAfterNow(true).list;
  }

  /** Whether the file was there and not empty when its content was last seen. */
  public boolean hasContent() {
    State last = state;
    return last.list == null ? last.isAnswer() : last.list.textBytes() > 0;
  }

  /** Has the content read again, whatever the attributes say. */
  public synchronized void refresh() {
    stampsFrom = begun + 1;
    state = state.withoutStamp();
  }

  /** Changes whenever a reading has seen another content than the one before. */
  public long version() {
    return version;
  }

  private boolean isModified(State of) {
    return of.stamp == null || of.stamp.isModified();
  }

  /**
   * Has NFS look whether another file has been put in the place of this one. Opening the file
   * itself does not: the client opens the one that it knows by this name, and as long as anybody
   * has that open, it is there, under a name such as .nfs1234. Opening the folder asks the server
   * for the folder's attributes, and where these have changed the names in it are looked up again.
   */
  private void refreshFolder() {
    try {
      opener.open(file.getParentFile().toPath());
    } catch (IOException e) {
      // One that can't be listed, which does not hide what is in it; or it is gone.
    }
  }

  /** Some network file systems tell the attributes anew when a file is opened. */
  private void refreshAttributes() throws IOException {
    try {
      opener.open(file.toPath());
    } catch (FileNotFoundException | NoSuchFileException e) {
      // The attributes will say so.
    }
  }

  // ---- sharing

  private synchronized State waitForReading() {
    awaitReading(begun);
    return state;
  }

  /**
   * Returns the result of a reading that begins after this call.
   *
   * @param stamped whether attributes are to be noted, if this call reads
   */
  private State readAfterNow(boolean stamped) throws IOException {
    long mine;
    synchronized (this) {
      long needed = begun + 1;
      awaitReading(needed);
      // The list may have left the memory since: then it is read again.
      if (finished >= needed && state.isAnswer()) {
        return state;
      }
      awaitReading(Long.MAX_VALUE);
      if (pause.isOn()) {
        return LEFT_FOR_NOW; // the reading that was waited for has failed
      }
      reading = true;
      mine = ++begun;
    }
    State before = state;
    State after = null;
    List<Runnable> tell = List.of();
    try {
      after = read(before, stamped);
      return after;
    } catch (OutOfMemoryError e) {
      noMemory(e);
      return LEFT_FOR_NOW;
    } finally {
      synchronized (this) {
        try {
          // If it failed, those who wait try for themselves, and see the failure.
          if (after != null && mine > finished) {
            after = mine < stampsFrom ? after.withoutStamp() : after;
            if (after.list == null || after.list != state.list) {
              tell = new ArrayList<>();
              holdIfItMay(after, tell);
            } else {
              state = after;
            }
            finished = mine;
            if (!Objects.equals(before.digest, after.digest)) {
              version++;
            }
          }
        } finally {
          reading = false;
          notifyAll();
        }
      }
      tell.forEach(Runnable::run);
    }
  }

  private void noMemory(OutOfMemoryError e) {
    counts.noMemory.increment();
    pause.begin(file, e);
  }

  /**
   * Takes another list, with this object's lock; if there is no memory, its caller alone has it.
   */
  private void holdIfItMay(State after, List<Runnable> tell) {
    try {
      hold(after, tell);
      pause.over();
    } catch (OutOfMemoryError e) {
      // What was read before is no answer to those who waited for this.
      state = new State(null, null, null);
      noMemory(e);
    }
  }

  /** With this object's lock. */
  private void hold(State after, List<Runnable> tell) {
    if (after.list == null) {
      tiers.memory().release(this);
      state = after;
      return;
    }
    ParsedRefs held = tiers.hold(this, after.list, tell);
    state = new State(after.stamp, held, after.digest);
    tiers.changed(this);
  }

  /** Waits, with this object's lock, until none reads or the reading of that number is done. */
  private void awaitReading(long number) {
    boolean interrupted = false;
    while (reading && finished < number) {
      try {
        wait();
      } catch (InterruptedException e) {
        interrupted = true; // JGit's reading is not interrupted either
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  // ---- writing

  /**
   * Takes the list of a content that was put into the file's place just now. To be called before
   * the lock of the file is let go: so it is what the file has, for all who ask until then.
   *
   * @param stamp the attributes of the file
   * @param refsChanged whether any ref has another value than before, or only another place
   */
  public void published(ParsedRefs list, FileStamp stamp, boolean refsChanged) {
    List<Runnable> tell = new ArrayList<>();
    synchronized (this) {
      finished = ++begun;
      holdIfItMay(new State(stamp, list, list.digest()), tell);
      if (refsChanged) {
        version++;
      }
      notifyAll();
    }
    tell.forEach(Runnable::run);
  }

  /**
   * Writes the file's content with some lines changed, and makes its list on the way.
   *
   * @param list of the content, which is locked
   * @param out takes the new content; of no use if this fails
   * @return the list; {@code list} itself if the content stays the same
   * @throws EditedText.ChangedException if the file has another content than the list
   * @throws IOException if it can't be read or written
   */
  public ParsedRefs writeEdited(ParsedRefs list, PackedEdits edits, FileChannel out)
      throws IOException {
    return new PackedRewrite(file, tiers, counts).write(list, edits, out);
  }

  // ---- reading

  private State read(State before, boolean stamped) throws IOException {
    counts.readings.increment();
    PackedRefsReader reader = tiers.readers().take();
    try {
      State read = FileUtils.readWithRetries(file, f -> read(f, reader, before, stamped));
      if (read != null) {
        return read;
      }
      ParsedRefs none = tiers.none();
      return new State(FileStamp.missing(file), none, none.digest());
    } catch (IOException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException(MessageFormat.format(JGitText.get().cannotReadFile, file), e);
    } finally {
      tiers.readers().giveBack(reader);
    }
  }

  private State read(File from, PackedRefsReader reader, State before, boolean stamped)
      throws IOException {
    FileStamp stamp = stamped ? FileStamp.of(from) : null;
    try {
      return FileText.retry(text -> read(text, reader, before, stamp), from);
    } catch (NotParsableException e) {
      counts.notParsable.increment();
      if (!told) {
        told = true;
        logger.atWarning().log(
            "%s is left to JGit, as without this module: %s", file, e.reason().text());
      }
      return new State(stamp, null, e.digest(), e.reason());
    }
  }

  private State read(
      FileText text, PackedRefsReader reader, State before, @Nullable FileStamp stamp)
      throws IOException, NotParsableException {
    ParsedRefs old = before.list;
    if (old != null && isUnchanged(text, old)) {
      return stamp == null ? before : new State(stamp, old, old.digest());
    }
    Draft draft = tiers.memory().draft();
    if (old == null || old.size() == 0) {
      // Another repository, another process or an earlier run may have parsed it.
      ContentDigest digest =
          before.leftToJGit != null
              ? reader.digest(text)
              : reader.digestIfKnown(text, tiers::mayKnow);
      if (before.leftToJGit != null && digest.equals(before.digest)) {
        return stamp == null ? before : new State(stamp, null, digest, before.leftToJGit);
      }
      ParsedRefs known = digest == null ? null : tiers.find(digest, draft);
      if (known != null) {
        if (known != old) {
          counts.found.increment();
        }
        return new State(stamp, known, digest);
      }
      text.rewind();
    }
    long begunAt = System.nanoTime();
    ParsedRefs list =
        reader.read(text, draft, old, digest -> tiers.find(digest, tiers.memory().draft()));
    if (list == old) {
      // If the state before has a stamp, that still holds: those attributes, this content.
      return stamp == null ? before : new State(stamp, old, old.digest());
    }
    if (draft.isFinished()) {
      counts.parsed(list.blocks(), draft.made(), System.nanoTime() - begunAt);
    } else {
      counts.found.increment();
    }
    return new State(stamp, list, list.digest());
  }

  /** Checks by the content, where that is done sooner than by reading for changes. */
  private boolean isUnchanged(FileText text, ParsedRefs list) throws IOException {
    if (!text.hasParts() || !tiers.check().isWorthwhile(list)) {
      return false;
    }
    // Not trusted, but worth a guess: another file has another content, most likely.
    Object key = FileStamp.key(file);
    boolean sameFile = key != null && key.equals(checkedKey);
    checkedKey = key;
    if (!sameFile) {
      return false;
    }
    boolean same = tiers.check().matches(text, list);
    if (!same) {
      text.rewind();
    }
    return same;
  }
}
