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

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static org.eclipse.jgit.lib.Ref.Storage.NEW;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsParity;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.Warnings;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.eclipse.jgit.internal.storage.file.FileReftableDatabase;
import org.eclipse.jgit.lib.AnyObjectId;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.ReflogEntry;
import org.eclipse.jgit.lib.ReflogReader;
import org.eclipse.jgit.revwalk.RevObject;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Updates of single refs in reftables. */
class TableRefUpdateTest {
  private static final int THREADS = 8;

  @TempDir Path folder;
  private final JGitFallbacks failures = new JGitFallbacks();
  @AutoClose private TestRefs refs;
  private RefDatabase ours;

  @BeforeEach
  void create() throws IOException {
    refs = create("r.git");
    ours = refs.tables(failures);
  }

  private TestRefs create(String name) throws IOException {
    return TestRefs.createReftable(folder.resolve(name), Map.of("core.logAllRefUpdates", true));
  }

  private static FileReftableDatabase jgit(TestRefs refs) {
    return (FileReftableDatabase) refs.repository().getRefDatabase();
  }

  /** JGit's own updates fail here, most of them, and some are lost. */
  @Test
  void manyThreadsUpdateAtOnce() throws Exception {
    Map<String, String> expected = new ConcurrentSkipListMap<>();
    Threads.together(THREADS, writer -> expected.putAll(write(refs, ours, writer)));
    assertThat(refs.refsOfGit()).isEqualTo(expected);
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  /** Returns what there must be then. */
  private static Map<String, String> write(TestRefs refs, RefDatabase ours, int writer)
      throws IOException {
    Random random = new Random(writer);
    Map<String, String> expected = new TreeMap<>();
    for (int i = 0; i < 150; i++) {
      String name = String.format(Locale.ROOT, "refs/heads/%d/%d", writer, random.nextInt(20));
      ObjectId id = refs.id(random.nextInt(5));
      Ref before = ours.exactRef(name);
      assertThat(before == null ? null : before.getObjectId().name()).isEqualTo(expected.get(name));
      boolean isDone;
      if (random.nextInt(3) == 0) {
        ObjectId old = before == null ? ObjectId.zeroId() : before.getObjectId();
        isDone = TestRefs.batch(refs.repository(), ours, new ReceiveCommand(old, id, name));
        expected.put(name, id.name());
      } else if (before != null && random.nextBoolean()) {
        isDone = TestRefs.delete(ours, name) == RefUpdate.Result.FORCED;
        expected.remove(name);
      } else {
        isDone = TestRefs.force(ours, name, id) != RefUpdate.Result.LOCK_FAILURE;
        expected.put(name, id.name());
      }
      assertWithMessage("step " + i + " of writer " + writer).that(isDone).isTrue();
    }
    return expected;
  }

  /** The same steps in two repositories, in one of them by JGit alone. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void resultsAreThoseOfJGit(long seed) throws Exception {
    try (TestRefs others = create("jgit.git")) {
      Random random = new Random(seed);
      for (int step = 0; step < 150; step++) {
        long same = random.nextLong();
        String what = "seed " + seed + ", step " + step;
        String mine = change(refs, ours, new Random(same));
        String jgits = change(others, jgit(others), new Random(same));
        assertWithMessage(what).that(mine).isEqualTo(jgits);
        assertWithMessage(what + ": " + mine).that(show(jgit(refs))).isEqualTo(show(jgit(others)));
      }
    }
  }

  /** Without an old id that was expected, each is made, one after the other. */
  @Test
  void aForcedUpdateIsMadeThoughItsRefHasChangedSinceItWasRead() throws Exception {
    List<ObjectId> ids = refs.commits();
    assertThat(TestRefs.update(ours, "refs/heads/a", ids.get(0))).isEqualTo(RefUpdate.Result.NEW);
    AtomicBoolean isOver = new AtomicBoolean();
    RefUpdate update = TestRefs.forced(ours, "refs/heads/a", ids.get(1));
    try (RevWalk others =
        new RevWalk(refs.repository()) {
          @Override
          public RevObject parseAny(AnyObjectId id) throws IOException {
            if (!isOver.getAndSet(true)) { // the ref was read by now
              assertThat(TestRefs.forced(ours, "refs/heads/a", ids.get(2)).update())
                  .isEqualTo(RefUpdate.Result.FORCED);
            }
            return super.parseAny(id);
          }
        }) {
      assertThat(update.update(others)).isEqualTo(RefUpdate.Result.FORCED);
    }
    assertThat(isOver.get()).isTrue();
    assertThat(update.getOldObjectId()).isEqualTo(ids.get(2));
    assertThat(ours.exactRef("refs/heads/a").getObjectId()).isEqualTo(ids.get(1));
  }

  /** On a busy machine one may be refused, but only after it was tried for as long as promised. */
  @Test
  void forcedUpdatesOfOneRefAllSucceed() throws Exception {
    Threads.together(
        2,
        first -> {
          for (int k = 0; k < 100; k++) {
            RefUpdate update = TestRefs.forced(ours, "refs/heads/a", refs.id((first + k) % 5));
            long begun = System.nanoTime();
            if (update.update() == RefUpdate.Result.LOCK_FAILURE) {
              assertThat(System.nanoTime() - begun).isAtLeast(TableBatchUpdate.MAX_TRIED.toNanos());
            } else {
              assertThat(update.getResult())
                  .isAnyOf(
                      RefUpdate.Result.NEW, RefUpdate.Result.FORCED, RefUpdate.Result.NO_CHANGE);
            }
          }
        });
  }

  @Test
  void aNameThatConflictsIsRefused() throws Exception {
    assertThat(TestRefs.update(ours, "refs/heads/a", refs.id(0))).isEqualTo(RefUpdate.Result.NEW);
    assertThat(TestRefs.update(ours, "refs/heads/a/b", refs.id(0)))
        .isEqualTo(RefUpdate.Result.LOCK_FAILURE);
    // JGit alone makes that ref, since it only looks at the name of the symbolic one.
    assertThat(ours.newUpdate("refs/sym", false).link("refs/heads/a/b"))
        .isEqualTo(RefUpdate.Result.NEW);
    assertThat(TestRefs.update(ours, "refs/sym", refs.id(0)))
        .isEqualTo(RefUpdate.Result.LOCK_FAILURE);
  }

  /** As git does, once it has compacted the same tables. JGit's compaction fails then. */
  @Test
  void aTableThatGitDeletesDuringACompactionIsNoFailure() throws Exception {
    ObjectId id = refs.id(0);
    String[] names = new String[40];
    Arrays.setAll(names, i -> String.format(Locale.ROOT, "refs/heads/%03d", i));
    create(refs, ours, true, names);
    Path list = refs.folder().resolve("reftable/tables.list");
    String small = Files.readAllLines(list).getLast();
    try (NewestTables tables = new NewestTables(refs.repository(), list.toFile());
        Warnings warnings = new Warnings("tables.NewestTables")) {
      long index = tables.openMergedReftable().maxUpdateIndex() + 1;
      assertThat(
              tables.add(
                  writer -> {
                    writer.setMinUpdateIndex(index).setMaxUpdateIndex(index).begin();
                    // As much as the table below, so that JGit compacts both.
                    for (String name : names) {
                      String other = name.replace("heads", "tests");
                      writer.writeRef(new ObjectIdRef.PeeledNonTag(NEW, other, id));
                    }
                    Files.delete(list.resolveSibling(small));
                  }))
          .isTrue();
      assertThat(warnings.texts).isEmpty();
    }
    assertThat(Files.readAllLines(list)).doesNotContain(small);
    create(refs, ours, true, "refs/heads/d");
    assertThat(ours.getRefsByPrefix("refs/")).hasSize(2 * names.length + 1);
    assertThat(refs.lockFiles()).isEmpty();
  }

  /** Of a batch that is not atomic. */
  @Test
  void aRefusedCommandKeepsNoOtherFromItsRef() throws Exception {
    ObjectId first = refs.id(0);
    create(refs, ours, true, "refs/heads/a", "refs/heads/b");
    ReceiveCommand stale = new ReceiveCommand(refs.id(1), first, "refs/heads/a");
    ReceiveCommand good = new ReceiveCommand(ObjectId.zeroId(), first, "refs/heads/c");
    ReceiveCommand other = new ReceiveCommand(ObjectId.zeroId(), first, "refs/heads/d");
    BatchRefUpdate batch = ours.newBatchUpdate();
    batch.setAllowNonFastForwards(true);
    batch.setAtomic(false);
    batch.addCommand(stale, good, other);
    TestRefs.execute(refs.repository(), batch);
    assertThat(stale.getResult()).isEqualTo(ReceiveCommand.Result.LOCK_FAILURE);
    assertThat(good.getResult()).isEqualTo(ReceiveCommand.Result.OK);
    assertThat(other.getResult()).isEqualTo(ReceiveCommand.Result.OK);
    assertThat(refs.lockFiles()).isEmpty();
  }

  /** As pushes to symbolic branches do. */
  @Test
  void commandsForSymbolicRefsDoWhatTheyDoInFiles() throws Exception {
    try (TestRefs files = TestRefs.create(folder.resolve("files.git"), null)) {
      assertThat(pushToSymbolicRef(refs, ours))
          .isEqualTo(pushToSymbolicRef(files, files.repository().getRefDatabase()));
    }
  }

  private static List<String> pushToSymbolicRef(TestRefs refs, RefDatabase by) throws IOException {
    List<String> seen = new ArrayList<>();
    List<ObjectId> ids = refs.commits();
    create(refs, by, false, "refs/heads/a");
    assertThat(by.newUpdate("refs/heads/s", false).link("refs/heads/a"))
        .isEqualTo(RefUpdate.Result.NEW);
    ObjectId zero = ObjectId.zeroId();
    for (List<ReceiveCommand> commands :
        List.of(
            List.of(new ReceiveCommand(ids.get(0), ids.get(1), "refs/heads/s")),
            List.of(new ReceiveCommand(ids.get(0), ids.get(2), "refs/heads/s")),
            List.of(
                new ReceiveCommand(ids.get(1), ids.get(2), "refs/heads/s"),
                new ReceiveCommand(zero, ids.get(2), "refs/heads/b")),
            List.of(new ReceiveCommand(ids.get(1), zero, "refs/heads/s")))) {
      boolean isDone =
          TestRefs.batch(refs.repository(), by, commands.toArray(ReceiveCommand[]::new));
      for (String name : List.of("refs/heads/a", "refs/heads/b", "refs/heads/s")) {
        Ref ref = by.exactRef(name);
        seen.add(
            isDone
                + " "
                + name
                + (ref == null
                    ? ""
                    : ref.isSymbolic() + ref.getLeaf().getName() + ref.getObjectId()));
      }
    }
    return seen;
  }

  /** HEAD stays, as with JGit, and its log has what it was before. */
  @Test
  void headIsSetToTheZeroIdAsByJGit() throws Exception {
    try (TestRefs others = create("jgit.git")) {
      List<String> shown = setHeadToZero(refs, ours);
      assertThat(shown).isEqualTo(setHeadToZero(others, jgit(others)));
      assertThat(shown.get(0)).contains(ObjectId.zeroId().name());
    }
  }

  private static List<String> setHeadToZero(TestRefs refs, RefDatabase by) throws IOException {
    create(refs, by, false, "refs/heads/a");
    assertThat(by.newUpdate("HEAD", false).link("refs/heads/a")).isEqualTo(RefUpdate.Result.NEW);
    for (ObjectId id : List.of(refs.id(1), ObjectId.zeroId())) {
      RefUpdate update = by.newUpdate("HEAD", true);
      update.setForceUpdate(true);
      update.setNewObjectId(id);
      update.setRefLogMessage("said", false);
      assertThat(update.update()).isEqualTo(RefUpdate.Result.FORCED);
    }
    return show(jgit(refs));
  }

  /** JGit alone closes its tables, and cannot update anything from then on. */
  @Test
  void anInterruptedThreadUpdates() throws Exception {
    if (RefsParity.IS_NEWEST_JGIT) {
      // It reads no object in an interrupted thread, and so makes no update; others are made.
      Thread.currentThread().interrupt();
      ObjectId id = refs.id(0);
      assertThrows(InterruptedIOException.class, () -> TestRefs.update(ours, "refs/heads/a", id));
      boolean unused = Thread.interrupted();
      assertThat(TestRefs.update(ours, "refs/heads/a", id)).isEqualTo(RefUpdate.Result.NEW);
      return;
    }
    for (int i = 0; i < 3; i++) {
      Thread.currentThread().interrupt();
      RefUpdate.Result result = TestRefs.update(ours, "refs/heads/" + i, refs.id(0));
      assertThat(Thread.interrupted()).isTrue();
      assertThat(result).isEqualTo(RefUpdate.Result.NEW);
    }
  }

  /** As an SSH client that goes away interrupts its command. */
  @Test
  void aReaderOfReflogsMayBeInterrupted() throws Exception {
    create(refs, ours, false, "refs/heads/a");
    Thread.currentThread().interrupt();
    List<ReflogEntry> entries = ours.getReflogReader("refs/heads/a").getReverseEntries();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(entries).hasSize(1);
    create(refs, ours, false, "refs/heads/b");
  }

  /** A listener is called with JGit's lock. JGit may refuse its update, but nothing hangs. */
  @Test
  void aListenerThatUpdatesRefsDoesNotHang() throws Exception {
    List<String> updated = new ArrayList<>();
    refs.repository()
        .getListenerList()
        .addRefsChangedListener(
            event -> {
              if (updated.isEmpty()) {
                updated.add("refs/heads/b");
                try {
                  updated.add(TestRefs.update(ours, "refs/heads/b", refs.id(0)).toString());
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              }
            });
    assertThat(TestRefs.update(ours, "refs/heads/a", refs.id(0))).isEqualTo(RefUpdate.Result.NEW);
    assertThat(updated).hasSize(2);
    assertThat(ours.exactRef("refs/heads/a")).isNotNull();
  }

  /** What somebody else has made is not reported as made by an update that has failed. */
  @Test
  void anUpdateThatWasNotMadeIsRefused() throws Exception {
    ObjectId first = refs.id(0);
    ObjectId second = refs.id(1);
    create(refs, ours, true, "refs/heads/a", "refs/heads/b");
    assertThat(
            TestRefs.batch(
                refs.repository(), ours, new ReceiveCommand(first, second, "refs/heads/a")))
        .isTrue();
    // An old object that there is not has JGit fail before it looks for the ref.
    ReceiveCommand stale =
        new ReceiveCommand(
            ObjectId.fromString("1234567890123456789012345678901234567890"),
            second,
            "refs/heads/a");
    BatchRefUpdate batch = ours.newBatchUpdate();
    batch.setAllowNonFastForwards(false);
    batch.addCommand(stale);
    TestRefs.execute(refs.repository(), batch);
    assertThat(stale.getResult()).isEqualTo(ReceiveCommand.Result.LOCK_FAILURE);
    assertThat(refs.lockFiles()).isEmpty();
  }

  private static void create(TestRefs refs, RefDatabase by, boolean asBatch, String... names)
      throws IOException {
    ObjectId id = refs.id(0);
    List<ReceiveCommand> commands = new ArrayList<>();
    for (String name : names) {
      if (asBatch) {
        commands.add(new ReceiveCommand(ObjectId.zeroId(), id, name));
      } else {
        assertThat(TestRefs.update(by, name, id)).isEqualTo(RefUpdate.Result.NEW);
      }
    }
    assertThat(TestRefs.batch(refs.repository(), by, commands.toArray(ReceiveCommand[]::new)))
        .isTrue();
  }

  private static String change(TestRefs refs, RefDatabase by, Random random) throws IOException {
    List<String> names = List.of("HEAD", "refs/heads/a", "refs/heads/b", "refs/x", "refs/sym");
    String name = names.get(random.nextInt(names.size()));
    boolean detaches = random.nextBoolean();
    RefUpdate update = by.newUpdate(name, detaches);
    update.setForceUpdate(random.nextBoolean());
    update.setRefLogMessage("said " + random.nextInt(10), random.nextBoolean());
    if (random.nextInt(4) == 0) {
      update.setExpectedOldObjectId(refs.id(random.nextInt(5)));
    }
    String result;
    try (RevWalk walk = new RevWalk(refs.repository())) {
      switch (random.nextInt(5)) {
        case 0 ->
            result = "delete " + (random.nextBoolean() ? update.delete() : update.delete(walk));
        case 1 -> {
          // Of a new link, JGit's reflog says FORCED.
          update.setRefLogMessage("linked", false);
          result = "link " + update.link(names.get(1 + random.nextInt(names.size() - 1)));
        }
        default -> {
          update.setNewObjectId(refs.id(random.nextInt(5)));
          result = "update " + (random.nextBoolean() ? update.update() : update.update(walk));
        }
      }
    }
    return String.format(
        Locale.ROOT, "%s detach %b %s, old %s", name, detaches, result, update.getOldObjectId());
  }

  private static List<String> show(FileReftableDatabase refs) throws IOException {
    List<String> shown = new ArrayList<>();
    refs.refresh();
    for (String name : List.of("HEAD", "refs/heads/a", "refs/heads/b", "refs/x", "refs/sym")) {
      shown.add(name + " " + refs.exactRef(name));
      ReflogReader log = refs.getReflogReader(name);
      for (ReflogEntry entry : log == null ? List.<ReflogEntry>of() : log.getReverseEntries()) {
        shown.add(entry.getOldId() + " " + entry.getNewId() + " " + entry.getComment());
      }
    }
    refs.getRefs().forEach(ref -> shown.add(ref.toString()));
    return shown;
  }
}
