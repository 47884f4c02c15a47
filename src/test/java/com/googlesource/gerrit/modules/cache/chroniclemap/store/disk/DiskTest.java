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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.disk;

import static com.google.common.truth.Truth.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is asked of the disk of this machine, and the disk of a folder that others may get. */
class DiskTest {
  @TempDir Path temp;
  private Path sys;
  private Path disk;

  @BeforeEach
  void makeSystem() throws Exception {
    sys = temp.resolve("sys");
    disk = Files.createDirectories(sys.resolve("devices/vda"));
    Files.createDirectories(sys.resolve("dev/block"));
    Files.createDirectories(sys.resolve("class/block"));
  }

  private String boot() throws Exception {
    return Disk.boot(sys, temp);
  }

  private void attach(int count) throws Exception {
    var unused = Files.writeString(disk.resolve("diskseq"), count + "\n");
  }

  /** Has the system know the device of this folder by its numbers. */
  private void link(Path device) throws Exception {
    long packed = (Long) Files.getAttribute(temp, "unix:dev");
    long major = (packed >>> 8 & 0xfff) | (packed >>> 32 & ~0xfffL);
    long minor = (packed & 0xff) | (packed >>> 12 & ~0xffL);
    var unused = Files.createSymbolicLink(sys.resolve("dev/block/" + major + ":" + minor), device);
  }

  private void assertNoticesAttachment() throws Exception {
    attach(3);
    String before = boot();
    assertThat(boot()).isEqualTo(before);
    attach(17);
    assertThat(boot()).isNotEqualTo(before);
    assertThat(before).endsWith(" 3");
    assertThat(before.length()).isAtMost(64);
  }

  @Test
  void aDiskThatWasAttachedAgainIsAnother() throws Exception {
    link(disk);
    assertNoticesAttachment();
  }

  @Test
  void aPartitionIsAsItsDisk() throws Exception {
    link(Files.createDirectories(disk.resolve("vda1")));
    assertNoticesAttachment();
  }

  @Test
  void aFileSystemWithNumbersOfItsOwnIsAsTheDiskThatIsMounted() throws Exception {
    Path name = Path.of(Files.getFileStore(temp).name()).getFileName();
    var unused = Files.createSymbolicLink(sys.resolve("class/block").resolve(name), disk);
    assertNoticesAttachment();
  }

  @Test
  void whereThereIsNoDiskTheDeviceCounts() throws Exception {
    assertThat(boot()).isNotEmpty();
    assertThat(boot()).isEqualTo(boot());
  }

  @Test
  void whatCannotBeOpenedToBeForcedIsToldFromWhatTheDiskRefuses() throws Exception {
    assertThrows(FileSystemException.class, () -> Disk.REAL.sync(temp.resolve("none")));
    // The system refuses to force what is no file of a disk.
    Path status = Path.of("/proc/self/status");
    try (FileChannel channel = Disk.REAL.open(status, Set.of(StandardOpenOption.READ))) {
      IOException refused = assertThrows(IOException.class, () -> Disk.REAL.force(status, channel));
      assertThat(refused).isNotInstanceOf(FileSystemException.class);
    }
  }

  /** The number of a deleted file is given to the next one at once. */
  @Test
  void aFileWithTheTimesOfAnotherIsAnother() throws Exception {
    Path file = Files.createFile(temp.resolve("file"));
    String key = Disk.REAL.fileKey(file);
    FileTime created = (FileTime) Files.getAttribute(file, "creationTime");
    assertThat(key).endsWith(" " + created);
    Files.setLastModifiedTime(file, created);
    assertThat(Disk.REAL.hasKey(file, key)).isTrue();
    do { // until the clock of the file system has ticked
      Files.delete(file);
      Files.createFile(file);
    } while (Files.getAttribute(file, "creationTime").equals(created));
    Files.setLastModifiedTime(file, (FileTime) Files.getAttribute(file, "creationTime"));
    assertThat(Disk.REAL.hasKey(file, key)).isFalse();
  }

  @Test
  void aKeySaysWhereNoCreationTimeIsKnown() throws Exception {
    // The kernel gives the files of its own file system none.
    assertThat(Disk.REAL.fileKey(Path.of("/proc/sys/kernel/ostype"))).endsWith(" not known");
  }

  @Test
  void anInterruptDoesNotKeepAFileFromBeingForced() throws Exception {
    Path file = Files.writeString(temp.resolve("file"), "x");
    Thread.currentThread().interrupt();
    try (FileChannel channel = Disk.REAL.open(file, Set.of(StandardOpenOption.READ))) {
      Disk.REAL.force(file, channel);
      assertThat(channel.read(ByteBuffer.allocate(1), 0)).isEqualTo(1);
    }
    Disk.REAL.sync(temp);
    assertThat(Thread.interrupted()).isTrue();
  }

  // ---- a folder that may have been given back

  private final Disk ownDisk = new Disk();

  @Test
  void namesChangeWhileTheFolderIsOnesOwn() throws Exception {
    Path made = temp.resolve("made");
    Path moved = temp.resolve("moved");
    ownDisk.create(made);
    ownDisk.write(made, new byte[1]);
    ownDisk.move(made, moved);
    assertThat(Files.size(moved)).isEqualTo(1);
    ownDisk.delete(moved);
    assertThat(Files.exists(moved)).isFalse();
  }

  @Test
  void noNameChangesAfterItWasGivenBack() throws Exception {
    Path theirs = Files.write(temp.resolve("theirs"), new byte[] {7});
    Path late = temp.resolve("late");
    ownDisk.setLocked(false);
    assertThrows(IOException.class, () -> ownDisk.delete(theirs));
    assertThrows(IOException.class, () -> ownDisk.move(theirs, late));
    assertThrows(IOException.class, () -> ownDisk.create(late));
    assertThrows(IOException.class, () -> ownDisk.write(theirs, new byte[2]));
    assertThat(Files.readAllBytes(theirs)).isEqualTo(new byte[] {7});
    assertThat(Files.exists(late)).isFalse();
  }

  /** Whoever opens the store next must not use what a late removal could not be made in. */
  @Test
  void aMarkerCanBeMadeEvenThen() throws Exception {
    ownDisk.setLocked(false);
    Path marker = temp.resolve("cache-v1" + Disk.MARKER);
    ownDisk.create(marker);
    assertThat(Files.exists(marker)).isTrue();
  }

  // ---- the sync of folders

  /** A folder of a file system that answers EINVAL to its sync. */
  private static final Path UNSYNCED = Path.of("/proc/self");

  /** Makes the rest of this class mean something. */
  @Test
  void thereIsAFileSystemThatDoesNotSyncFolders() throws Exception {
    try (FileChannel open = FileChannel.open(UNSYNCED)) {
      assertThrows(IOException.class, () -> open.force(true));
    }
  }

  @Test
  void aStoreGoesOnWhereFoldersAreNotSynced() throws Exception {
    Disk.REAL.sync(UNSYNCED);
    Disk.REAL.sync(temp);
  }

  @ParameterizedTest
  @ValueSource(strings = {"Invalid argument", "/a: Operation not supported"})
  void whatIsNotOfferedIsNoFailure(String why) throws Exception {
    FolderSync.unlessNotOffered(temp, new IOException(why));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Input/output error",
        "No space left on device",
        "Stale file handle",
        "Permission denied",
        "Operation not permitted",
        ""
      })
  void theDisksFailuresStayFailures(String why) {
    IOException failure = new IOException(why);
    assertThat(assertThrows(IOException.class, () -> FolderSync.unlessNotOffered(temp, failure)))
        .isSameInstanceAs(failure);
  }
}
