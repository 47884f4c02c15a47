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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import static com.google.common.truth.Truth.assertThat;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.fileIn;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.primitives.Bytes;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Hook;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.LostContentException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Other programs put an older file in the place of the one in use, in which Alice was still signed
 * in. She must not be signed in again, and no step may take the other file for the mapped one.
 */
class ReplacedFilesTest extends FolderTest {
  private static final int LARGER = 8 << 20;
  private static final byte[] ALICE = "session of Alice".getBytes(UTF_8);
  private static final byte[] BOB = "session of Bob".getBytes(UTF_8);
  private static final byte[] VALUE = "signed in".getBytes(UTF_8);

  private String folderName = "stores";
  private Path backup;
  private Path stateBackup;

  @BeforeEach
  void paths() {
    backup = temp.resolve("backup");
    stateBackup = temp.resolve("backup.state");
  }

  @Override
  Path folder() {
    return temp.resolve(folderName);
  }

  private Path file() throws IOException {
    return fileIn(folder(), ".chm");
  }

  private void open(OldValues kind, Disk disk) throws Exception {
    start(disk, settings("web_sessions", 4 << 20, kind));
  }

  /** With another limit, which has the file copied. */
  private void openLarger(Disk disk) throws Exception {
    start(disk, settings("web_sessions", LARGER, OldValues.SECRET));
  }

  /** Alice signs in, a clean stop, a backup, a start, and she signs out. */
  private void signOut(OldValues kind, Disk disk) throws Exception {
    open(kind, Disk.REAL);
    store.put(BOB, VALUE, System.currentTimeMillis());
    store.remove(BOB);
    store.put(ALICE, VALUE, System.currentTimeMillis());
    store.flush();
    directory.close();
    copy(file(), backup);
    copy(FileState.pathOf(file()), stateBackup);
    open(kind, disk);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    store.put(BOB, VALUE, System.currentTimeMillis());
    store.remove(ALICE);
    store.flush();
  }

  private static void copy(Path from, Path to) throws IOException {
    Files.copy(from, to, StandardCopyOption.COPY_ATTRIBUTES, StandardCopyOption.REPLACE_EXISTING);
  }

  /** As {@code rsync} and {@code cp x t; mv t file} do. */
  private void restore(Path from, Path to) throws IOException {
    Path copy = temp.resolve("copy");
    copy(from, copy);
    Files.move(copy, to, StandardCopyOption.ATOMIC_MOVE);
  }

  private void assertSignedOutAfter(OldValues kind) throws Exception {
    open(kind, Disk.REAL);
    assertThat(store.read(ALICE)).isNull();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
  }

  @ParameterizedTest
  @EnumSource
  void aFileThatIsRenamedOntoTheOneInUseIsNeverCertified(OldValues kind) throws Exception {
    for (boolean change : new boolean[] {false, true}) {
      for (boolean sweep : new boolean[] {false, true}) {
        folderName = "stores " + change + sweep;
        signOut(kind, Disk.REAL);
        restore(backup, file());
        if (change) {
          store.put(BOB, VALUE, System.currentTimeMillis());
        }
        if (sweep) {
          directory.sweep();
          TestStores.awaitSettled(directory);
        }
        assertSignedOutAfter(kind);
        directory.close();
      }
    }
  }

