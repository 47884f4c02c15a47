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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.Journal;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.LockedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose.EmptyRefFolders;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing.PackedEdits;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.errors.MissingObjectException;
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
 * Packs loose refs: writes their values to {@code packed-refs}, all at once, and then deletes their
 * files.
 *
 * <p>A value is read, and its tag peeled, before {@code packed-refs} is locked, and read again
 * under that lock: a ref that was deleted or changed in between is left alone, so nothing that is
 * gone comes back; nor is one that somebody has locked, who may be about to delete it. A file is
 * deleted under the ref's own lock, if it still has the value that {@code packed-refs} still has:
 * so a ref that was deleted and made again meanwhile, even with the same value, keeps its file.
 *
 * <p>Any thread may call.
 */
final class RefPacker {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How many files are deleted under one set of locks. Others may wait for one of these refs. */
  private static final int PRUNED_TOGETHER = 64;

  /**
   * A packing reads and writes all of a list, some 70 bytes for each packed ref, so beside a long
   * list it waits for more loose refs: with this many packed ones for each, 70 KB are read and
   * written for each loose ref that is made, however long the list is. Who lists all refs pays for
   * a loose one what some 70 packed ones cost (5.4 and 0.08 microseconds in benchmarks.md, Loose
   * refs beside packed ones): at most a fourteenth more for the whole list.
   */
  private static final int PACKED_FOR_ONE_LOOSE = 1000;

  private final RefUpdater updater;
  private final UpdatableRefs refs;

  RefPacker(RefUpdater updater) {
    this.updater = updater;
    this.refs = updater.refs();
  }

  /** A value to be packed. */
  private record Peeled(ObjectId id, @Nullable ObjectId peeled) {}

  /**
   * Packs what is loose, if there is much of it. What can't be packed (broken refs, symbolic ones,
   * those that others have locked) does not count the next time, or each new ref would have all
   * packed again; it is tried again when as many others were made.
   *
   * @param maxLoose how many loose refs there may be beside a short list
   */
  void packInBackground(int maxLoose) {
    refs.repository().incrementOpen();
    int loose = 0;
    int most = maxLoose;
    try {
      loose = countLoose();
      int packed = refs.reader().packed().size();
      most = Math.max(maxLoose, packed / PACKED_FOR_ONE_LOOSE);
      if (loose > most) {
        try {
          pack(NullProgressMonitor.INSTANCE, true);
        } finally {
          loose = countLoose();
          most += loose;
        }
      }
      EmptyRefFolders.delete(updater.paths().refsFolder());
    } catch (IOException | RuntimeException e) {
      logger.atWarning().withCause(e).log("cannot pack the refs of %s", refs.repository());
    } finally {
      updater.writes().packed(loose, most);
      refs.repository().close();
    }
  }

  private int countLoose() {
    return refs.reader().loose().scan(Constants.R_REFS).size();
  }

  /**
   * Packs loose refs.
   *
   * @param all whether all; else tags alone
   */
  void pack(ProgressMonitor monitor, boolean all) throws IOException {
    List<Ref> found = refs.reader().loose().scan(all ? Constants.R_REFS : Constants.R_TAGS);
    monitor.beginTask(JGitText.get().packRefs, found.size());
    try {
      Map<String, Ref> loose = new LinkedHashMap<>();
      for (Ref ref : found) {
        loose.put(ref.getName(), ref);
        monitor.update(1);
      }
      packAndPrune(loose);
    } finally {
      monitor.endTask();
    }
  }

  /** Packs those of some refs that are loose, under locks of its own. */
  void pack(Collection<String> names) throws IOException {
    packAndPrune(loose(names));
  }

  /**
   * The same for the caller, who has all of them locked and keeps the locks: so none can be missed.
   *
   * @return one that is loose still as it can't be packed, such as a symbolic one; null if none is
   */
  @Nullable
  String packUnderLocks(Collection<String> names, LockedRefs held) throws IOException {
    Map<String, Ref> loose = loose(names);
    if (loose.isEmpty()) {
      return null;
    }
    Map<String, Peeled> values = peel(loose);
    if (!values.isEmpty()) {
      write(held, true, values);
      prune(values, held);
    }
    for (String name : loose.keySet()) {
      if (refs.reader().loose().readFile(name) != null) {
        return name;
      }
    }
    return null;
  }

  private Map<String, Ref> loose(Collection<String> names) throws IOException {
    Map<String, Ref> loose = new LinkedHashMap<>();
    for (String name : new TreeSet<>(names)) {
      Ref ref = refs.reader().loose().read(name);
      if (ref != null) {
        loose.put(name, ref);
      }
    }
    return loose;
  }

