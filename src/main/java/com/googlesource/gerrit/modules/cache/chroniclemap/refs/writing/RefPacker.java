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

import com.google.common.collect.Lists;
import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.EmptyRefFolders;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedEdits;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RepositoryFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.JGitText;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ProgressMonitor;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.revwalk.RevObject;
import org.eclipse.jgit.revwalk.RevTag;
import org.eclipse.jgit.revwalk.RevWalk;

/**
 * The packing of loose refs, which writes their values to {@code packed-refs} at once and then
 * deletes their files.
 *
 * <p>A ref is read and peeled before {@code packed-refs} is locked, and read again under that lock.
 * A ref that was deleted or changed in between is skipped, so that no deleted ref comes back. What
 * can't be read, and files whose names git refuses, are left alone. A locked ref is skipped too, as
 * the lock holder may be about to delete it. A file is deleted under the ref's own lock, and only
 * if it and {@code packed-refs} still have the packed value. So a ref that was deleted and made
 * again meanwhile keeps its file, even with the same value.
 *
 * <p>Any thread may call.
 */
record RefPacker(UpdateContext context, RepositoryFiles refs) {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How many files are deleted under one set of locks, for which other writers may wait. */
  private static final int MAX_PRUNED_TOGETHER = 64;

  /**
   * How many packed refs allow one more loose ref before the next packing. A packing reads and
   * writes the whole list, about 70 bytes for each packed ref. With this ratio, it reads and writes
   * 70 KB for each new loose ref, however long the list is, and less beside a short list. In a
   * listing, a loose ref costs as much as 70 packed ones (5.4 and 0.08 microseconds in version
   * 1.0.0). So loose refs make a listing of all refs slower by a fourteenth at most, if the list is
   * long enough for this ratio to count.
   */
  private static final int PACKED_FOR_ONE_LOOSE = 1000;

  /**
   * How long a listing may take because of the loose refs that a long list allows. On a network
   * file system, each costs half a millisecond and more.
   */
  private static final long LISTING_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** A ref to be packed with its value. */
  private static final class Packed extends HeldLocks.LockedRef {
    @Nullable final ObjectId peeled;

    Packed(Ref ref, @Nullable ObjectId peeled) {
      super(ref.getName(), ref.getObjectId());
      this.peeled = peeled;
    }

    /** Whether a ref has the value. */
    boolean isValueOf(@Nullable Ref ref) {
      return ref != null && !ref.isSymbolic() && newId.equals(ref.getObjectId());
    }
  }

  /**
   * Packs the loose refs if there are too many. Refs that stay loose (broken, symbolic or locked)
   * raise the limit for the next time. Otherwise each new ref would start a packing. They are tried
   * again when as many other refs were made.
   *
   * @param maxLoose how many loose refs there may be beside a short list
   */
  void packInBackground(int maxLoose) {
    refs.repository.incrementOpen();
    int loose = 0;
    int most = maxLoose;
    try {
      int packed = refs.lockedReader.packed().size();
      // Twice if only a slow listing calls for a packing, which costs far more: the disk may have
      // been busy.
      int allowed = packed / PACKED_FOR_ONE_LOOSE;
      for (int i = 0; i == 0 || (i == 1 && loose > most && loose <= allowed); i++) {
        long begun = System.nanoTime();
        loose = countLoose();
        most = Math.max(most, most(maxLoose, packed, loose, System.nanoTime() - begun));
      }
      if (loose > most) {
        try {
          pack(NullProgressMonitor.INSTANCE, true);
        } finally {
          loose = countLoose();
          most += loose;
        }
      }
      EmptyRefFolders.delete(refs.paths.refsFolder);
    } catch (IOException | RuntimeException e) {
      logger.atWarning().withCause(e).log(
          "cannot pack the loose refs of %s; they stay loose", refs.repository);
    } finally {
      context.writes.packed(loose, most);
      refs.repository.close();
    }
  }

  /**
   * How many loose refs there may be.
   *
   * @param loose how many there are
   * @param nanos how long it took to list them
   */
  static int most(int maxLoose, int packed, int loose, long nanos) {
    long quick = LISTING_NANOS * loose / Math.max(1, nanos);
    return (int) Math.max(maxLoose, Math.min(packed / PACKED_FOR_ONE_LOOSE, quick));
  }