  /** That is seen once a minute. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aFileThatWasReplacedGoesOnUntilTheStop(boolean killed) throws Exception {
    signOut(OldValues.SECRET, Disk.REAL);
    restore(backup, file());
    restore(stateBackup, FileState.pathOf(file()));
    directory.sweep();
    directory.sweep();
    assertThat(store.stats().counts().faults.sum()).isAtLeast(1);
    assertThat(store.read(ALICE)).isNull();
    assertThat(store.read(BOB).bytes()).isEqualTo(VALUE);
    if (killed) {
      TestStores.copy(folder(), temp.resolve("killed"));
      folderName = "killed";
    }
    assertSignedOutAfter(OldValues.SECRET);
    assertThat(store.read(BOB)).isNull();
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.REPLACED);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aStateFileThatIsRenamedOntoTheOneInUseIsNotTrusted(boolean pair) throws Exception {
    signOut(OldValues.SECRET, Disk.REAL);
    if (pair) {
      restore(backup, file());
    }
    restore(stateBackup, FileState.pathOf(file()));
    assertSignedOutAfter(OldValues.SECRET);
  }

  /** A file system gives the number of a deleted file to the next one at once. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anOlderCopyThatIsPutInPlaceAfterAKill(boolean withTime) throws Exception {
    signOut(OldValues.SECRET, Disk.REAL);
    directory.close();
    TestStores.leaveOpen(folder());
    Path file = file();
    Files.delete(file);
    Files.copy(backup, file);
    if (withTime) {
      // Where a creation time is not known, Java returns this one.
      Files.setLastModifiedTime(file, (FileTime) Files.getAttribute(file, "creationTime"));
    }
    open(OldValues.SECRET, Disk.REAL);
    assertThat(store.read(ALICE)).isNull();
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.REPLACED);
  }

  /** What is judged is what is mapped. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aFileThatIsReplacedWhileItIsOpenedIsNotUsed(boolean killed) throws Exception {
    signOut(OldValues.SECRET, Disk.REAL);
    directory.close();
    if (killed) {
      TestStores.leaveOpen(folder());
    }
    AtomicBoolean replaced = new AtomicBoolean();
    Hook replace =
        file -> {
          if (replaced.compareAndSet(false, true)) {
            restore(backup, file);
          }
        };
    open(OldValues.SECRET, new TestDisk().before(Call.MAPPING, replace));
    assertThat(replaced.get()).isTrue();
    assertThat(store.read(ALICE)).isNull();
    assertSignedOutAfter(OldValues.SECRET);
  }

  @Test
  void whatIsForcedIsWhatIsMapped() throws Exception {
    byte[] unique = "found in one file only".getBytes(UTF_8);
    AtomicBoolean replaced = new AtomicBoolean();
    AtomicBoolean forced = new AtomicBoolean();
    Disk disk =
        new Disk() {
          @Override
          public void force(Path file, FileChannel open) throws IOException {
            if (replaced.get() && file.toString().endsWith(".chm")) {
              ByteBuffer content = ByteBuffer.allocate((int) open.size());
              while (open.read(content, content.position()) > 0) {}
              assertThat(Bytes.indexOf(content.array(), unique)).isAtLeast(0);
              assertThat(Bytes.indexOf(Files.readAllBytes(file), unique)).isLessThan(0);
              forced.set(true);
            }
            super.force(file, open);
          }
        };
    signOut(OldValues.SECRET, disk);
    restore(backup, file());
    replaced.set(true);
    store.put(BOB, unique, System.currentTimeMillis());
    assertThat(forced.get()).isTrue();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aFileThatIsReplacedBeforeItIsCompleteIsNotUsed(boolean state) throws Exception {
    AtomicBoolean armed = new AtomicBoolean();
    Hook replace =
        file -> {
          if (file.toString().endsWith(".chm")
              && file.toString().contains("-" + LARGER + "-")
              && armed.compareAndSet(true, false)) {
            restore(state ? stateBackup : backup, state ? FileState.pathOf(file) : file);
          }
        };
    signOut(OldValues.SECRET, Disk.REAL);
    directory.close();
    armed.set(true);
    openLarger(new TestDisk().before(Call.FORCE, replace));
    assertThat(armed.get()).isFalse();
    assertThat(store.read(ALICE)).isNull();
    assertSignedOutAfter(OldValues.SECRET);
  }

  @Test
  void aFileThatIsReplacedWhileTheStopForcesItIsNotTrusted() throws Exception {
    AtomicBoolean armed = new AtomicBoolean();
    Hook replace =
        file -> {
          if (file.toString().endsWith(".chm") && armed.compareAndSet(true, false)) {
            restore(backup, file);
          }
        };
    signOut(OldValues.SECRET, new TestDisk().before(Call.FORCE, replace));
    armed.set(true);
    assertSignedOutAfter(OldValues.SECRET);
    assertThat(armed.get()).isFalse();
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.REPLACED);
  }

  /**
   * A copy of another limit is in use, and the old file could not be deleted. When the copy fails,
   * the process is killed once the first of the two is deleted.
   */
  @ParameterizedTest
  @CsvSource({"true,true", "true,false", "false,true", "false,false"})
  void theFileBeforeACopyIsNotUsedAfterAKillThatInterruptsADiscard(
      boolean newestFirst, boolean staysStuck) throws Exception {
    open(OldValues.SECRET, Disk.REAL);
    store.put(ALICE, VALUE, System.currentTimeMillis());
    store.flush();
    directory.close();
    Path old = file();
    AtomicBoolean isStuck = new AtomicBoolean(true);
    AtomicBoolean refuses = new AtomicBoolean();
    AtomicBoolean isDead = new AtomicBoolean();
    Hook unlessDead =
        file -> {
          if (isDead.get()) {
            throw new IOException("killed (a test)");
          }
        };
    Disk disk =
        new TestDisk() {
          @Override
          public List<Path> list(Path listed) throws IOException {
            Comparator<Path> order = Comparator.naturalOrder();
            return super.list(listed).stream()
                .sorted(newestFirst ? order.reversed() : order)
                .toList();
          }
        }.before(Call.CREATE, unlessDead)
            .before(
                Call.FORCE,
                file -> {
                  if (refuses.get()) {
                    throw new LostContentException("the disk is failing (a test)");
                  }
                })
            .before(
                Call.DELETE,
                file -> {
                  unlessDead.before(file);
                  if (isStuck.get() && file.equals(old)) {
                    throw new IOException("cannot delete (a test)");
                  }
                  isDead.set(refuses.get() && file.toString().endsWith(".chm"));
                });
    openLarger(disk);
    assertThat(store.read(ALICE).bytes()).isEqualTo(VALUE);
    assertThat(TestStores.filesIn(folder())).contains(old);
    store.remove(ALICE);
    isStuck.set(staysStuck);
    refuses.set(true);
    store.put(BOB, VALUE, System.currentTimeMillis());
    assertThat(store.isOpen()).isFalse();
    boolean wasKilled = isDead.get();
    directory.close();
    if (wasKilled) {
      // A killed process does not write that, either.
      Files.write(folder().resolve("lock"), new byte[0]);
    } else {
      assertThat(staysStuck).isTrue();
    }
    isDead.set(false);
    refuses.set(false);
    openLarger(Disk.REAL);
    assertThat(store.read(ALICE)).isNull();
  }

