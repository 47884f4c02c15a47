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
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.InMemory;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.Writer;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.zip.CRC32;
import org.eclipse.jgit.internal.JGitText;
import org.eclipse.jgit.internal.storage.file.FileReftableDatabase;
import org.eclipse.jgit.internal.storage.io.BlockSource;
import org.eclipse.jgit.internal.storage.reftable.ReftableConfig;
import org.eclipse.jgit.internal.storage.reftable.ReftableReader;
import org.eclipse.jgit.internal.storage.reftable.ReftableWriter;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.PersonIdent;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reftables that others write, compact and replace: native git, alone and in turn with JGit. */
class TablesOfGitTest {
  @TempDir(factory = InMemory.class)
  Path folder;

  private final JGitFallbacks failures = new JGitFallbacks();

  @AutoClose private TestRefs refs;
  private RefDatabase ours;

  private void create(int blockSize) throws IOException {
    create(Map.of("reftable.blockSize", blockSize, "reftable.autoRefresh", true));
  }

  /** By JGit's default settings its own stack does not see what others write. */
  private void create(Map<String, ?> config) throws IOException {
    refs = TestRefs.createReftable(folder.resolve("r.git"), config);
    ours = refs.tables(failures);
  }

  // ---- updates while git writes

  private boolean isUpdated(boolean asBatch, ObjectId from, ObjectId to) throws IOException {
    String name = "refs/heads/master";
    if (asBatch) {
      return TestRefs.batch(refs.repository(), ours, new ReceiveCommand(from, to, name));
    }
    return TestRefs.force(ours, name, from, to) != RefUpdate.Result.LOCK_FAILURE;
  }

  /** A table of reflogs alone that JGit takes for refs, as it does by the chance of one byte. */
  private static byte[] tableThatJGitMisreads(long index, ObjectId id) throws Exception {
    PersonIdent who = new PersonIdent("a", "a@b.c");
    for (int seed = 0; ; seed++) {
      ReftableConfig config = new ReftableConfig();
      config.setRefBlockSize(256);
      config.setLogBlockSize(256);
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      ReftableWriter writer = new ReftableWriter(config, out);
      writer.setMinUpdateIndex(index).setMaxUpdateIndex(index).begin();
      for (int i = 100; i < 130; i++) {
        writer.writeLog("refs/heads/" + i, index, who, id, id, "log " + seed * i);
      }
      writer.finish();
      // Git says 0 of a log at the start, where JGit says 24. The footer has the place of the log
      // at 48, and its CRC-32 at 64.
      ByteBuffer table = ByteBuffer.wrap(out.toByteArray());
      int footer = table.capacity() - 68;
      table.putLong(footer + 48, 0);
      CRC32 crc = new CRC32();
      crc.update(table.array(), footer, 64);
      table.putInt(footer + 64, (int) crc.getValue());
      try (ReftableReader reader = new ReftableReader(BlockSource.from(table.array()))) {
        var unused = reader.exactRef("HEAD");
      } catch (IOException e) {
        assertThat(e).hasMessageThat().isEqualTo(JGitText.get().invalidReftableBlock);
        return table.array();
      } catch (IndexOutOfBoundsException e) {
        // What JGit takes for a block may as well have such numbers: the next seed may not.
      }
    }
  }