  private int countLoose() throws IOException {
    return refs.loose.scanReadable(Constants.R_REFS).size();
  }

  /**
   * Packs loose refs.
   *
   * @param all whether to pack all refs; otherwise only tags
   */
  void pack(ProgressMonitor monitor, boolean all) throws IOException {
    List<Ref> found = refs.loose.scanReadable(all ? Constants.R_REFS : Constants.R_TAGS);
    monitor.beginTask(JGitText.get().packRefs, found.size());
    try {
      monitor.update(found.size());
      packAndPrune(peel(found));
    } finally {
      monitor.endTask();
    }
  }

  private void packAndPrune(List<Packed> values) throws IOException {
    if (values.isEmpty()) {
      return;
    }
    try (HeldLocks none = context.lock(List.of(), 0)) {
      // Durably, as the files are deleted next.
      context.write(
          (packed, edits) -> collect(values, packed, edits),
          new PackedRefsQueue.Options(none, false, true));
    }
    prune(values);
  }

  private List<Packed> peel(List<Ref> loose) throws IOException {
    List<Packed> values = new ArrayList<>();
    try (RevWalk walk = new RevWalk(refs.repository)) {
      for (Ref ref : loose) {
        if (ref.isSymbolic()) {
          continue;
        }
        try {
          RevObject object = walk.parseAny(ref.getObjectId());
          values.add(new Packed(ref, object instanceof RevTag ? walk.peel(object).copy() : null));
        } catch (IOException | RuntimeException e) {
          refs.loose.lacksObject(ref, e); // and is not packed
        }
      }
    }
    return values;
  }

  /** Collects the refs that still have the value read before. */
  private void collect(List<Packed> values, ParsedRefs packed, PackedEdits edits) {
    for (Packed value : values) {
      Ref before = packed.exactRef(value.name);
      if (mayBePacked(value) && !(value.isValueOf(before) && before.isPeeled())) {
        edits.set(value.name, value.newId, value.peeled);
      }
    }
  }

  private boolean mayBePacked(Packed value) {
    try {
      // An NFS client caches that a file is missing, and would miss another machine's new lock.
      refs.loose.refreshFolder(value.name);
      // A lock holder may be deleting the ref, and have seen that it is not packed.
      return Files.notExists(RefPaths.lockOf(refs.paths.loose(value.name)))
          && value.isValueOf(refs.loose.readFile(value.name));
    } catch (IOException e) {
      return false; // it is bad by now
    }
  }

  // ---- deleting the files of packed refs

  /**
   * Deletes the files of packed refs, under their locks. If another writer has one of the refs, or
   * the disk refuses one, the others are tried without it.
   *
   * @throws IOException if the disk refuses what all refs need
   */
  private void prune(List<Packed> values) throws IOException {
    Deque<List<Packed>> left = new ArrayDeque<>(Lists.partition(values, MAX_PRUNED_TOGETHER));
    for (List<Packed> some = left.poll(); some != null; some = left.poll()) {
      try (HeldLocks locks = context.lock(some, 0)) {
        // The list is read under the locks, so it lacks a ref that was deleted and made again.
        ParsedRefs packed = refs.lockedReader.packed();
        NameConflicts.ForeignLocks others = new NameConflicts.ForeignLocks(refs.paths, locks.names);
        for (Packed value : some) {
          if (value.isValueOf(refs.loose.readFile(value.name))
              && value.isValueOf(packed.exactRef(value.name))
              && others.above(value.name) == null) {
            value.deleteLoose();
          }
        }
      } catch (RefReader.LeftToJGit e) {
        // These refs stay loose.
      } catch (IOException e) {
        boolean isRefused = e instanceof RefusedException;
        if (!isRefused) {
          checkDisk();
        }
        if (some.size() > 1) {
          left.addAll(Lists.partition(some, (some.size() + 1) / 2));
        } else if (!isRefused) {
          logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.HOURS).log(
              "the file of %s in %s, which may be packed, could not be deleted",
              some.get(0).name, refs.repository);
        }
      }
    }
  }

  /** Fails if no journal can be written, or packed-refs can't be read. */
  private void checkDisk() throws IOException {
    HeldLocks none = context.lock(List.of(), 0);
    try (none) {
      ParsedRefs unused = refs.lockedReader.packed();
    }
  }
}
