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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.cache.Cache;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.Range;
import com.google.common.hash.HashCode;
import com.google.common.hash.Hashing;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.TestSite.Backend;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.H2Imports;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportReport.State;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;

/** What Gerrit's own H2 caches left is there when this module takes their place. */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
@Tag("locale")
class H2ImportTest {
  private static final String SESSIONS = "web_sessions";

  @TempDir Path temp;
  private TestSite site;
  private Cache<String, String> cache;

  @AfterEach
  void close() {
    if (site != null) {
      site.close();
    }
  }

  private interface Fill {
    void into(Cache<String, String> cache);
  }

  private static TestCacheDef def(String name) {
    return new TestCacheDef(name);
  }

  /** Lets a Gerrit with H2 run for a while. */
  private void withH2(TestCacheDef def, Fill fill) {
    close();
    site = null;
    try (TestSite h2 = new TestSite(temp, Backend.H2)) {
      fill.into(h2.build(def));
      h2.settle();
    }
  }

  private static void putMany(Cache<String, String> cache, int count) {
    for (int i = 0; i < count; i++) {
      cache.put("key" + i, "value" + i);
    }
  }

  private void start(TestCacheDef def) {
    start(def, true);
  }

  private void start(TestCacheDef def, boolean automatic) {
    close();
    Config config = new Config();
    config.setBoolean("cache", null, "importFromH2", automatic);
    site = new TestSite(temp, Backend.CHRONICLE, config);
    cache = site.build(def);
  }

  private ImportReport run(String name) throws Exception {
    return site.inventory().importFromH2(name, false, Progress.NONE);
  }

  private Path h2File(String name) {
    return temp.resolve("cache").resolve(name + "-v2.mv.db");
  }

  private Map<String, HashCode> h2Files() throws IOException {
    Map<String, HashCode> result = new TreeMap<>();
    try (Stream<Path> files = Files.list(temp.resolve("cache"))) {
      for (Path file : files.filter(f -> f.toString().endsWith(".db")).toList()) {
        result.put(
            file.getFileName().toString(), MoreFiles.asByteSource(file).hash(Hashing.sha256()));
      }
    }
    return result;
  }

  private void sql(String name, String statement) throws SQLException {
    String path = h2File(name).toString();
    String url = "jdbc:h2:file:" + path.substring(0, path.length() - ".mv.db".length());
    try (Connection connection = new org.h2.Driver().connect(url, new Properties());
        Statement sql = connection.createStatement()) {
      sql.execute(statement);
    }
  }

  private void assertHasAll(int count) {
    for (int i = 0; i < count; i++) {
      assertWithMessage("key%s", i).that(cache.getIfPresent("key" + i)).isEqualTo("value" + i);
    }
  }

  @Test
  void allIsThereByItself() throws Exception {
    withH2(def("c"), h2 -> putMany(h2, 300));
    Map<String, HashCode> before = h2Files();
    start(def("c"));
    ImportReport report = run("c");
    assertThat(report.state()).isEqualTo(State.DONE);
    assertThat(report.imported()).isEqualTo(300);
    assertHasAll(300);
    start(def("c"));
    assertHasAll(300);
    assertThat(run("c").state()).isEqualTo(State.IN_USE);
    close();
    assertThat(h2Files()).isEqualTo(before);
  }

  @Test
  void sessionsAreThereBeforeAnyoneAsks() {
    withH2(def(SESSIONS), h2 -> putMany(h2, 100));
    start(def(SESSIONS));
    assertHasAll(100);
  }

