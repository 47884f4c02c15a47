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

/** How often a disk was attached, as the system tells of the one that a file is on. */
class RealDiskTest {
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
    Files.delete(file);
    Files.createFile(file);
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
}
