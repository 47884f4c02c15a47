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
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
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
    return new RealDisk(sys).boot(temp);
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
    Path file = Files.createFile(temp.resolve("file"));
    assertThrows(NoSuchFileException.class, () -> Disk.REAL.force(temp.resolve("none")));
    assertThrows(FileSystemException.class, () -> Disk.REAL.force(file.resolve("below")));
    assertThrows(FileSystemException.class, () -> Disk.REAL.sync(temp.resolve("none")));
    // The system refuses to force what is no file of a disk.
    IOException refused =
        assertThrows(IOException.class, () -> Disk.REAL.force(Path.of("/proc/self/status")));
    assertThat(refused).isNotInstanceOf(FileSystemException.class);
  }

  @Test
  void anInterruptDoesNotKeepAFileFromBeingForced() throws Exception {
    Path file = Files.createFile(temp.resolve("file"));
    Thread.currentThread().interrupt();
    Disk.REAL.force(file);
    Disk.REAL.sync(temp);
    assertThat(Thread.interrupted()).isTrue();
  }
}
