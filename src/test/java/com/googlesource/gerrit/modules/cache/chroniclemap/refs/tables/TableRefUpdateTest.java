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

import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsParity;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsSide;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
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
    Path git = folder.resolve(name);
    TestRefs made = TestRefs.createReftable(git, Map.of("core.logAllRefUpdates", true));
    RefObjects.insert(made.repository());
    return made;
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
      RefsSide mine = new RefsSide(refs, ours);
      RefsSide jgits = new RefsSide(others, jgit(others));
      for (int step = 0; step < 150; step++) {
        String change = change(random);
        String what = "seed " + seed + ", step " + step + ": " + change;
        assertWithMessage(what).that(mine.run(change)).isEqualTo(jgits.run(change));
        assertWithMessage(what).that(show(jgit(refs))).isEqualTo(show(jgit(others)));
      }
    }
  }

  private static String change(Random random) {
    List<String> names = List.of("HEAD", "a", "b", "refs/x", "refs/sym");
    List<String> values = List.of("A", "B", "C", "D");
    String name = names.get(random.nextInt(names.size()));
    String detached = random.nextBoolean() ? " detached" : "";
    String logged = random.nextBoolean() ? " message" : " result";
    String expected = random.nextInt(4) == 0 ? " expect " + values.get(random.nextInt(4)) : "";
    boolean isForced = random.nextBoolean();
    return switch (random.nextInt(5)) {
      case 0 -> "delete " + name + (isForced ? "" : " unforced") + detached + logged + expected;
      case 1 -> {
        String target = names.get(1 + random.nextInt(4));
        // Of a new link, JGit's reflog says FORCED.
        yield "link " + name + ' ' + target + detached + " message" + expected;
      }
      default -> {
        String to = name + ' ' + values.get(random.nextInt(4));
        yield (isForced ? "force " : "update ") + to + detached + logged + expected;
      }
    };
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
    make(names);
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
    make("refs/heads/d");
    assertThat(ours.getRefsByPrefix("refs/")).hasSize(2 * names.length + 1);
    assertThat(refs.lockFiles()).isEmpty();
  }

  /** Of a batch that is not atomic. */
  @Test
  void aRefusedCommandKeepsNoOtherFromItsRef() throws Exception {
    make("refs/heads/a", "refs/heads/b");
    ReceiveCommand stale = refs.command("refs/heads/a", 1, 0);
    ReceiveCommand good = refs.command("refs/heads/c", null, 0);
    ReceiveCommand other = refs.command("refs/heads/d", null, 0);
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
      assertThat(pushToSymbolicRef(new RefsSide(refs, ours)))
          .isEqualTo(pushToSymbolicRef(new RefsSide(files, files.repository().getRefDatabase())));
    }
  }

  private static List<String> pushToSymbolicRef(RefsSide side) throws Exception {
    RefObjects.insert(side.repository());
    assertThat(side.isDone("update a A; link s a")).isTrue();
    List<String> seen = new ArrayList<>();
    for (String commands : List.of("s A>B", "s A>C", "s B>C, b 0>C", "s B>0")) {
      seen.add(commands + " " + side.isDone("batch force: " + commands));
      seen.addAll(side.run("read a; read b; read s"));
    }
    return seen;
  }

  /** HEAD stays, as with JGit, and its log has what it was before. */
  @Test
  void headIsSetToTheZeroIdAsByJGit() throws Exception {
    try (TestRefs others = create("jgit.git")) {
      String steps = "update a A; link HEAD a; detach HEAD B message; detach HEAD 0 message";
      assertThat(new RefsSide(refs, ours).isDone(steps)).isTrue();
      assertThat(new RefsSide(others, jgit(others)).isDone(steps)).isTrue();
      List<String> shown = show(jgit(refs));
      assertThat(shown).isEqualTo(show(jgit(others)));
      assertThat(shown.get(0)).contains(ObjectId.zeroId().name());
    }
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
    assertThat(TestRefs.update(ours, "refs/heads/a", refs.id(0))).isEqualTo(RefUpdate.Result.NEW);
    Thread.currentThread().interrupt();
    List<ReflogEntry> entries = ours.getReflogReader("refs/heads/a").getReverseEntries();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(entries).hasSize(1);
    assertThat(TestRefs.update(ours, "refs/heads/b", refs.id(0))).isEqualTo(RefUpdate.Result.NEW);
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
    make("refs/heads/a", "refs/heads/b");
    ReceiveCommand move = refs.command("refs/heads/a", 0, 1);
    assertThat(TestRefs.batch(refs.repository(), ours, move)).isTrue();
    // An old object that there is not has JGit fail before it looks for the ref.
    ObjectId missing = ObjectId.fromString("1234567890".repeat(4));
    ReceiveCommand stale = new ReceiveCommand(missing, refs.id(1), "refs/heads/a");
    BatchRefUpdate batch = ours.newBatchUpdate();
    batch.setAllowNonFastForwards(false);
    batch.addCommand(stale);
    TestRefs.execute(refs.repository(), batch);
    assertThat(stale.getResult()).isEqualTo(ReceiveCommand.Result.LOCK_FAILURE);
    assertThat(refs.lockFiles()).isEmpty();
  }

  private void make(String... names) throws IOException {
    ReceiveCommand[] commands =
        Arrays.stream(names)
            .map(name -> refs.command(name, null, 0))
            .toArray(ReceiveCommand[]::new);
    assertThat(TestRefs.batch(refs.repository(), ours, commands)).isTrue();
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
