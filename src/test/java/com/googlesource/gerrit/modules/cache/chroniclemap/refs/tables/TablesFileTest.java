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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.internal.storage.file.FileReftableDatabase;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tables that are replaced while they are read. */
class TablesFileTest {
  private static final String ALWAYS = "refs/heads/always";

  /** So many that their table is mapped. */
  private static final int MANY = 2000;

  @TempDir Path folder;
  @AutoClose private TestRefs refs;
  private TablesFile file;

  @BeforeEach
  void create() throws IOException {
    refs = TestRefs.createReftable(folder.resolve("r.git"), Map.of());
    List<ReceiveCommand> commands = new ArrayList<>();
    commands.add(create(ALWAYS));
    for (int i = 0; i < MANY; i++) {
      commands.add(create(String.format(Locale.ROOT, "refs/changes/%02d/%d/1", i % 100, i)));
    }
    assertThat(TestRefs.batch(refs.repository(), jgit(), commands.toArray(new ReceiveCommand[0])))
        .isTrue();
    jgit().compactFully();
    file = new TablesFile(refs.folder().resolve("reftable"));
  }

  private ReceiveCommand create(String name) {
    return refs.command(name, null, 0);
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
