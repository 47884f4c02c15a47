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
import static com.google.common.truth.Truth.assertWithMessage;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A folder that cannot be opened when a server starts, but later: what is invalidated meanwhile is
 * never found again, and the rest is.
 */
@Timeout(60)
@Tag("locale")
class LateFolderTest extends FolderTest {
  private static final byte[] KEPT = "kept".getBytes(UTF_8);
  private static final byte[] GONE = "gone".getBytes(UTF_8);
  private static final byte[] VALUE = "value".getBytes(UTF_8);
  private static final StoreSettings CHANGED = settings("changed", 1 << 20, OldValues.SECRET);
  private static final StoreSettings READ = settings("read", 1 << 20, OldValues.MUTABLE);
  private static final StoreSettings PURE = settings("pure", 1 << 20, OldValues.PURE);
  private static final long MINUTE = TimeUnit.MINUTES.toMillis(1);

  /** What keeps a server from a folder(). */
  private enum Trouble {
    NONE,
    /** No file can be created, not even a marker. */
    READ_ONLY,
    /** The lock file belongs to somebody else. */
    FOREIGN_LOCK,
    /** The file system has no locks now. */
    NO_LOCKS,
    /** The owner of the folder cannot find out whether the stores are stale. */
    UNCHECKED,
    /** Another process uses the folder(). */
    IN_USE,
    /** A file has its place. */
    A_FILE
  }

  private volatile Trouble trouble = Trouble.NONE;
  private final AtomicLong clock = new AtomicLong(System.currentTimeMillis());
  private final AtomicInteger distrusted = new AtomicInteger();
  private volatile boolean isDistrustRecorded = true;
  private AutoCloseable obstacle = () -> {};

  private final Disk disk =
      new TestDisk()
          .before(Call.CREATE, file -> failIf(trouble == Trouble.READ_ONLY, file))
          .before(
              Call.OPEN,
              file -> {
                failIf(trouble == Trouble.READ_ONLY && file.endsWith("lock"), file);
                failIf(trouble == Trouble.FOREIGN_LOCK && file.endsWith("lock"), file);
                if (trouble == Trouble.NO_LOCKS && file.endsWith("lock")) {
                  throw new IOException("No locks available");
                }
              });

  private static void failIf(boolean isBroken, Path file) throws IOException {
    if (isBroken) {
      throw new AccessDeniedException(file.toString());
    }
  }

  @BeforeEach
  void fill() throws Exception {
    directory = unopened();
    directory.openWhenFree(Duration.ZERO, who -> {});
    for (StoreSettings settings : List.of(CHANGED, READ, PURE)) {
      Store store = TestStores.open(directory, settings);
      store.put(KEPT, VALUE, clock.get());
      store.put(GONE, VALUE, clock.get());
      store.flush();
    }
    directory.close();
  }

  @AfterEach
  void close() throws Exception {
    directory.close();
    obstacle.close();
  }

  private StoreDirectory unopened() {
    return new StoreDirectory(
        folder(),
        disk,
        clock::get,
        StoreThreads::named,
        locked -> failIf(trouble == Trouble.UNCHECKED, folder()),
        () -> {
          distrusted.incrementAndGet();
          return isDistrustRecorded;
        });
  }

  private void begin(Trouble met) throws Exception {
    trouble = met;
    if (met == Trouble.IN_USE) {
      obstacle = StoreDirectory.open(folder());
    } else if (met == Trouble.A_FILE) {
      Path aside = Files.move(folder(), temp.resolve("aside"));
      Files.createFile(folder());
      obstacle =
          () -> {
            Files.delete(folder());
            Files.move(aside, folder());
          };
    }
  }

  private void end() throws Exception {
    trouble = Trouble.NONE;
    obstacle.close();
    obstacle = () -> {};
  }

  /** Starts a server that cannot open the folder(). */
  private void startInVain(Trouble met) throws Exception {
    begin(met);
    directory = unopened();
    StoreUnavailableException why =
        assertThrows(
            StoreUnavailableException.class,
            () -> directory.openWhenFree(Duration.ZERO, who -> {}));
    assertThat(directory.obstacle().orElseThrow()).contains(why.getMessage());
  }

  private Store open(StoreSettings settings) throws Exception {
    return TestStores.open(directory, settings);
  }

  private void sweepLater() {
    clock.addAndGet(MINUTE);
    directory.sweep();
  }

  private Map<String, Long> files() throws IOException {
    Map<String, Long> files = new TreeMap<>();
    if (Files.isDirectory(folder())) {
      for (Path file : TestStores.filesIn(folder())) {
        files.put(file.getFileName().toString(), Files.size(file));
      }
    }
    return files;
  }

  private static void assertIsThere(boolean isThere, Store store, byte[] key) {
    assertWithMessage("%s in %s", new String(key, UTF_8), store.name())
        .that(store.read(key) != null)
        .isEqualTo(isThere);
  }

