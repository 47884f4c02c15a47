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
package com.googlesource.gerrit.modules.cache.chroniclemap.refs.current;

import static com.google.common.truth.Truth.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When a file must be read again. */
class FileStampTest {
  private static final FileTime OLD = FileTime.from(Instant.parse("2020-01-01T00:00:00Z"));

  @TempDir Path folder;

  private Path write(String name, String text, FileTime time) throws IOException {
    Path file = Files.writeString(folder.resolve(name), text);
    Files.setLastModifiedTime(file, time);
    return file;
  }

  private void rename(Path from, Path to) throws IOException {
    Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
  }

  /** Returns when the clock of the file system has ticked since a file was changed. */
  private void awaitTick(Path changed) throws IOException {
    Object before = Files.getAttribute(changed, "unix:ctime");
    Path probe = folder.resolve("probe");
    do {
      Files.writeString(probe, "");
    } while (Files.getAttribute(probe, "unix:ctime").equals(before));
  }

  /** Asks several times: the first answer may be the snapshot's, the later ones are not. */
  private static void assertNotModified(FileStamp stamp) {
    for (int i = 0; i < 3; i++) {
      assertThat(stamp.isModified()).isFalse();
    }
  }

  @Test
  void aNewFileIsInDoubt() throws Exception {
    Path file = Files.writeString(folder.resolve("f"), "one");
    // A clock that is ahead of the file system's: no reading is ever long enough after that time.
    Files.setLastModifiedTime(file, FileTime.from(Instant.now().plusSeconds(3600)));
    FileStamp stamp = FileStamp.of(file.toFile());
    for (int i = 0; i < 3; i++) {
      assertThat(stamp.isModified()).isTrue();
    }
  }

  @Test
  void aFileThatIsRenamedBackIsReadAgain() throws Exception {
    Path file = write("f", "one", OLD);
    FileStamp stamp = FileStamp.of(file.toFile());
    assertNotModified(stamp);
    awaitTick(file);
    rename(file, folder.resolve("away"));
    assertThat(stamp.isModified()).isTrue();
    rename(write("g", "two", OLD), file); // of the same size and time
    assertThat(stamp.isModified()).isTrue();
    rename(folder.resolve("away"), file);
    assertThat(stamp.isModified()).isTrue(); // its ctime is that of the rename
  }

  @Test
  void sizeAndTimeAreCompared() throws Exception {
    Path file = write("f", "one", OLD);
    FileStamp stamp = FileStamp.of(file.toFile());
    assertNotModified(stamp);
    awaitTick(file);
    write("f", "three", OLD);
    assertThat(stamp.isModified()).isTrue();
    write("f", "two", OLD);
    assertThat(stamp.isModified()).isTrue(); // by its ctime
    Files.setLastModifiedTime(file, FileTime.from(OLD.toInstant().plusNanos(1)));
    assertThat(stamp.isModified()).isTrue();
  }

  @Test
  void aWrittenFileIsKnownOnceItIsRenamed() throws Exception {
    Path place = folder.resolve("f");
    FileStamp written = FileStamp.ofWritten(write("g", "one", OLD).toFile(), place.toFile());
    rename(folder.resolve("g"), place);
    assertNotModified(written.renamed());
    rename(write("h", "one", OLD), place);
    assertThat(written.renamed().isModified()).isTrue();
  }

  /** Its name can't be looked up, as on a broken disk. */
  @Test
  void aMissingFileOfWhichTheDiskDoesNotTellAnyMoreIsInDoubt() throws Exception {
    Path above = folder.resolve("above");
    FileStamp missing = FileStamp.missing(above.resolve("f").toFile());
    assertNotModified(missing);
    write("above", "a file in the place of the folder", OLD);
    assertThat(missing.isModified()).isTrue();
  }

  @Test
  void aFileThatIsNotThere() throws Exception {
    Path file = folder.resolve("f");
    FileStamp missing = FileStamp.missing(file.toFile());
    assertNotModified(missing);
    write("f", "one", OLD);
    assertThat(missing.isModified()).isTrue();
    FileStamp stamp = FileStamp.of(file.toFile());
    assertNotModified(stamp);
    Files.delete(file);
    assertThat(stamp.isModified()).isTrue();
    assertNotModified(FileStamp.of(file.toFile()));
  }
}