  /**
   * In the image of a container, say: a file of the lower layer of an overlay file system is copied
   * to the upper one, with another inode and time of creation, once it is opened for writing.
   */
  @Test
  void aFileThatIsCopiedUpIsTheSame() throws Exception {
    Set<Path> lower = ConcurrentHashMap.newKeySet();
    Disk overlay =
        new TestDisk() {
          @Override
          public FileChannel open(Path file, Set<? extends OpenOption> options) throws IOException {
            if (options.contains(StandardOpenOption.WRITE)) {
              lower.remove(file);
            }
            return super.open(file, options);
          }

          @Override
          public String fileKey(Path file) throws IOException {
            return super.fileKey(file) + (lower.contains(file) ? " lower" : "");
          }
        }.before(Call.MAP, lower::remove).before(Call.MAPPING, lower::remove);
    open(OldValues.MUTABLE, Disk.REAL);
    store.put(ALICE, VALUE, now());
    directory.close();
    lower.addAll(TestStores.filesIn(folder()));
    for (int start = 0; start < 2; start++) {
      open(OldValues.MUTABLE, overlay);
      assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
      assertThat(store.read(ALICE).bytes()).isEqualTo(VALUE);
      assertThat(store.stats().counts().faults.sum()).isEqualTo(0);
      // The same again, from the upper layer.
      store.put(ALICE, VALUE, now());
    }
  }
}