  @ParameterizedTest
  @EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void itIsTriedAgainAsAFileIs(Trouble met) throws Exception {
    startInVain(met);
    Map<String, Long> before = files();
    Store changed = open(CHANGED);
    Store read = open(READ);
    Store pure = open(PURE);
    for (Store store : List.of(changed, read, pure)) {
      assertThat(store.stats().state()).isEqualTo(StoreState.FAILED);
      assertIsThere(false, store, KEPT);
    }
    changed.remove(GONE);
    changed.put(KEPT, VALUE, clock.get());
    pure.clear();
    sweepLater();
    assertThat(directory.obstacle()).isPresent();
    changed.remove(GONE);

    // But for markers, it is as it was.
    Map<String, Long> after = files();
    after.keySet().removeIf(name -> name.endsWith(".discard"));
    before.keySet().removeIf(name -> name.endsWith(".discard"));
    assertThat(after).isEqualTo(before);

    end();
    sweepLater();
    assertThat(directory.obstacle()).isEmpty();
    for (Store store : List.of(changed, read, pure)) {
      assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    }
    assertIsThere(false, changed, GONE);
    assertIsThere(false, changed, KEPT);
    assertIsThere(false, pure, GONE);
    assertIsThere(true, read, KEPT);
    assertIsThere(true, read, GONE);
    changed.put(KEPT, VALUE, clock.get());
    directory.close();

    directory = StoreDirectory.open(folder());
    assertIsThere(true, open(CHANGED), KEPT);
    assertIsThere(false, open(CHANGED), GONE);
    assertIsThere(true, open(READ), GONE);
    assertIsThere(false, open(PURE), GONE);
  }

  /**
   * Killed meanwhile: the next start knows what was missed from markers, or else from the owner.
   */
  @ParameterizedTest
  @EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void theNextStartDoesNotServeWhatWasInvalidated(Trouble met) throws Exception {
    startInVain(met);
    Store changed = open(CHANGED);
    for (int i = 0; i < 3; i++) {
      changed.remove(GONE);
    }
    assertThat(open(READ).read(KEPT)).isNull();
    end();
    if (met == Trouble.READ_ONLY || met == Trouble.A_FILE) {
      // Once, as that is recorded.
      assertThat(distrusted.get()).isAtLeast(1);
      assertThat(distrusted.get()).isAtMost(2);
      return;
    }
    try (StoreDirectory next = StoreDirectory.open(folder())) {
      assertIsThere(false, TestStores.open(next, CHANGED), GONE);
      assertIsThere(true, TestStores.open(next, READ), GONE);
    }
  }

  @Test
  void whatCannotBeRecordedIsAtTheNextChangeOrAtTheStop() throws Exception {
    isDistrustRecorded = false;
    startInVain(Trouble.READ_ONLY);
    open(CHANGED).remove(GONE);
    open(PURE).clear();
    assertThat(files().keySet()).containsNoneOf("changed-v1.discard", "pure-v1.discard");
    trouble = Trouble.FOREIGN_LOCK;
    open(CHANGED).remove(KEPT);
    assertThat(files()).containsKey("changed-v1.discard");
    directory.close();
    assertThat(files()).containsKey("pure-v1.discard");
  }

  /** Another process may delete a marker with the files, and make new ones. */
  @Test
  void whatAnotherProcessStoresMeanwhileIsNotFoundAfterAChange() throws Exception {
    startInVain(Trouble.UNCHECKED);
    Store changed = open(CHANGED);
    changed.remove(GONE);
    try (StoreDirectory other = StoreDirectory.open(folder())) {
      Store theirs = TestStores.open(other, CHANGED);
      assertIsThere(false, theirs, GONE);
      theirs.put(GONE, VALUE, clock.get());
      sweepLater();
      assertThat(directory.obstacle().orElseThrow()).contains("in use");
      assertIsThere(true, theirs, GONE);
    }
    changed.remove(GONE);
    end();
    sweepLater();
    assertThat(changed.stats().state()).isEqualTo(StoreState.READY);
    assertIsThere(false, changed, GONE);
  }

  /** That process may have ended before the stop of this one, which finds its files all right. */
  @Test
  void aMarkerThatAnotherProcessDeletedIsMadeAgain() throws Exception {
    startInVain(Trouble.UNCHECKED);
    Store changed = open(CHANGED);
    Store pure = open(PURE);
    changed.remove(GONE);
    pure.clear();
    try (StoreDirectory other = StoreDirectory.open(folder())) {
      for (StoreSettings settings : List.of(CHANGED, PURE)) {
        Store theirs = TestStores.open(other, settings);
        assertIsThere(false, theirs, GONE);
        theirs.put(GONE, VALUE, clock.get());
      }
    }
    changed.remove(GONE);
    pure.clear();
    // Before the stop, which may not come.
    assertThat(files().keySet()).containsAtLeast("changed-v1.discard", "pure-v1.discard");
    directory.close();
    end();
    directory = StoreDirectory.open(folder());
    assertIsThere(false, open(CHANGED), GONE);
    assertIsThere(false, open(PURE), GONE);
  }

  @Test
  void allStoresOfASweepTryItOnce() throws Exception {
    startInVain(Trouble.UNCHECKED);
    Store changed = open(CHANGED);
    Store read = open(READ);
    end();
    // Right after an attempt, nothing is tried.
    directory.sweep();
    assertThat(directory.obstacle()).isPresent();
    clock.addAndGet(2 * MINUTE);
    directory.sweep();
    assertThat(changed.stats().state()).isEqualTo(StoreState.READY);
    assertThat(read.stats().state()).isEqualTo(StoreState.READY);
  }

  @Test
  void aStopMeanwhileLeavesTheFolderToOthers() throws Exception {
    startInVain(Trouble.UNCHECKED);
    Store read = open(READ);
    directory.close();
    end();
    read.remove(GONE);
    sweepLater();
    assertThat(directory.obstacle()).isPresent();
    assertThrows(StoreUnavailableException.class, () -> directory.openStore(PURE));
    try (StoreDirectory next = StoreDirectory.open(folder())) {
      assertIsThere(false, TestStores.open(next, READ), GONE);
      assertIsThere(true, TestStores.open(next, PURE), GONE);
    }
  }
}
