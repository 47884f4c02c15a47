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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.filesIn;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An upgrade, and the way back: no version finds what an earlier one has left. */
@Timeout(60)
class OtherVersionsTest extends FolderTest {
  private static final String PURE = "pure";
  private static final byte[] KEY = ByteBuffer.allocate(4).putInt(7).array();

  /** Whether the folder cannot be read, for lack of file handles. */
  private volatile boolean isUnreadable;

  private final Thread tester = Thread.currentThread();

  /** Where there is one, files are only opened when the test has made a change, and then not. */
  private volatile CountDownLatch changed;

  private final Disk disk = new TestDisk().before(Call.LIST, this::listing);

  private void listing(Path folder) throws IOException {
    CountDownLatch opening = changed;
    boolean isOpening = opening != null && Thread.currentThread() != tester;
    if (isOpening) {
      awaitUninterruptibly(opening);
    }
    if (isUnreadable || isOpening) {
      throw new IOException("Too many open files (a test)");
    }
  }

  private OldValues oldValues = OldValues.MUTABLE;

  private StoreSettings version(String cache, int version) {
    return new StoreSettings(cache, version, 16 << 20, Optional.empty(), oldValues);
  }

  private void start(String cache, int version) throws Exception {
    start(disk, version(cache, version));
  }

  private void put(int value) {
    store.put(KEY, TestValues.of(value), now());
    store.flush();
  }

  private int read() {
    return TestValues.numberOf(store.read(KEY));
  }

  /** Files of a version of a cache. */
  private List<String> files(String cache, int version) throws Exception {
    return filesIn(folder()).stream()
        .map(file -> file.getFileName().toString())
        .filter(name -> name.startsWith(cache + "-v" + version + "-g"))
        .sorted()
        .toList();
  }

  /** Of web sessions, say: who signed out meanwhile must not be back. */
  @ParameterizedTest
  @EnumSource
  void eachVersionStartsEmpty(OldValues oldValues) throws Exception {
    this.oldValues = oldValues;
    start("other", 1);
    put(1);
    start("other", 2);
    assertThat(files("other", 1)).isEmpty();
    assertThat(read()).isEqualTo(KeyHistory.NONE);
    put(2);
    start("other", 1);
    assertThat(files("other", 2)).isEmpty();
    assertThat(read()).isEqualTo(KeyHistory.NONE);
  }

  /** The file of the new version cannot be opened at first; then somebody signs out. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whatAnUpgradeMissesIsNotFoundOnTheWayBack(boolean opensLater) throws Exception {
    start("other", 1);
    put(1);
    isUnreadable = true;
    start("other", 2);
    assertThat(store.stats().state()).isEqualTo(StoreState.FAILED);
    isUnreadable = false;
    if (opensLater) {
      store.current.heal();
      assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    }
    store.remove(KEY);
    start("other", 1);
    assertThat(read()).isEqualTo(KeyHistory.NONE);
  }

  /** Somebody signs out before the file of the new version turns out not to be opened. */
  @Test
  void whatAnUpgradeMissesEarlyIsNotFoundOnTheWayBack() throws Exception {
    start("other", 1);
    put(1);
    directory.close();
    changed = new CountDownLatch(1);
    begin(disk, version("other", 2));
    store.remove(KEY);
    changed.countDown();
    store.awaitOpened();
    assertThat(store.stats().state()).isEqualTo(StoreState.FAILED);
    directory.close();
    changed = null;
    start("other", 1);
    assertThat(read()).isEqualTo(KeyHistory.NONE);
  }

  @Test
  void whatAnUpgradeThatCannotBeOpenedLeavesIsFoundOnTheWayBack() throws Exception {
    start("other", 1);
    put(1);
    isUnreadable = true;
    start("other", 2);
    assertThat(read()).isEqualTo(KeyHistory.NONE);
    directory.close();
    isUnreadable = false;
    start("other", 1);
    assertThat(read()).isEqualTo(1);
  }

  @Test
  void storesAreDeletedByName() throws Exception {
    start(PURE, 1);
    put(1);
    openFolder(Disk.REAL);
    directory.deleteAllBut(Set.of(PURE));
    assertThat(files(PURE, 1)).isNotEmpty();
    directory.deleteAllBut(Set.of());
    assertThat(files(PURE, 1)).isEmpty();
  }

  /** Earlier versions of this module named files so where the server's locale was Persian. */
  @ParameterizedTest
  @ValueSource(strings = {PURE, "web_sessions"})
  void filesInOtherDigitsAreDeleted(String cache) throws Exception {
    start(cache, 1);
    put(1);
    directory.close();
    for (String name : files(cache, 1)) {
      String persian =
          name.codePoints()
              .map(c -> c >= '0' && c <= '9' ? c + '\u06f0' - '0' : c)
              .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
              .toString();
      Path file = folder().resolve(cache + "-v1" + persian.substring(cache.length() + 3));
      Files.move(folder().resolve(name), file);
      Files.createFile(file.resolveSibling(file.getFileName() + ".3.growing"));
    }
    assertThat(files(cache, 1)).hasSize(4);
    start(cache, 1);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.NEW);
    assertThat(read()).isEqualTo(KeyHistory.NONE);
    assertThat(files(cache, 1)).hasSize(2);
    assertThat(files(cache, 1).toString()).matches("\\p{ASCII}*");
  }
}
