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
import static com.google.common.util.concurrent.Uninterruptibles.awaitUninterruptibly;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.await;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Hook;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/** A disk that does not take what is written brings nothing back that was changed. */
class RefusedWritesTest extends FolderTest {
  /**
   * The disk of this machine, but from a moment on it takes nothing that is written to files. As
   * with Linux and ext4: a page that could not be written back counts as clean even so, may leave
   * memory, and is then read as it was before; who forces the file next is told that, once.
   */
  private static class RefusingDisk extends Disk {
    /** What the disk has of each file that was forced. */
    private final Map<Path, byte[]> written = new HashMap<>();

    /** Files of which something was lost and nobody was told. */
    private final Set<Path> failed = new HashSet<>();

    /** Which files it does not take what is written to. */
    private Predicate<Path> refused = file -> false;

    private boolean hasNoHandles;
    private int forced;

    synchronized void refuse() {
      refused = file -> true;
    }

    /** As {@link #refuse}, but for what is known of the stores' files. */
    synchronized void refuseValues() {
      refused = file -> file.toString().endsWith(".chm");
    }

    /** From now on, or no more, the process has too many files open. */
    synchronized void setHandles(boolean any) {
      hasNoHandles = !any;
    }

    /** How often a file was forced. */
    synchronized int forced() {
      return forced;
    }

    /** Does what the system does some time: tries to write, and takes all pages out of memory. */
    synchronized void writeBackAndReclaim() throws IOException {
      for (Path file : written.keySet()) {
        if (Files.exists(file) && writeBack(file)) {
          failed.add(file);
        }
      }
    }

    /** Returns whether anything of a file was lost. */
    private boolean writeBack(Path file) throws IOException {
      byte[] now = Files.readAllBytes(file);
      byte[] before = written.get(file);
      if (!refused.test(file) || before == null) {
        written.put(file, now);
        return false;
      }
      if (Arrays.equals(now, before)) {
        return false;
      }
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
        var unused = channel.write(ByteBuffer.wrap(before), 0);
      }
      return true;
    }

    private synchronized void takeHandle(Path file) throws IOException {
      if (hasNoHandles) {
        throw new FileSystemException(file.toString(), null, "Too many open files (a test)");
      }
    }

    @Override
    public FileChannel open(Path file, Set<? extends OpenOption> options) throws IOException {
      takeHandle(file);
      return super.open(file, options);
    }

    @Override
    public void sync(Path folder) throws IOException {
      takeHandle(folder);
      super.sync(folder);
    }