  /** Adds such a table as the newest one, and returns its file. */
  private Path addTableThatJGitMisreads(ObjectId id) throws Exception {
    Path list = refs.folder().resolve("reftable/tables.list");
    Path table = list.resolveSibling("0x0000000003e8-0x0000000003e8-00000000.ref");
    Files.write(table, tableThatJGitMisreads(/* index= */ 1000, id));
    Files.writeString(list, Files.readString(list) + table.getFileName() + "\n");
    return table;
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void refsAreUpdatedThoughJGitTakesALogForRefs(boolean packs) throws Exception {
    create(256);
    ObjectId id = refs.id(0);
    refs.git("update-ref", "refs/heads/a", id.name());
    addTableThatJGitMisreads(id);
    RefDatabase jgit = refs.peerRepository().getRefDatabase();
    assertThrows(IOException.class, () -> jgit.exactRef("refs/heads/a"));
    assertThat(ours.exactRef("refs/heads/a").getObjectId()).isEqualTo(id);
    if (packs) {
      refs.pack(ours);
    }
    assertThat(TestRefs.update(ours, "refs/heads/b", id)).isEqualTo(RefUpdate.Result.NEW);
    assertThat(jgit.exactRef("refs/heads/b").getObjectId()).isEqualTo(id);
    assertThat(TestRefs.values(ours)).isEqualTo(refs.refsOfGit());
  }

  /** Another process, which compacts as well, keeps JGit from the compaction that would help. */
  @Test
  void anUpdateWaitsForTheCompactionThatOthersPrevent() throws Exception {
    create(256);
    ObjectId id = refs.id(0);
    refs.git("update-ref", "refs/heads/a", id.name());
    Path table = addTableThatJGitMisreads(id);
    Path lock = Files.createFile(table.resolveSibling(table.getFileName() + ".lock"));
    RefUpdate update = ours.newUpdate("refs/heads/b", false);
    update.setNewObjectId(id);
    FutureTask<RefUpdate.Result> updated = new FutureTask<>(update::update);
    Thread thread = Thread.ofPlatform().daemon().start(updated);
    while (thread.isAlive() && !isPausing(thread)) {
      Thread.onSpinWait();
    }
    Files.delete(lock);
    assertThat(updated.get()).isEqualTo(RefUpdate.Result.NEW);
    RefDatabase jgit = refs.peerRepository().getRefDatabase();
    assertThat(jgit.exactRef("refs/heads/b").getObjectId()).isEqualTo(id);
  }

  private static boolean isPausing(Thread thread) {
    return Arrays.stream(thread.getStackTrace())
        .anyMatch(frame -> frame.getMethodName().equals("sleepUninterruptibly"));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anUpdateIsRefusedOnlyIfItsRefHasChanged(boolean asBatch) throws Exception {
    create(Map.of());
    List<ObjectId> ids = refs.commits();
    assertThat(isUpdated(asBatch, ObjectId.zeroId(), ids.get(0))).isTrue();
    refs.git("update-ref", "refs/heads/other", ids.get(1).name());
    assertThat(isUpdated(asBatch, ids.get(0), ids.get(1))).isTrue();
    refs.git("update-ref", "refs/heads/master", ids.get(2).name());
    assertThat(isUpdated(asBatch, ids.get(1), ids.get(3))).isFalse();
    assertThat(ours.exactRef("refs/heads/master").getObjectId()).isEqualTo(ids.get(2));
    assertThat(isUpdated(asBatch, ids.get(2), ids.get(3))).isTrue();
    assertThat(refs.refsOfGit())
        .containsExactly(
            "refs/heads/master", ids.get(3).name(), "refs/heads/other", ids.get(1).name());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aLockedListIsWaitedFor(boolean asBatch) throws Exception {
    create(Map.of());
    ObjectId id = refs.id(0);
    Path lock = Files.createFile(refs.folder().resolve("reftable/tables.list.lock"));
    assertThat(isUpdated(asBatch, ObjectId.zeroId(), id)).isFalse();
    FutureTask<Boolean> update = new FutureTask<>(() -> isUpdated(asBatch, ObjectId.zeroId(), id));
    Thread thread = Thread.ofPlatform().start(update);
    // It pauses when it has found the lock.
    while (thread.getState() != Thread.State.TIMED_WAITING && !update.isDone()) {
      Thread.onSpinWait();
    }
    Files.delete(lock);
    assertThat(update.get()).isTrue();
  }

  /** Pushes name the id that they replace. */
  @Test
  void noUpdateIsRefusedBesideALoopOfGit() throws Exception {
    create(Map.of());
    AtomicInteger loops = new AtomicInteger();
    AtomicReference<String> last = new AtomicReference<>();
    AtomicReference<ObjectId> now = new AtomicReference<>(ObjectId.zeroId());
    Threads.meanwhile(
        1,
        thread -> {
          int i = loops.getAndIncrement();
          // Git may be refused: it waits for a tenth of a second.
          String id = refs.id(i % 5).name();
          if (refs.tryGit("update-ref", "refs/heads/other", id).status() == 0) {
            last.set(id);
          }
          if (i % 7 == 6) {
            TestRefs.Output unused = refs.tryGit("pack-refs", "--all");
          }
        },
        () -> {
          for (int i = 0; i < 100; i++) {
            ObjectId next = refs.id(i % 5);
            assertThat(isUpdated(i % 2 == 0, now.get(), next)).isTrue();
            now.set(next);
          }
        });
    assertThat(refs.refsOfGit())
        .containsExactly("refs/heads/master", now.get().name(), "refs/heads/other", last.get());
  }

  // ---- compaction

  @Test
  void readersMissNothingWhileGitAndJGitCompact() throws Exception {
    create(1024);
    StringBuilder input = new StringBuilder();
    String id = refs.id(0).name();
    for (int i = 0; i < 3000; i++) {
      input.append(
          String.format(Locale.ROOT, "create refs/changes/%02d/%d/1 %s%n", i % 100, i, id));
    }
    refs.gitWith(input.toString(), "update-ref", "--stdin");
    FileReftableDatabase jgit = (FileReftableDatabase) refs.peerRepository().getRefDatabase();
    Threads.meanwhile(
        2,
        thread -> {
          assertThat(ours.exactRef("refs/changes/07/7/1")).isNotNull();
          assertThat(ours.getRefsByPrefix("refs/changes/00/")).hasSize(30);
        },
        () -> {
          for (int i = 0; i < 60; i++) {
            String name = "refs/heads/b" + i % 7;
            refs.git("update-ref", name, refs.id(i % 5).name());
            if (i % 3 == 0) {
              jgit.refresh();
              jgit.compactFully();
            } else if (i % 3 == 1) {
              refs.git("pack-refs", "--all");
            }
          }
        });
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  // ---- tables that are replaced while they are read

  private static final String ALWAYS = "refs/heads/always";

  /** So many that their table is mapped. */
  private static final int MANY = 2000;

  private TablesFile file;

  private void createMapped() throws IOException {
    create(Map.of());
    List<ReceiveCommand> commands = new ArrayList<>();
    commands.add(refs.command(ALWAYS, null, 0));
    for (int i = 0; i < MANY; i++) {
      String name = String.format(Locale.ROOT, "refs/changes/%02d/%d/1", i % 100, i);
      commands.add(refs.command(name, null, 0));
    }
    assertThat(TestRefs.batch(refs.repository(), jgit(), commands.toArray(new ReceiveCommand[0])))
        .isTrue();
    jgit().compactFully();
    file = new TablesFile(refs.folder().resolve("reftable"));
  }

  private FileReftableDatabase jgit() {
    return (FileReftableDatabase) refs.repository().getRefDatabase();
  }

  private void update(String name, int commit) throws IOException {
    assertThat(TestRefs.force(jgit(), name, refs.id(commit)))
        .isAnyOf(RefUpdate.Result.NEW, RefUpdate.Result.FORCED, RefUpdate.Result.NO_CHANGE);
  }

  private static boolean isMapped(String table) throws IOException {
    return Files.readString(Path.of("/proc/self/maps")).contains(table);
  }

  private static void awaitUnmapped(String table) throws IOException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (isMapped(table)) {
      assertWithMessage("in time").that(System.nanoTime()).isLessThan(end);
      System.gc();
    }
  }

  @Test
  void anOldTableIsUnmappedWhenItsLastReaderHasGone() throws Exception {
    createMapped();
    TableStack old = file.stack(false);
    String table = old.byName.keySet().iterator().next();
    List<Ref> before = old.refs("refs/");
    assertThat(isMapped(table)).isTrue();
    update("refs/heads/new", 1);
    jgit().compactFully();
    assertThat(Files.exists(refs.folder().resolve("reftable").resolve(table))).isFalse();
    file.changed();
    assertThat(file.stack(false).contains("refs/heads/new")).isTrue();
    for (int i = 0; i < 10; i++) {
      System.gc();
    }
    // Somebody still reads the old stack.
    assertThat(isMapped(table)).isTrue();
    assertThat(old.refs("refs/").toString()).isEqualTo(before.toString());
    old = null;
    awaitUnmapped(table);
  }

  @Test
  void aMissingTableIsAnErrorUntilTheListChanges() throws Exception {
    createMapped();
    Path list = file.list;
    String names = Files.readString(list);
    Files.writeString(list, names + "0x000000000001-0x000000000002-00000000.ref\n");
    IOException failure = assertThrows(IOException.class, () -> file.stack(false));
    assertThat(failure).hasCauseThat().isInstanceOf(NoSuchFileException.class);
    Files.writeString(list, names);
    assertThrows(IOException.class, () -> file.stack(false));
    file.changed();
    assertThat(file.stack(false).contains(ALWAYS)).isTrue();
  }

  /**
   * The first reading is slow here, as it reads the list from a pipe; the list is replaced
   * meanwhile, as by native git that then tells of its change.
   */
  @Test
  void aThreadThatWaitsForTheFirstReadingSeesWhatHasChangedSinceThatBegan() throws Exception {
    createMapped();
    Path list = file.list;
    String before = Files.readString(list);
    update("refs/heads/new", 1);
    Path after = Files.move(list, list.resolveSibling("after"));
    Process fifo = new ProcessBuilder("mkfifo", list.toString()).inheritIO().start();
    assertThat(fifo.waitFor()).isEqualTo(0);
    FutureTask<TableStack> first = new FutureTask<>(() -> file.stack(true));
    FutureTask<TableStack> second = new FutureTask<>(() -> file.stack(true));
    Thread waiting = new Thread(second);
    new Thread(first).start();
    // This returns when the pipe is opened by its reader.
    try (Writer pipe = Files.newBufferedWriter(list)) {
      Files.move(after, list, StandardCopyOption.ATOMIC_MOVE);
      waiting.start();
      while (waiting.getState() != Thread.State.BLOCKED) {
        assertThat(second.isDone()).isFalse();
        Thread.onSpinWait();
      }
      pipe.write(before);
    }
    assertThat(first.get().contains("refs/heads/new")).isFalse();
    assertThat(second.get().contains("refs/heads/new")).isTrue();
  }
}
