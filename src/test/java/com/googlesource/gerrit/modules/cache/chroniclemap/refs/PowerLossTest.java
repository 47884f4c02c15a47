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

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.RefDatabase;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The machine loses its power before each step of several changes, and the disk has any mixture of
 * old and new that {@link UnsyncedDisk} allows.
 *
 * <p>With {@code core.fsyncRefFiles} whoever opens the repository then must find all refs old or
 * all new, and new once the change was acknowledged. Without it nobody can promise that, but no ref
 * may be given a value that the disk does not have for it: opening the repository changes none.
 *
 * <p>{@code -Drefs.power=50} tries so many mixtures for each step, and {@code -Drefs.power.seed=7}
 * other ones.
 */
@Timeout(600)
class PowerLossTest {
  private static final int MIXTURES = Integer.getInteger("refs.power", 2);
  private static final long SEED = Long.getLong("refs.power.seed", 1);

  @TempDir(factory = InMemory.class)
  Path folder;

  private final Random random = new Random(SEED);
  private int maxLooseBatch = 1000;
  @AutoClose private TestRefs test;
  private UnsyncedDisk disk;
  private RefDatabase refs;

  /** What the disk may have before a step. */
  private record Left(
      String before, boolean isAcknowledged, List<Map<Path, UnsyncedDisk.Left>> disks) {}

  private final List<Left> left = new CopyOnWriteArrayList<>();

  /** What the disk may have before steps of this change: by whether the change was acknowledged. */
  private final Map<Boolean, Set<Map<Path, UnsyncedDisk.Left>>> known = new ConcurrentHashMap<>();

  private void make(boolean durable) throws Exception {
    test = TestRefs.createWith(folder.resolve("a.git"), Map.of("core.fsyncRefFiles", durable));
    RefObjects.insert(test.repository());
    test.writePacked(RefObjects.A, "refs/heads/packed");
    disk = new UnsyncedDisk(test.folder(), step -> lose(step, false));
    refs = test.database(disk, maxLooseBatch, 0);
  }

  private void lose(String before, boolean isAcknowledged) {
    List<Map<Path, UnsyncedDisk.Left>> disks = new ArrayList<>();
    disks.add(disk.leave(versions -> 0));
    disks.add(disk.leave(versions -> versions - 1));
    int undecided = disk.undecided();
    if (undecided > 1) {
      for (int i = 0; i < MIXTURES; i++) {
        disks.add(disk.leave(random::nextInt));
        // Nearly all is old, or nearly all is new.
        disks.add(disk.leave(versions -> random.nextInt(undecided) == 0 ? versions - 1 : 0));
        disks.add(disk.leave(versions -> random.nextInt(undecided) == 0 ? 0 : versions - 1));
      }
    }
    Set<Map<Path, UnsyncedDisk.Left>> seen =
        known.computeIfAbsent(isAcknowledged, key -> ConcurrentHashMap.newKeySet());
    left.add(new Left(before, isAcknowledged, disks.stream().filter(seen::add).toList()));
  }

  private interface Check {
    void check(String when, Left after, Path copy) throws Exception;
  }

  private void make(String what, Threads.Act change, Check check) throws Exception {
    left.clear();
    known.clear();
    change.run();
    // The upkeep of locks may take a step of its own at any time.
    UnsyncedDisk used = disk;
    synchronized (used) {
      used.changed();
      lose("all is over", true);
    }
    for (Left each : left) {
      for (int i = 0; i < each.disks.size(); i++) {
        Path copy = folder.resolve("copy.git");
        used.copy(each.disks.get(i), copy);
        String when = what + ", before " + each.before + ", mixture " + i;
        List<Path> locks = locks(copy);
        check.check(when, each, copy);
        for (Path lock : locks) {
          assertWithMessage("%s", when).that(Files.exists(lock)).isFalse();
        }
        MoreFiles.deleteRecursively(copy, RecursiveDeleteOption.ALLOW_INSECURE);
      }
    }
  }

  /** Those whose transaction's text is there too. */
  private static List<Path> locks(Path repository) throws IOException {
    List<Path> locks = new ArrayList<>();
    try (Stream<Path> files = Files.walk(repository.resolve("refs"))) {
      for (Path file : files.filter(each -> each.toString().endsWith(".lock")).toList()) {
        if (Files.size(file) > 0
            && (int) Files.getAttribute(file, "unix:nlink") > names(repository, file)) {
          locks.add(file);
        }
      }
    }
    return locks;
  }

  /** How many names among the refs and locks lead to one file. */
  private static int names(Path repository, Path file) throws IOException {
    int names = 0;
    try (Stream<Path> files = Files.walk(repository.resolve("refs"))) {
      for (Path each : files.toList()) {
        names += Files.isSameFile(each, file) ? 1 : 0;
      }
    }
    Path packed = repository.resolve("packed-refs.lock");
    return names + (Files.exists(packed) && Files.isSameFile(packed, file) ? 1 : 0);
  }