    @Override
    public synchronized void force(Path file, FileChannel open) throws IOException {
      super.force(file, open);
      forced++;
      // Who has a file open that was deleted is told, too.
      boolean lost = Files.exists(file) && writeBack(file);
      if (failed.remove(file) || lost) {
        throw new IOException("Input/output error (a test)");
      }
    }
  }

  private static final byte[] KEY = "key".getBytes(UTF_8);
  private static final byte[] OLD = "old".getBytes(UTF_8);
  private static final byte[] NEW = "new".getBytes(UTF_8);

  private final RefusingDisk disk = new RefusingDisk();

  private static StoreSettings ofKind(OldValues oldValues) {
    return settings("cache", 1 << 20, oldValues);
  }

  private void open(OldValues oldValues, Disk on) throws Exception {
    start(on, ofKind(oldValues));
  }

  /** A store whose one value is on the disk, which takes nothing more. */
  private void refuse(OldValues oldValues) throws Exception {
    open(oldValues, disk);
    store.put(KEY, OLD, 1);
    store.flush();
    // As it does once a minute.
    directory.sweep();
    TestStores.awaitSettled(directory);
    disk.refuse();
  }

  private void assertGone() {
    assertThat(store.read(KEY)).isNull();
    assertThat(store.stats().state()).isEqualTo(StoreState.FAILED);
    assertThat(store.stats().counts().faults.sum()).isGreaterThan(0);
  }

  @Test
  void aSessionIsGoneWhenItsInvalidationReturns() throws Exception {
    refuse(OldValues.SECRET);
    store.remove(KEY);
    disk.writeBackAndReclaim();
    assertGone();
  }

  @Test
  void aSessionIsReplacedWhenItsPutReturns() throws Exception {
    refuse(OldValues.SECRET);
    store.put(KEY, NEW, 2);
    disk.writeBackAndReclaim();
    assertGone();
  }

  @Test
  void whatMayBeStaleIsGoneWithinAMinute() throws Exception {
    refuse(OldValues.MUTABLE);
    store.remove(KEY);
    disk.writeBackAndReclaim();
    directory.sweep();
    TestStores.awaitSettled(directory);
    assertGone();
  }

  @Test
  void whatTheDiskDoesNotTakeAtAStopIsNotUsedAgain() throws Exception {
    refuse(OldValues.MUTABLE);
    store.remove(KEY);
    directory.close();
    disk.writeBackAndReclaim();
    open(OldValues.MUTABLE, Disk.REAL);
    assertThat(store.read(KEY)).isNull();
  }

  @Test
  void sessionsThatTheDiskHasNotTakenWhenTheyAreOpenedAreNotUsed() throws Exception {
    refuse(OldValues.SECRET);
    directory.close();
    TestStores.leaveOpen(folder());
    // What the one before wrote last.
    disk.writeBackAndReclaim();
    open(OldValues.SECRET, disk);
    assertThat(store.read(KEY)).isNull();
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.REPLACED);
  }

  /** The files are open, so too many open files keep nothing from being forced. */
  @Test
  void aProcessWithoutFileHandlesForcesItsFiles() throws Exception {
    open(OldValues.SECRET, disk);
    byte[] other = "other".getBytes(UTF_8);
    store.put(KEY, OLD, 1);
    store.put(other, OLD, 1);
    // The opening saves the use of values in the background.
    TestStores.awaitSettled(directory);
    disk.setHandles(false);
    int before = disk.forced();
    store.remove(KEY);
    assertThat(disk.forced()).isEqualTo(before + 1);
    directory.sweep();
    TestStores.awaitSettled(directory);
    assertThat(store.read(other).bytes()).isEqualTo(OLD);
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    // What could not be synced then, the folder, still is to be.
    assertThat(store.stats().counts().faults.sum()).isEqualTo(1);
    disk.setHandles(true);
    disk.refuse();
    store.put(other, NEW, 2);
    assertGone();
  }

  /** The system reports an error of the disk once: to a thread that began to force it before. */
  @Test
  void anErrorThatIsReportedWhileTheStoreIsClosedCounts() throws Exception {
    CountDownLatch forcing = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    AtomicBoolean armed = new AtomicBoolean();
    Hook failOnce =
        file -> {
          if (armed.compareAndSet(true, false)) {
            forcing.countDown();
            awaitUninterruptibly(goOn);
            throw new IOException("Input/output error (a test)");
          }
        };
    open(OldValues.SECRET, new TestDisk().before(Call.FORCE, failOnce));
    store.put(KEY, OLD, 1);
    armed.set(true);
    Thread signOut = Thread.ofPlatform().start(() -> store.remove(KEY));
    forcing.await();
    Thread stop = Thread.ofPlatform().start(directory::close);
    await(() -> store.stats().state() == StoreState.CLOSED);
    goOn.countDown();
    signOut.join();
    stop.join();
    open(OldValues.SECRET, Disk.REAL);
    assertThat(store.stats().start().kind()).isNotEqualTo(StartReport.Kind.CLEAN);
  }

  /** A disk on which a file that is opened waits until a test lets it be used. */
  private static final class SlowRefusingDisk extends RefusingDisk {
    volatile CountDownLatch goOn = new CountDownLatch(0);

    /** Whether changes that are not in the file were noted when a file was last forced. */
    volatile boolean noted;

    @Override
    public void mapping(Path file) throws IOException {
      awaitUninterruptibly(goOn);
      super.mapping(file);
    }

    @Override
    public synchronized void force(Path file, FileChannel open) throws IOException {
      if (file.toString().endsWith(".chm")) {
        noted = isNoted(file.getParent());
      }
      super.force(file, open);
    }
  }

  private static boolean isNoted(Path folder) throws IOException {
    return Files.readAllLines(folder.resolve("lock")).contains("cache-v1");
  }

  private SlowRefusingDisk removeWhileTheFileIsOpened(boolean refuse) throws Exception {
    SlowRefusingDisk slow = new SlowRefusingDisk();
    open(OldValues.SECRET, slow);
    store.put(KEY, OLD, 1);
    store.put(KEY, OLD, 2);
    directory.close();
    slow.goOn = new CountDownLatch(1);
    begin(slow, ofKind(OldValues.SECRET));
    store.remove(KEY);
    assertThat(store.stats().state()).isEqualTo(StoreState.OPENING);
    if (refuse) {
      slow.refuseValues();
    }
    slow.goOn.countDown();
    store.awaitOpened();
    return slow;
  }

  @Test
  void aSessionThatIsInvalidatedWhileItsFileIsOpenedIsGoneWhenThatIsOpen() throws Exception {
    removeWhileTheFileIsOpened(true).writeBackAndReclaim();
    assertGone();
  }

  @Test
  void untilThatIsOnDiskACrashOfTheMachineEmptiesTheFile() throws Exception {
    SlowRefusingDisk slow = removeWhileTheFileIsOpened(false);
    assertThat(slow.noted).isTrue();
    assertThat(isNoted(folder())).isFalse();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
  }

  @Test
  void aStoreWhoseFilesFailAgainAndAgainIsGivenANewOneEachMinute() throws Exception {
    AtomicInteger made = new AtomicInteger();
    AtomicBoolean broken = new AtomicBoolean();
    open(
        OldValues.SECRET,
        new TestDisk()
            .before(Call.MAPPING, file -> made.incrementAndGet())
            .failing(Call.FORCE, broken::get, "Input/output error"));
    broken.set(true);
    store.put(KEY, NEW, 1);
    made.set(0);
    for (int minute = 1; minute < 20; minute++) {
      assertThat(store.stats().state()).isEqualTo(StoreState.FAILED);
      directory.sweep();
      assertThat(made.get()).isEqualTo(minute);
    }
    broken.set(false);
    directory.sweep();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
  }

  /** Each change is forced once, and nothing where nothing was changed. */
  @Test
  void onlyWhatWasWrittenIsForced() throws Exception {
    open(OldValues.SECRET, disk);
    store.put(KEY, OLD, 1);
    directory.sweep();
    TestStores.awaitSettled(directory);
    int before = disk.forced();
    directory.sweep();
    TestStores.awaitSettled(directory);
    assertThat(store.read(KEY).bytes()).isEqualTo(OLD);
    assertThat(disk.forced()).isEqualTo(before);
    store.put(KEY, NEW, 2);
    assertThat(disk.forced()).isEqualTo(before + 1);
  }
}
