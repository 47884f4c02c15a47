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
import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import com.google.common.flogger.FluentLogger;
import java.io.File;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.util.FS;
import org.eclipse.jgit.util.FS.FileStoreAttributes;

/**
 * The memory of the loose refs of one repository: each ref as it was read or peeled, and the
 * earlier attributes of its file. The caller knows whether attributes may be trusted at all. If a
 * file was read too soon after it was written, by the measure of JGit's FileSnapshot, its
 * attributes are not kept and the file is read again.
 *
 * <p>The memory holds the refs that somebody has asked for within the last hour, those that are
 * gone since among them, but never more than {@value #MAX_REFS}. Further refs are not kept. Any
 * thread may call.
 */
final class LooseMemory {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Each ref takes some 280 bytes of heap with its name, 28 MB for a repository at most. */
  static final int MAX_REFS = 100_000;

  /** So long, a ref is kept for which nobody asks. */
  private static final Duration MAX_IDLE = Duration.ofHours(1);

  private static final int MAX_BAD = 100;

  /** So long, a bad ref is reported that nobody has met again. */
  private static final long BAD_NANOS = TimeUnit.HOURS.toNanos(1);

  /** As in JGit's FileSnapshot, shorter measured times count 2.5 times, longer ones 1.25 times. */
  private static final Duration COARSE = Duration.ofMillis(100);

  private final Path refsFolder;
  private final int most;
  private final Cache<String, Known> refs;

  /** What was found bad by the name of the ref or file, {@value #MAX_BAD} names at most. */
  private final ConcurrentHashMap<String, Bad> bad = new ConcurrentHashMap<>();

  /** Null until JGit has measured the file system. */
  @Nullable private volatile FileStoreAttributes measured;

  LooseMemory(File refsFolder, int most, Ticker ticker) {
    this.refsFolder = refsFolder.toPath();
    this.most = most;
    this.refs = CacheBuilder.newBuilder().expireAfterAccess(MAX_IDLE).ticker(ticker).build();
  }

  /**
   * A ref as it was read.
   *
   * @param key the file key, which another file does not have; null if the attributes can't be
   *     trusted
   */
  record Known(Ref ref, @Nullable Object key, long modified, long size) {
    /** Whether a file with these attributes is the one that was read. */
    boolean isOf(BasicFileAttributes now) {
      return key != null
          && size == now.size()
          && modified == LooseMemory.modified(now)
          && key.equals(now.fileKey());
    }
  }

  private static long modified(BasicFileAttributes attributes) {
    return attributes.lastModifiedTime().to(TimeUnit.NANOSECONDS);
  }

  @Nullable
  Known get(String name) {
    return refs.getIfPresent(name);
  }

  int size() {
    return (int) refs.size();
  }

  /**
   * Remembers a ref that was read.
   *
   * @param attributes the file's attributes before the read; null if not known
   * @param asked a moment before the attributes were read
   * @return the remembered ref, which is peeled if the same id was peeled before
   */
  Ref read(Ref ref, @Nullable BasicFileAttributes attributes, Instant asked) {
    Known before = get(ref.getName());
    Ref known = before != null && isSame(before.ref, ref) ? before.ref : ref;
    if (before != null || size() < most) {
      refs.put(known.getName(), known(known, attributes, asked));
    }
    return known;
  }

  private Known known(Ref ref, @Nullable BasicFileAttributes attributes, Instant asked) {
    if (attributes == null || !attributes.isRegularFile() || isRacy(attributes, asked)) {
      return new Known(ref, null, 0, 0);
    }
    return new Known(ref, attributes.fileKey(), modified(attributes), attributes.size());
  }

  /** Whether the file may change again without a change of its time. */
  private boolean isRacy(BasicFileAttributes attributes, Instant asked) {
    Instant modified = attributes.lastModifiedTime().toInstant();
    return Duration.between(modified, asked).compareTo(raciness()) <= 0
        // The time does not fit in nanoseconds.
        || modified(attributes) == Long.MAX_VALUE
        || modified(attributes) == Long.MIN_VALUE;
  }

  /** Measured for the folder of all refs, as a measurement for each folder would take too long. */
  private Duration raciness() {
    FileStoreAttributes store = measured;
    if (store == null) {
      store = FS.getFileStoreAttributes(refsFolder);
      if (store != FileStoreAttributes.FALLBACK_FILESTORE_ATTRIBUTES) {
        measured = store;
      }
    }
    Duration resolution = store.getFsTimestampResolution();
    Duration interval = store.getMinimalRacyInterval();
    Duration longer = resolution.compareTo(interval) > 0 ? resolution : interval;
    return longer.compareTo(COARSE) < 0
        ? longer.multipliedBy(5).dividedBy(2)
        : longer.multipliedBy(5).dividedBy(4);
  }

  private static boolean isSame(Ref a, Ref b) {
    return a.isSymbolic() == b.isSymbolic()
        && (a.isSymbolic()
            ? a.getTarget().getName().equals(b.getTarget().getName())
            : a.getObjectId().equals(b.getObjectId()));
  }

  /** Remembers a peeled ref, unless the ref has changed since. */
  void peeled(Ref peeled) {
    refs.asMap()
        .computeIfPresent(
            peeled.getName(),
            (name, known) ->
                isSame(known.ref, peeled)
                    ? new Known(peeled, known.key, known.modified, known.size)
                    : known);
  }

  // ---- bad refs

  /**
   * A ref that is broken, can't be read or misses its object, or a file whose name is none of a
   * ref.
   *
   * @param ref the ref whose object is missing; null for the other kinds
   * @param met the time of {@link System#nanoTime} when it was last met
   */
  private record Bad(String why, @Nullable Ref ref, long met) {}

  /** Whether a ref would be noted as bad that is not yet. */
  boolean mayBeNew(String name) {
    return bad.size() < MAX_BAD && !bad.containsKey(name);
  }

  /** Notes a bad ref, and logs its name once. */
  void bad(String name, String why, @Nullable Ref ref) {
    if ((mayBeNew(name) || bad.containsKey(name))
        && bad.put(name, new Bad(why, ref, System.nanoTime())) == null) {
      logger.atWarning().log("%s in %s is bad: %s", name, refsFolder.getParent(), why);
    }
  }

  /**
   * Notes that a ref is not bad.
   *
   * @param read the ref that was read, whose object may be missing; null if there is none or the
   *     object was read
   */
  void sound(String name, @Nullable Ref read) {
    if (!bad.isEmpty()) {
      bad.computeIfPresent(
          name, (n, b) -> read != null && b.ref != null && isSame(read, b.ref) ? b : null);
    }
  }

  /** Returns the bad refs that were met in the last hour, each with what is wrong, in order. */
  List<String> bad() {
    long now = System.nanoTime();
    bad.values().removeIf(each -> now - each.met > BAD_NANOS);
    return bad.entrySet().stream().map(e -> e.getKey() + ": " + e.getValue().why).sorted().toList();
  }

  /** Forgets a ref. */
  void forget(String name) {
    refs.invalidate(name);
  }

  /** Forgets all. */
  void clear() {
    refs.invalidateAll();
    bad.clear();
  }
}
