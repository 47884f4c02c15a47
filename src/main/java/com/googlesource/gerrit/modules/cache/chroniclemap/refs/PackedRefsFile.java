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

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.text.MessageFormat;
import java.util.concurrent.atomic.LongAdder;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.JGitText;
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
final class PackedRefsFile {
  private final File file;
  private final BlockStore store;
  private final ReaderPool readers;

  /** What was read last; replaced under this object's lock. */
  private volatile State state;

  // Readings are numbered. Guarded by this.
  private long begun;
  private long finished;
  private boolean reading;

  /** Incremented when another content is seen. */
  private volatile long version;

  private final LongAdder readings = new LongAdder();
  private final LongAdder parses = new LongAdder();

  /**
   * What was read.
   *
   * @param stamp taken before reading; null if the content must be read again
   * @param list null if JGit is to answer
   * @param digest of the content; null if it is not known, as for one that is too large
   * @param incomplete the store knows the content's root, but has lost blocks of it
   */
  private record State(
      @Nullable FileStamp stamp,
      @Nullable ParsedRefs list,
      @Nullable ContentDigest digest,
      boolean incomplete) {
    State(@Nullable FileStamp stamp, @Nullable ParsedRefs list, ContentDigest digest) {
      this(stamp, list, digest, false);
    }
  }

  PackedRefsFile(File file, BlockStore store, ReaderPool readers) {
    this.file = file;
    this.store = store;
    this.readers = readers;
    this.state = new State(null, null, null);
  }

  /**
   * Returns the list of the file's content, or null if JGit is to answer. A file that is not there
   * has an empty list.
   *
   * @param trust what attributes of the file are worth; not {@link TrustStat#INHERIT}
   */
  @Nullable
  ParsedRefs current(TrustStat trust) throws IOException {
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

  /** Changes whenever a reading has seen another content than the one before. */
  long version() {
    return version;
  }

  /** How often the file was read to its end, or to where it has changed. */
  long readings() {
    return readings.sum();
  }

  /** How often a content was parsed, in part or as a whole. */
  long parses() {
    return parses.sum();
  }

  /**
   * Says that a block of a list is not in the store any more, so that the file is parsed again when
   * its list is next asked for.
   */
  synchronized void forget(ParsedRefs list) {
    if (state.list == list) {
      state = new State(null, null, null, true);
    }
  }

  private boolean isModified(State of) {
    return of.stamp == null || of.stamp.isModified();
  }

  /** Some network file systems tell the attributes anew when a file is opened. */
  private void refreshAttributes() throws IOException {
    try {
      Files.newInputStream(file.toPath()).close();
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
      if (finished >= needed) {
        return state;
      }
      reading = true;
      mine = ++begun;
    }
    State before = state;
    State after = null;
    try {
      after = read(before, stamped);
      return after;
    } finally {
      synchronized (this) {
        // If it failed, those who wait try for themselves, and see the failure.
        if (after != null) {
          finished = mine;
          state = after;
          if (before.digest == null || !before.digest.equals(after.digest)) {
            version++;
          }
        }
        reading = false;
        notifyAll();
      }
    }
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

  // ---- reading

  private State read(State before, boolean stamped) throws IOException {
    readings.increment();
    PackedRefsReader reader = readers.take();
    try {
      State read = FileUtils.readWithRetries(file, f -> read(f, reader, before, stamped));
      if (read != null) {
        return read;
      }
      ParsedRefs none = reader.none(store);
      return new State(FileStamp.missing(file), none, none.digest());
    } catch (IOException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException(MessageFormat.format(JGitText.get().cannotReadFile, file), e);
    } finally {
      readers.giveBack(reader);
    }
  }

  private State read(File from, PackedRefsReader reader, State before, boolean stamped)
      throws IOException {
    FileStamp stamp = stamped ? FileStamp.of(from) : null;
    try {
      return FileText.retry(text -> read(text, reader, before, stamp), from);
    } catch (NotParsableException e) {
      parses.increment();
      return new State(stamp, null, e.digest());
    }
  }

  private State read(
      FileText text, PackedRefsReader reader, State before, @Nullable FileStamp stamp)
      throws IOException, NotParsableException {
    if (before.list == null && !before.incomplete) {
      // Another repository, another process or an earlier run may have parsed it.
      ContentDigest digest = reader.digest(text);
      if (digest.equals(before.digest)) {
        return stamp == null ? before : new State(stamp, null, digest);
      }
      ParsedRefs known = ParsedRefs.find(store, digest);
      if (known != null) {
        return new State(stamp, known, digest);
      }
      text.rewind();
    }
    ParsedRefs list = reader.read(text, store, before.list);
    if (list != before.list) {
      parses.increment();
    } else if (stamp == null) {
      // If that has a stamp, it still holds: those attributes, this content.
      return before;
    }
    return new State(stamp, list, list.digest());
  }
}