  @Test
  void isLeftToTheAdminIfConfigured() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 100));
    start(def(SESSIONS), false);
    assertThat(run(SESSIONS).imported()).isEqualTo(100);
    assertHasAll(100);
  }

  @Test
  void dryRunChangesNothing() throws Exception {
    withH2(def("c"), h2 -> putMany(h2, 100));
    start(def("c"), false);
    ImportReport report = site.inventory().importFromH2("c", true, Progress.NONE);
    assertThat(report.imported()).isEqualTo(100);
    assertThat(report.rows()).isEqualTo(100);
    assertThat(cache.getIfPresent("key1")).isNull();
    assertThat(run("c").imported()).isEqualTo(100);
    assertThat(site.inventory().importFromH2("c", true, Progress.NONE).state())
        .isEqualTo(State.IN_USE);
  }

  @Test
  void anotherVersionIsLeft() throws Exception {
    withH2(def("c").version(1), h2 -> putMany(h2, 100));
    start(def("c").version(2), false);
    ImportReport report = run("c");
    assertThat(report.imported()).isEqualTo(0);
    assertThat(report.otherVersion()).isEqualTo(100);
    assertThat(cache.getIfPresent("key1")).isNull();
  }

  @Test
  void valuesKeepTheirAge() throws Exception {
    withH2(def("c"), h2 -> putMany(h2, 2));
    sql("c", "UPDATE data SET created = DATEADD(HOUR, -5, created) WHERE k = 'key0'");
    start(def("c").expireAfterWrite(Duration.ofHours(1)), false);
    ImportReport report = run("c");
    assertThat(report.tooOld()).isEqualTo(1);
    assertThat(cache.getIfPresent("key0")).isNull();
    assertThat(cache.getIfPresent("key1")).isEqualTo("value1");

    withH2(def("d"), h2 -> putMany(h2, 1));
    sql("d", "UPDATE data SET created = DATEADD(HOUR, -5, created)");
    start(def("d").expireAfterWrite(Duration.ofHours(6)), false);
    assertThat(run("d").imported()).isEqualTo(1);
    long created = SiteTest.storeOf(cache).read("key0".getBytes(UTF_8)).created();
    assertThat(System.currentTimeMillis() - created).isGreaterThan(Duration.ofHours(4).toMillis());
  }

  @Test
  void whatWasChangedMeanwhileWins() throws Exception {
    withH2(def("c"), h2 -> putMany(h2, 100));
    start(def("c"), false);
    cache.put("key1", "newer");
    cache.invalidate("key2");
    ImportReport report = run("c");
    assertThat(report.imported()).isEqualTo(98);
    assertThat(report.known()).isEqualTo(2);
    assertThat(cache.getIfPresent("key1")).isEqualTo("newer");
    assertThat(cache.getIfPresent("key2")).isNull();
    assertThat(cache.getIfPresent("key3")).isEqualTo("value3");
  }

  @Test
  void nothingComesBackAfterAFlush() throws Exception {
    withH2(def("c"), h2 -> putMany(h2, 100));
    start(def("c"), false);
    cache.invalidateAll();
    assertThat(run("c").imported()).isEqualTo(0);
    start(def("c"));
    assertThat(run("c").state()).isEqualTo(State.IN_USE);
    assertThat(cache.getIfPresent("key1")).isNull();
  }

  /** Ends an import after some rows. */
  private ImportReport breakOff(String name) throws Exception {
    return site.inventory()
        .importFromH2(
            name,
            false,
            new Progress() {
              private boolean ended;

              @Override
              public void step(int done, int total) {
                ended = done * 2 >= total;
              }

              @Override
              public boolean isCancelled() {
                return ended;
              }
            });
  }

  @Test
  void goesOnAfterARestart() throws Exception {
    withH2(def("c"), h2 -> putMany(h2, 200));
    start(def("c"), false);
    ImportReport half = breakOff("c");
    assertThat(half.state()).isEqualTo(State.INTERRUPTED);
    assertThat(half.imported()).isEqualTo(100);
    start(def("c"));
    ImportReport rest = run("c");
    assertThat(rest.state()).isEqualTo(State.DONE);
    assertThat(rest.imported()).isEqualTo(100);
    assertThat(rest.known()).isEqualTo(100);
    assertHasAll(200);
  }

  @Test
  void whoSignedOutStaysOutThoughTheImportWasBrokenOff() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 200));
    start(def(SESSIONS), false);
    assertThat(breakOff(SESSIONS).state()).isEqualTo(State.INTERRUPTED);
    cache.invalidate("key1");
    cache.invalidate("key190");
    start(def(SESSIONS));
    assertThat(run(SESSIONS).state()).isEqualTo(State.IN_USE);
    assertThat(cache.getIfPresent("key1")).isNull();
    assertThat(cache.getIfPresent("key190")).isNull();
    assertThat(cache.getIfPresent("key2")).isEqualTo("value2");
  }

  @Test
  void whoSignedOutWithH2InBetweenStaysOut() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def(SESSIONS));
    cache.put("ours", "session");
    withH2(
        def(SESSIONS),
        h2 -> {
          assertThat(h2.getIfPresent("key1")).isEqualTo("value1");
          h2.invalidate("key1");
          h2.put("theirs", "session");
        });
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("key1")).isNull();
    assertThat(cache.getIfPresent("key2")).isEqualTo("value2");
    assertThat(cache.getIfPresent("theirs")).isEqualTo("session");
    // Nobody knows whether it was signed out since.
    assertThat(cache.getIfPresent("ours")).isNull();
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("theirs")).isEqualTo("session");
  }

  @Test
  void aStoreIsAsItWasIfOnlyOtherFilesOfH2Changed() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def(SESSIONS));
    cache.invalidate("key1");
    // An offline reindex, say: it opens no sessions.
    withH2(def("c"), h2 -> putMany(h2, 10));
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("key1")).isNull();
    assertThat(cache.getIfPresent("key2")).isEqualTo("value2");
  }

  @Test
  void whoDeletesTheStoresGetsNothingOldBack() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def(SESSIONS));
    cache.invalidate("key1");
    close();
    MoreFiles.deleteRecursively(
        temp.resolve("cache/cache-chroniclemap"), RecursiveDeleteOption.ALLOW_INSECURE);
    start(def(SESSIONS));
    assertThat(run(SESSIONS).imported()).isEqualTo(0);
    assertThat(cache.getIfPresent("key1")).isNull();
  }

  @Test
  void whatH2HeldLongAgoIsLeftToTheAdmin() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    Files.setLastModifiedTime(
        h2File(SESSIONS), FileTime.from(Instant.now().minus(Duration.ofDays(30))));
    start(def(SESSIONS));
    assertThat(SiteTest.storeOf(cache).stats().entries()).isEqualTo(0);
    assertThat(run(SESSIONS).imported()).isEqualTo(10);
  }

  @Test
  void whatHasNoRoomIsWhatWasUsedLongestAgo() throws Exception {
    String large = "x".repeat(20_000);
    withH2(
        def("c").diskLimit(100 << 20),
        h2 -> {
          for (int i = 0; i < 1000; i++) {
            h2.put("key" + i, i + large);
          }
        });
    sql("c", "UPDATE data SET accessed = DATEADD(DAY, 1, accessed) WHERE k IN ('key7', 'key991')");
    start(def("c").diskLimit(5 << 20), false);
    ImportReport report = run("c");
    assertThat(report.state()).isEqualTo(State.FULL);
    assertThat(report.imported()).isGreaterThan(50);
    assertThat(cache.getIfPresent("key7")).isEqualTo(7 + large);
    assertThat(cache.getIfPresent("key991")).isEqualTo(991 + large);
  }

  @Test
  void aFileThatIsInUseIsLeftForLater() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    try (FileChannel channel =
        FileChannel.open(h2File(SESSIONS), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      var lock = channel.lock();
      start(def(SESSIONS));
      ImportReport report = run(SESSIONS);
      assertThat(report.state()).isEqualTo(State.FAILED);
      assertThat(report.detail()).contains(h2File(SESSIONS).toString());
      assertThat(report.detail()).contains("in use by another process");
      lock.release();
    }
    assertThat(run(SESSIONS).imported()).isEqualTo(10);
  }

  @Test
  void ofADamagedFileThereIsWhatStandsBeforeTheDamage() throws Exception {
    withH2(def("c"), h2 -> putMany(h2, 5000));
    spoilPagesWith("value2500");
    Map<String, HashCode> before = h2Files();
    start(def("c"), false);
    ImportReport report = run("c");
    assertThat(report.detail()).contains(h2File("c").toString());

    assertThat(h2Files()).isEqualTo(before);
    assertThat(report.state()).isEqualTo(State.FAILED);
    assertThat(report.imported()).isIn(Range.closed(1L, 4999L));
    assertThat(cache.getIfPresent("key0")).isEqualTo("value0");
  }

  /** Overwrites the pages of H2's file in which a text stands. */
  private void spoilPagesWith(String text) throws IOException {
    byte[] bytes = Files.readAllBytes(h2File("c"));
    String all = new String(bytes, ISO_8859_1);
    for (int at = all.indexOf(text); at >= 0; at = all.indexOf(text, at + 1)) {
      Arrays.fill(bytes, at - 1500, at + 1500, (byte) 0);
    }
    Files.write(h2File("c"), bytes);
  }

  /** A Gerrit leaves such files of caches that it opened and never used. */
  @Test
  void aFileWithoutATableHasNothing() throws Exception {
    withH2(def("c"), h2 -> putMany(h2, 1));
    withH2(def("rows"), h2 -> putMany(h2, 1));
    sql("c", "DROP TABLE data");
    sql("rows", "DELETE FROM data");
    start(def("c"));
    cache = site.build(def("rows"));
    for (String name : ImmutableList.of("c", "rows")) {
      ImportReport report = run(name);
      assertThat(report.state()).isEqualTo(State.DONE);
      assertThat(report.imported()).isEqualTo(0);
      assertThat(report.detail()).isEmpty();
    }
  }

  @Test
  void aFileThatIsCutOffIsNamed() throws Exception {
    withH2(def("c"), h2 -> putMany(h2, 100));
    try (FileChannel channel = FileChannel.open(h2File("c"), StandardOpenOption.WRITE)) {
      channel.truncate(5000);
    }
    start(def("c"));
    ImportReport report = run("c");
    assertThat(report.state()).isEqualTo(State.FAILED);
    assertThat(report.detail()).contains(h2File("c").toString());
    assertThat(cache.getIfPresent("key1")).isNull();
  }

  @Test
  void aFileWithAHeaderThatMakesNoSenseIsNamed() throws Exception {
    withH2(def("c"), h2 -> putMany(h2, 100));
    byte[] bytes = Files.readAllBytes(h2File("c"));
    // The header's "format:" is 3, and "read at least" 99 wants a later one; its checksum fails
    // too.
    String text = new String(bytes, 0, 8192, ISO_8859_1);
    byte[] later = text.replace("format:3", "format:9").getBytes(ISO_8859_1);
    System.arraycopy(later, 0, bytes, 0, 8192);
    Files.write(h2File("c"), bytes);
    start(def("c"));
    ImportReport report = run("c");
    assertThat(report.state()).isEqualTo(State.FAILED);
    assertThat(report.detail()).contains(h2File("c").toString());
  }

  private Path note() {
    return temp.resolve("cache/cache-chroniclemap.imported");
  }

  @Test
  void nobodyIsSignedInIfTheNoteIsDamaged() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    String older = "none\n" + Hashing.sha256().hashString("none\n", UTF_8) + "\n";
    for (String damage : ImmutableList.of("gone", "", "none\n", "x\ny\nz\n", older)) {
      start(def(SESSIONS));
      cache.invalidate("key1");
      cache.put("ours", "session");
      close();
      if (damage.equals("gone")) {
        Files.delete(note());
      } else {
        Files.writeString(note(), damage);
      }
      start(def(SESSIONS));
      assertThat(run(SESSIONS).imported()).isEqualTo(0);
      assertThat(cache.getIfPresent("key1")).isNull();
      assertThat(cache.getIfPresent("ours")).isNull();
      cache.put("later", "session");
      start(def(SESSIONS));
      assertThat(cache.getIfPresent("later")).isEqualTo("session");
      assertThat(cache.getIfPresent("key1")).isNull();
    }
  }

  @Test
  void aNoteThatCannotBeWrittenMeansAnEmptyStart() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    Files.createDirectories(note().resolveSibling(note().getFileName() + ".next/in-the-way"));
    start(def(SESSIONS));
    assertThat(assertThrows(CacheUpkeepException.class, () -> run(SESSIONS)))
        .hasMessageThat()
        .contains("see the log");
    assertThat(cache.getIfPresent("key1")).isNull();
    cache.put("a", "b");
    assertThat(cache.getIfPresent("a")).isEqualTo("b");
    // H2 may run now, and nobody could tell.
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("a")).isNull();
    assertThat(cache.getIfPresent("key1")).isNull();
  }

  /** Killed after the stores were deleted, and before that was noted. */
  @Test
  void inDoubtOnceIsInDoubtUntilItIsNoted() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def(SESSIONS));
    cache.invalidate("key1");
    close();
    Files.delete(note());
    H2Imports looking =
        new H2Imports(
            temp.resolve("cache"), Set.of(), /* hasStores= */ true, true, (level, text) -> {});
    assertThat(looking.whyStoresAreStale()).isPresent();
    H2Imports.forget(temp.resolve("cache"));
    MoreFiles.deleteRecursively(
        temp.resolve("cache/cache-chroniclemap"), RecursiveDeleteOption.ALLOW_INSECURE);
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("key1")).isNull();
    assertThat(cache.getIfPresent("key2")).isNull();
  }

  /** Of a plugin that was not there while H2 was in use, say. */
  @Test
  void whatH2DidNotTouchWhenItCameBackIsLeft() throws Exception {
    withH2(def("c"), h2 -> putMany(h2, 10));
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def(SESSIONS));
    cache = site.build(def("c"));
    assertThat(run("c").imported()).isEqualTo(10);
    cache.invalidate("key1");
    withH2(def(SESSIONS), h2 -> h2.put("theirs", "session"));
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("theirs")).isEqualTo("session");
    cache = site.build(def("c"));
    assertThat(run("c").imported()).isEqualTo(0);
    assertThat(cache.getIfPresent("key1")).isNull();
  }

  @Test
  void sessionsOfH2ThatTurnUpLaterAreLeft() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    byte[] late = Files.readAllBytes(h2File(SESSIONS));
    Files.delete(h2File(SESSIONS));
    start(def(SESSIONS));
    cache.put("ours", "session");
    close();
    Files.write(h2File(SESSIONS), late);
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("key1")).isNull();
    assertThat(cache.getIfPresent("ours")).isNull();
    cache.put("ours", "session");
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("ours")).isEqualTo("session");
  }

  private interface Use {
    void of(Cache<String, String> cache);
  }

  /** The folder of the stores can't be used: it belongs to somebody else, say. */
  private void startInMemoryOnly(TestCacheDef def, Use use) throws IOException {
    Path stores = temp.resolve("cache/cache-chroniclemap");
    Path aside = temp.resolve("aside");
    close();
    if (Files.exists(stores)) {
      Files.move(stores, aside);
    }
    Files.createFile(stores);
    start(def);
    assertThat(site.inventory().memoryOnlyReason()).isPresent();
    use.of(cache);
    close();
    site = null;
    Files.delete(stores);
    if (Files.exists(aside)) {
      Files.move(aside, stores);
    }
  }

  @Test
  void whoWasToldToSignInWhileAllWasInMemoryIsNotSignedInLater() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    withH2(def("diff_summary"), h2 -> putMany(h2, 10));
    startInMemoryOnly(def(SESSIONS), sessions -> sessions.put("again", "session"));
    start(def(SESSIONS));
    assertThat(run(SESSIONS).imported()).isEqualTo(0);
    assertThat(cache.getIfPresent("key1")).isNull();
    cache.put("ours", "session");
    // What can't be stale comes in all the same.
    cache = site.build(def("diff_summary"));
    assertThat(run("diff_summary").state()).isEqualTo(State.DONE);
    assertHasAll(10);

    startInMemoryOnly(def(SESSIONS), sessions -> sessions.put("again", "session"));
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("ours")).isNull();
    cache.put("later", "session");
    cache = site.build(def("diff_summary"));
    assertHasAll(10);
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("later")).isEqualTo("session");
  }

  @Test
  void whatWasOnlyReadWhileAllWasInMemoryStays() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def(SESSIONS));
    cache.put("ours", "session");
    startInMemoryOnly(
        def(SESSIONS), sessions -> assertThat(sessions.getIfPresent("ours")).isNull());
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("ours")).isEqualTo("session");
    assertHasAll(10);
  }

  /** Too many open files at the start, say, or a file of another user: that is no evidence. */
  @Test
  void whatCannotBeReadIsNoReasonToDeleteStores() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    for (Path unreadable : ImmutableList.of(note(), h2File(SESSIONS))) {
      start(def(SESSIONS));
      cache.put("ours", "session");
      cache = site.build(def("plugin.c"));
      cache.put("key", "old");
      close();
      Path aside = Files.move(unreadable, temp.resolve("aside"));
      Files.createDirectory(unreadable);
      start(def(SESSIONS));
      assertThat(site.inventory().memoryOnlyReason().get()).contains("cannot use " + stores());
      assertThat(cache.getIfPresent("ours")).isNull();
      cache = site.build(def("plugin.c").loader(new CountingLoader()));
      cache.invalidate("key");
      close();
      Files.delete(unreadable);
      Files.move(aside, unreadable);

      start(def(SESSIONS));
      assertHasAll(10);
      assertThat(cache.getIfPresent("ours")).isEqualTo("session");
      cache = site.build(def("plugin.c"));
      assertThat(cache.getIfPresent("key")).isNull();
    }
  }

  private Path stores() {
    return temp.resolve("cache/cache-chroniclemap");
  }

  /** Puts what cannot be read in the place of the stores and of what is noted of them. */
  private void hideStores() throws IOException {
    Files.move(stores(), temp.resolve("aside"));
    Files.createFile(stores());
    Files.move(note(), temp.resolve("ledger"));
    Files.createDirectory(note());
  }

  private void showStores() throws IOException {
    Files.delete(stores());
    Files.delete(note());
    Files.move(temp.resolve("aside"), stores());
    Files.move(temp.resolve("ledger"), note());
  }

  /** A change that could not be noted is not forgotten: the next one is noted for both. */
  @Test
  void aChangeIsNotedOnceThatIsPossible() throws Exception {
    start(def(SESSIONS));
    cache.put("ours", "session");
    close();
    hideStores();
    site = new TestSite(temp, Backend.CHRONICLE);
    cache = site.build(def(SESSIONS));
    cache.invalidate("ours");
    showStores();
    cache.put("another", "session");
    assertThat(Files.exists(stores().resolve("web_sessions-v1.discard"))).isTrue();
  }

  @Test
  void aFlushOfAContentKeyedCacheIsNotForgottenWhileItsStoreCannotBeRead() throws Exception {
    TestCacheDef pure = def("diff_summary");
    for (boolean isFolderThere : new boolean[] {true, false}) {
      start(pure);
      cache.put("key", "wrong");
      close();
      hideStores();
      if (isFolderThere) {
        // The note alone cannot be read.
        Files.delete(stores());
        Files.move(temp.resolve("aside"), stores());
      }
      start(pure);
      assertThat(site.inventory().memoryOnlyReason()).isPresent();
      cache.put("key", "computed");
      assertThat(Files.exists(stores().resolve("diff_summary-v1.discard"))).isFalse();
      cache.invalidateAll();
      if (isFolderThere) {
        Files.move(stores(), temp.resolve("aside"));
        Files.createFile(stores());
      }
      showStores();
      close();
      start(pure);
      assertThat(site.inventory().memoryOnlyReason()).isEmpty();
      assertThat(cache.getIfPresent("key")).isNull();
    }
  }

  /** The folder of the stores, its note, or both cannot be used at the start, but later. */
  @Test
  void cachesAreOnDiskAgainOnceTheirFolderCanBeOpened() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    for (int hidden = 1; hidden <= 3; hidden++) {
      start(def(SESSIONS));
      cache.put("signed in", "session");
      cache.put("signed out", "session");
      site.build(def("plugin.unchanged")).put("key", "value");
      site.build(def("diff_summary")).put("key", "wrong");
      site.build(def("git_file_diff")).put("key", "value");
      close();
      hideStores();
      if (hidden == 1) {
        Files.delete(note());
        Files.move(temp.resolve("ledger"), note());
      } else if (hidden == 2) {
        Files.delete(stores());
        Files.move(temp.resolve("aside"), stores());
      }
      site = new TestSite(temp, Backend.CHRONICLE);
      cache = site.build(def(SESSIONS));
      Cache<String, String> unchanged = site.build(def("plugin.unchanged"));
      Cache<String, String> flushed = site.build(def("diff_summary"));
      Cache<String, String> pure = site.build(def("git_file_diff"));
      assertThat(site.inventory().memoryOnlyReason().get()).contains("cannot use " + stores());
      assertThat(site.inventory().directory()).isEmpty();
      assertThat(site.inventory().reports()).isEmpty();
      cache.invalidate("signed out");
      cache.put("meanwhile", "session");
      flushed.invalidateAll();
      assertThat(cache.getIfPresent("meanwhile")).isEqualTo("session");

      if (hidden == 1) {
        Files.delete(stores());
        Files.move(temp.resolve("aside"), stores());
      } else if (hidden == 2) {
        Files.delete(note());
        Files.move(temp.resolve("ledger"), note());
      } else {
        showStores();
      }
      site.tryFolderAgain();
      assertThat(site.inventory().memoryOnlyReason()).isEmpty();
      assertThat(site.inventory().directory()).hasValue(stores());
      assertThat(site.inventory().reports()).hasSize(4);
      // Without markers, nobody knows which of the stores that can be stale are.
      assertThat(unchanged.getIfPresent("key")).isEqualTo(hidden == 2 ? "value" : null);
      assertThat(pure.getIfPresent("key")).isEqualTo("value");
      assertThat(flushed.getIfPresent("key")).isNull();
      cache.put("later", "session");

      start(def(SESSIONS));
      assertThat(cache.getIfPresent("later")).isEqualTo("session");
      assertThat(cache.getIfPresent("signed in")).isNull();
      assertThat(cache.getIfPresent("signed out")).isNull();
      assertThat(run(SESSIONS).imported()).isEqualTo(0);
      assertThat(cache.getIfPresent("key1")).isNull();
      assertThat(site.build(def("diff_summary")).getIfPresent("key")).isNull();
      assertThat(site.build(def("git_file_diff")).getIfPresent("key")).isEqualTo("value");
    }
  }

  /** A second server that is started by mistake: the first one has the stores. */
  @Test
  void aServerThatFindsTheFolderInUseDoesNotStart() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def(SESSIONS));
    IllegalStateException refused =
        assertThrows(IllegalStateException.class, () -> new TestSite(temp, Backend.CHRONICLE));
    String reason =
        String.format(
            Locale.ROOT,
            "%s is in use by this process (process %d)",
            temp.resolve("cache/cache-chroniclemap"),
            ProcessHandle.current().pid());
    assertThat(refused).hasMessageThat().contains(reason);
    assertThat(refused).hasMessageThat().contains("End that process");
    start(def(SESSIONS));
    assertHasAll(10);
  }

  /** It invalidates nothing that the server has on disk, so there is nothing to distrust. */
  @Test
  void anOfflineProgramBesideAServerChangesNothing() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def(SESSIONS));
    cache.put("ours", "session");
    try (TestSite program = TestSite.ofProgram(temp)) {
      assertThat(program.inventory().memoryOnlyReason().get()).contains("is in use");
      Cache<String, String> beside = program.build(def(SESSIONS));
      assertThat(beside.getIfPresent("ours")).isNull();
      beside.put("theirs", "session");
    }
    start(def(SESSIONS));
    assertHasAll(10);
    assertThat(cache.getIfPresent("ours")).isEqualTo("session");
    assertThat(cache.getIfPresent("theirs")).isNull();
  }

  @Test
  void whatCouldNotBeNotedAtTheStartIsNotedAtTheStop() throws Exception {
    start(def(SESSIONS));
    cache.put("ours", "session");
    close();
    hideStores();
    site = new TestSite(temp, Backend.CHRONICLE);
    assertThat(site.inventory().memoryOnlyReason()).isPresent();
    site.build(def(SESSIONS)).invalidate("ours");
    showStores();
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("ours")).isNull();
  }

  /** Nothing can be noted, not even that this module was ever there. */
  @Test
  void whoDoesWhatTheLogAsksForLetsNobodyIn() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    Files.createDirectory(note());
    startInMemoryOnly(def(SESSIONS), sessions -> sessions.put("again", "session"));
    assertThat(H2Imports.remedyIn(temp.resolve("cache")))
        .contains("make " + note() + " an empty file");
    Files.delete(note());
    Files.createFile(note());
    start(def(SESSIONS));
    assertThat(run(SESSIONS).imported()).isEqualTo(0);
    assertThat(cache.getIfPresent("key1")).isNull();
  }

  /** It belongs to somebody else, say, and the folder is ours. */
  @Test
  void aNoteThatCannotBeOpenedIsReplaced() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    Files.createSymbolicLink(note(), temp.resolve("nowhere/note"));
    startInMemoryOnly(def(SESSIONS), sessions -> sessions.put("again", "session"));
    assertThat(Files.isRegularFile(note(), LinkOption.NOFOLLOW_LINKS)).isTrue();
    start(def(SESSIONS));
    assertThat(run(SESSIONS).imported()).isEqualTo(0);
    assertThat(cache.getIfPresent("key1")).isNull();
  }

  @Test
  void aCacheOfAPluginThatIsReloadedIsStillTakenOver() throws Exception {
    String name = "plugin.cache";
    withH2(def(name), h2 -> putMany(h2, 10));
    start(def(name), /* automatic= */ false);
    cache.put("ours", "new");
    cache = site.build(def(name));
    assertThat(run(name).imported()).isEqualTo(10);
    assertHasAll(10);
  }

  @Test
  void whatACacheHeldBeforeItWasInMemoryOnlyDoesNotComeBack() throws Exception {
    inMemoryOnlyBy("0");
    inMemoryOnlyBy("32k");
  }

  private void inMemoryOnlyBy(String diskLimit) {
    for (String name : ImmutableList.of(SESSIONS, "diff_summary")) {
      start(def(name));
      cache.put("a", "b");
      close();
      Config config = new Config();
      config.setString("cache", name, "diskLimit", diskLimit);
      site = new TestSite(temp, Backend.CHRONICLE, config);
      site.build(def(name)).invalidate("a");
      start(def(name));
      assertThat(cache.getIfPresent("a")).isEqualTo(name.equals(SESSIONS) ? null : "b");
    }
  }

  @Test
  void ifItCannotBeNotedWhatIsInUseTheNextStartIsInDoubt() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    Path folder = temp.resolve("cache");
    H2Imports first =
        new H2Imports(folder, Set.of(), /* hasStores= */ false, true, (level, text) -> {});
    assertThat(first.whyStoresAreStale()).isEmpty();
    first.begin(/* late= */ false);
    Path inTheWay = folder.resolve(note().getFileName() + ".next/file");
    Files.createDirectories(inTheWay);
    first.ready();
    first.stop();
    MoreFiles.deleteRecursively(inTheWay.getParent(), RecursiveDeleteOption.ALLOW_INSECURE);
    H2Imports next =
        new H2Imports(folder, Set.of(), /* hasStores= */ false, true, (level, text) -> {});
    assertThat(next.whyStoresAreStale()).isPresent();
  }

  /** Who signed out with it is signed in with H2 still. */
  @Test
  void nobodyIsSignedInIfAnotherModuleWasInUseAfterH2() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    Path others = Files.createFile(temp.resolve("cache/web_sessions_1.dat"));
    setTime(h2File(SESSIONS), Duration.ofMinutes(9));
    setTime(others, Duration.ofMinutes(8));
    start(def(SESSIONS));
    assertThat(run(SESSIONS).imported()).isEqualTo(0);
    assertThat(cache.getIfPresent("key1")).isNull();
    cache.put("ours", "session");
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("ours")).isEqualTo("session");

    close();
    setTime(note(), Duration.ofMinutes(7));
    setTime(others, Duration.ofMinutes(6));
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("ours")).isNull();
    assertThat(cache.getIfPresent("key1")).isNull();
    cache.put("later", "session");
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("later")).isEqualTo("session");
  }

  @Test
  void whatAnotherModuleLeftBeforeH2WasInUseIsNoReason() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    Path others = Files.createFile(temp.resolve("cache/web_sessions_1.dat"));
    setTime(h2File(SESSIONS), Duration.ofMinutes(8));
    setTime(others, Duration.ofMinutes(9));
    start(def(SESSIONS));
    assertHasAll(10);
  }

  private static void setTime(Path file, Duration ago) throws IOException {
    Files.setLastModifiedTime(file, FileTime.from(Instant.now().minus(ago)));
  }

  @Test
  void aSettingThatMakesNoSenseLeavesItToTheAdmin() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    Config config = new Config();
    config.setString("cache", null, "importFromH2", "perhaps");
    site = new TestSite(temp, Backend.CHRONICLE, config);
    cache = site.build(def(SESSIONS));
    assertThat(SiteTest.storeOf(cache).stats().entries()).isEqualTo(0);
    assertThat(run(SESSIONS).imported()).isEqualTo(10);
  }

  @Test
  void whoDeletesTheStoresBeforeAnythingWasTakenOverGetsNothingOldBack() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def(SESSIONS), false);
    cache.invalidate("key1");
    close();
    MoreFiles.deleteRecursively(
        temp.resolve("cache/cache-chroniclemap"), RecursiveDeleteOption.ALLOW_INSECURE);
    start(def(SESSIONS));
    assertThat(run(SESSIONS).state()).isEqualTo(State.IN_USE);
    assertThat(cache.getIfPresent("key1")).isNull();
  }

  @Test
  void whatWasInMemoryOnlyIsNotTakenOverLater() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    Config memoryOnly = new Config();
    memoryOnly.setString("cache", SESSIONS, "diskLimit", "0");
    site = new TestSite(temp, Backend.CHRONICLE, memoryOnly);
    var unused = site.build(def(SESSIONS));
    // Here somebody signs out, and nobody notes it.
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("key1")).isNull();
  }

  @Test
  void whoWasToldToSignInIsNotSignedInLater() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def(SESSIONS), false);
    assertThat(cache.getIfPresent("key1")).isNull();
    assertThat(run(SESSIONS).imported()).isEqualTo(9);
    assertThat(cache.getIfPresent("key1")).isNull();
    assertThat(cache.getIfPresent("key2")).isEqualTo("value2");
  }

  /** As several.md tells how to start another node. */
  @Test
  void aNewNodeStartsWithACopyOfTheStores() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def("c"));
    putMany(cache, 100);
    close();
    Path from = temp.resolve("cache");
    Path to = Files.createDirectories(temp.resolve("node/cache"));
    Files.copy(note(), to.resolve(note().getFileName()));
    Files.createDirectory(to.resolve("cache-chroniclemap"));
    try (Stream<Path> files = Files.list(from.resolve("cache-chroniclemap"))) {
      for (Path file : files.toList()) {
        Files.copy(file, to.resolve("cache-chroniclemap").resolve(file.getFileName()));
      }
    }
    site = new TestSite(temp.resolve("node"), Backend.CHRONICLE);
    cache = site.build(def("c"));
    assertHasAll(100);
  }
}