  /** Makes a change that is to survive, and looks what is left if the power goes in each step. */
  private void change(String what, Threads.Act change) throws Exception {
    change(what, null, change);
  }

  /** The same; {@code instead} may be there too where the change fails; null where it must not. */
  private void change(String what, @Nullable Map<String, String> instead, Threads.Act change)
      throws Exception {
    Map<String, String> before = TestRefs.values(refs);
    make(
        what,
        change,
        (when, after, copy) -> {
          try (TestRefs opened = TestRefs.open(copy)) {
            Map<String, String> found =
                TestRefs.values(opened.database(new RefDisk(), maxLooseBatch, 0));
            if (instead == null && after.isAcknowledged) {
              assertWithMessage(when).that(found).isEqualTo(TestRefs.values(refs));
            } else {
              assertWithMessage(when).that(found).isAnyOf(before, TestRefs.values(refs), instead);
            }
          }
        });
  }

  /** Makes a change of which nothing is synced: opening what is left must change no ref. */
  private void changeUnsynced(String what, Threads.Act change) throws Exception {
    make(
        what,
        change,
        (when, after, copy) -> {
          Map<String, String> before = files(copy);
          try (TestRefs opened = TestRefs.open(copy)) {
            RefDatabase database = opened.database(new RefDisk(), maxLooseBatch, 0);
            try {
              TestRefs.values(database);
            } catch (IOException e) {
              // A ref's file that is empty, as git and JGit leave one too.
            }
          }
          assertWithMessage(when).that(files(copy)).isEqualTo(before);
        });
  }

  /** All files of refs, but for locks. */
  private static Map<String, String> files(Path repository) throws IOException {
    Map<String, String> contents = new TreeMap<>();
    try (Stream<Path> files = Files.walk(repository)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        String name = repository.relativize(file).toString();
        if (!name.endsWith(".lock")
            && (name.startsWith("refs/") || name.equals("packed-refs") || name.equals("HEAD"))) {
          contents.put(name, Files.readString(file, UTF_8));
        }
      }
    }
    return contents;
  }

  /** A change in words that is made, and told so. */
  private Threads.Act of(String steps) {
    return () -> assertThat(new RefsSide(test, refs).isDone(steps)).isTrue();
  }

  private interface Changes {
    void change(String what, Threads.Act change) throws Exception;
  }

  private void makeChanges(Changes changes) throws Exception {
    for (String steps :
        List.of(
            "batch: a 0>C, b 0>C",
            "force a D expect C",
            "batch force: a D>B, b C>B",
            "batch force: a B>C, b B>D",
            "force b A expect D",
            "update c A expect 0",
            "batch: refs/changes/01/1/1 0>B, refs/changes/01/1/meta 0>C", // in new folders
            "batch force: a C>B, b A>0, c A>D, packed A>0", // all kinds
            "force a D expect B",
            "update b D expect 0", // which was deleted
            "pack",
            "delete c expect D",
            "batch force: a D>A, b D>A")) {
      changes.change(steps, of(steps));
    }
  }

  @Test
  void changesThatAreAcknowledgedAreThere() throws Exception {
    make(true);
    makeChanges(this::change);
  }

  /** Loose files that were packed for it and deleted, unsynced, would hide the new lines. */
  @Test
  void aRewriteThatIsAcknowledgedIsThere() throws Exception {
    maxLooseBatch = 0;
    make(true);
    for (String steps :
        List.of("update a C", "update b C", "batch force: a C>D, b C>D", "batch: a D>0, b D>0")) {
      change(steps, of(steps));
    }
  }

  /** What was decided and not synced must not be put over what came after it. */
  @Test
  void whatWasNotSyncedRewindsNoRef() throws Exception {
    make(false);
    makeChanges(this::changeUnsynced);
  }

  /** All is on disk that a decision needs, and then something can't be: the batch fails. */
  @Test
  void aBatchWhoseSyncFailsIsAllOldOrAllNew() throws Exception {
    make(true);
    change("before", of("batch: a 0>C, b 0>C"));
    for (String broken : List.of(".1", "cache-chroniclemap", "heads")) {
      Map<String, String> failed = TestRefs.values(refs);
      failed.put("refs/heads/a", RefObjects.D.name());
      failed.put("refs/heads/b", RefObjects.D.name());
      change(
          broken + " can't be synced",
          failed,
          () -> {
            disk.broken = broken;
            assertThat(new RefsSide(test, refs).isDone("batch force: a C>D, b C>D")).isFalse();
            disk.broken = "none";
          });
    }
  }
}