  private void packAndPrune(Map<String, Ref> loose) throws IOException {
    Map<String, Peeled> values = peel(loose);
    if (values.isEmpty()) {
      return;
    }
    try (LockedRefs none = updater.writes().locks().lockNothing(updater.paths())) {
      write(none, false, values);
    }
    List<String> names = new ArrayList<>(values.keySet());
    for (int i = 0; i < names.size(); i += PRUNED_TOGETHER) {
      pruneOrSkip(names.subList(i, Math.min(names.size(), i + PRUNED_TOGETHER)), values);
    }
  }

  /** Durably: files are deleted for it. */
  private void write(LockedRefs locks, boolean locked, Map<String, Peeled> values)
      throws IOException {
    updater.write(
        (packed, edits) -> collect(values, locked, packed, edits),
        new PackedRefsQueue.Terms(locks, false, true));
  }

  private Map<String, Peeled> peel(Map<String, Ref> loose) throws IOException {
    Map<String, Peeled> values = new LinkedHashMap<>();
    List<String> broken = new ArrayList<>();
    try (RevWalk walk = new RevWalk(refs.repository())) {
      for (Ref ref : loose.values()) {
        if (ref.isSymbolic() || !Journal.isWritable(ref.getName())) {
          continue;
        }
        try {
          RevObject object = walk.parseAny(ref.getObjectId());
          values.put(
              ref.getName(),
              new Peeled(
                  ref.getObjectId(), object instanceof RevTag ? walk.peel(object).copy() : null));
        } catch (MissingObjectException e) {
          // One broken ref should not keep all others from being packed.
          broken.add(ref.getName());
        }
      }
    }
    if (!broken.isEmpty()) {
      logger.atWarning().log(
          "%d refs of %s are not packed, as their objects are missing, such as %s",
          broken.size(), refs.repository(), broken.get(0));
    }
    return values;
  }

  /**
   * Packs those that are what they were, and deletes nothing.
   *
   * @param locked whether the caller has the locks of all of them
   */
  private void collect(
      Map<String, Peeled> values, boolean locked, ParsedRefs packed, PackedEdits edits)
      throws IOException {
    for (Map.Entry<String, Peeled> entry : values.entrySet()) {
      String name = entry.getKey();
      Peeled value = entry.getValue();
      if (!locked && Files.exists(RefPaths.lockOf(updater.paths().loose(name)))) {
        // Somebody may be deleting it, and have seen already that it is not packed.
        continue;
      }
      Ref now = refs.reader().loose().readFile(name);
      if (now == null || now.isSymbolic() || !value.id.equals(now.getObjectId())) {
        continue;
      }
      Ref before = packed.exactRef(name);
      if (before == null || !before.isPeeled() || !value.id.equals(before.getObjectId())) {
        edits.set(name, value.id, value.peeled);
      }
    }
  }

  // ---- deleting what is packed

  private void pruneOrSkip(List<String> names, Map<String, Peeled> values) throws IOException {
    Map<String, Peeled> part = new HashMap<>();
    List<Journal.Entry> entries = new ArrayList<>();
    for (String name : new TreeSet<>(names)) {
      part.put(name, values.get(name));
      entries.add(new Journal.Entry(name, values.get(name).id));
    }
    try (LockedRefs locks = updater.lock(entries, 0)) {
      prune(part, locks);
    } catch (RefReader.LeftToJGit e) {
      return; // they stay loose
    } catch (LockedRefs.Refused e) {
      // Somebody changes one of them. The others need not wait for the next time.
      if (names.size() > 1) {
        int middle = names.size() / 2;
        pruneOrSkip(names.subList(0, middle), values);
        pruneOrSkip(names.subList(middle, names.size()), values);
      }
    }
    updater.paths().deleteEmptyParents(names);
  }

  /** With the locks of these refs. */
  private void prune(Map<String, Peeled> values, LockedRefs held) throws IOException {
    // Asked for under the locks: a ref that was deleted since, and made again, is not in it.
    ParsedRefs packed = refs.reader().packed();
    NameConflicts.LocksAbove above = NameConflicts.LocksAbove.of(updater.paths(), held.names());
    for (int i = 0; i < held.names().size(); i++) {
      String name = held.names().get(i);
      Peeled value = values.get(name);
      if (value == null) {
        continue;
      }
      Ref now = refs.reader().loose().readFile(name);
      Ref then = packed.exactRef(name);
      if (now != null
          && !now.isSymbolic()
          && value.id.equals(now.getObjectId())
          && then != null
          && value.id.equals(then.getObjectId())
          && !above.isLocked(name)) {
        held.deleteLoose(i);
      }
    }
  }
}
