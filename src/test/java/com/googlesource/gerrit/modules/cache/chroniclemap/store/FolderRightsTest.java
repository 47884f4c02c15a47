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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Who may read a folder of stores, and what keeps a server from it. */
@Timeout(60)
@Tag("locale")
class FolderRightsTest extends FolderTest {
  private static final StoreSettings SETTINGS = settings("web_sessions", 16 << 20);

  private Path others;

  @BeforeEach
  void makeFolder() throws Exception {
    others = Files.createFile(temp.resolve("others"));
    setRights(others, "rw-r--r--");
  }

  private static void setRights(Path file, String rights) throws IOException {
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(rights));
  }

  private static String rights(Path file) throws IOException {
    return PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
  }

  /** As Kubernetes does for {@code fsGroup}: {@code chmod -R g+rwX}. */
  private void openToGroup() throws Exception {
    start(SETTINGS);
    directory.close();
    for (Path file : TestStores.filesIn(folder())) {
      setRights(file, "rw-rw----");
    }
    setRights(folder(), "rwxrwx---");
  }

  @Test
  void theyAreTakenFromAllButTheOwner() throws Exception {
    openToGroup();
    Files.createSymbolicLink(folder().resolve("link"), others);
    openFolder(Disk.REAL);
    assertThat(directory.exposed).isEmpty();
    Store store = TestStores.open(directory, SETTINGS);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    assertThat(rights(folder())).isEqualTo("rwx------");
    for (Path file : TestStores.filesIn(folder())) {
      if (!Files.isSymbolicLink(file)) {
        assertThat(rights(file)).isEqualTo("rw-------");
      }
    }
    assertThat(rights(others)).isEqualTo("rw-r--r--");
  }

  @Test
  void ifThatFailsItIsTold() throws Exception {
    openToGroup();
    openFolder(new TestDisk().failing(Call.MAKE_PRIVATE, () -> true, "Operation not permitted"));
    assertThat(directory.exposed.orElseThrow()).contains("give the folder and all its files");
    assertThat(TestStores.open(directory, SETTINGS).stats().state()).isEqualTo(StoreState.READY);
  }

  @ParameterizedTest
  @CsvSource({
    "No locks available, lock service",
    "Read-only file system, for writing",
    "No space left on device, free disk space",
    "Disk quota exceeded, quota",
    "Permission denied, Gerrit's user",
    "Too many open files, LimitNOFILE",
  })
  void theAdviceIsThatOfTheCause(String cause, String advice) {
    Disk failing = new TestDisk().failing(Call.CREATE, () -> true, cause);
    StoreUnavailableException e =
        assertThrows(
            StoreUnavailableException.class, () -> StoreDirectory.open(folder(), failing, () -> 1));
    assertThat(e).hasMessageThat().contains("cannot use " + folder());
    assertThat(e).hasMessageThat().containsMatch("\\(.*" + advice);
  }

  @Test
  void aLinkThatLeadsNowhereIsCalledThat() throws Exception {
    Files.createSymbolicLink(folder(), temp.resolve("nowhere"));
    StoreUnavailableException e =
        assertThrows(StoreUnavailableException.class, () -> StoreDirectory.open(folder()));
    assertThat(e).hasMessageThat().contains("broken link");
  }
}
