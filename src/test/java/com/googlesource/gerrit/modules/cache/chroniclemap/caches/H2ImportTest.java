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
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.TestSite.Backend;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.H2Takeover;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Seed;
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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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

  private static TestCacheDef<String> def(String name) {
    return TestCacheDef.of(name);
  }

  /** Lets a Gerrit with H2 run for a while. */
  private void withH2(TestCacheDef<String> def, Consumer<Cache<String, String>> use) {
    close();
    site = null;
    try (TestSite h2 = new TestSite(temp, Backend.H2)) {
      use.accept(h2.build(def));
      h2.settle();
    }
  }

  private static void putMany(Cache<String, String> cache, int count) {
    for (int i = 0; i < count; i++) {
      cache.put("key" + i, "value" + i);
    }
  }

  private void start(TestCacheDef<String> def) {
    start(def, new Config());
  }

  private void start(TestCacheDef<String> def, Config config) {
    close();
    site = new TestSite(temp, Backend.CHRONICLE, config);
    cache = site.build(def);
  }

  private static Config config(String section, String subsection, String name, String value) {
    Config config = new Config();
    config.setString(section, subsection, name, value);
    return config;
  }

  private Path h2File(String name) {
    return temp.resolve("cache").resolve(name + "-v2.mv.db");
  }

  private void sql(String name, String statement) throws SQLException {
    String path = h2File(name).toString();
    String url = "jdbc:h2:file:" + path.substring(0, path.length() - ".mv.db".length());
    try (Connection connection = new org.h2.Driver().connect(url, new Properties());
        Statement sql = connection.createStatement()) {
      sql.execute(statement);
      sql.execute("SHUTDOWN");
    }
  }

  private void assertHasAll(int count) {
    for (int i = 0; i < count; i++) {
      assertWithMessage("key%s", i).that(cache.getIfPresent("key" + i)).isEqualTo("value" + i);
    }
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

  /** Overwrites the pages of H2's file in which a text stands. */
  private void spoilPagesWith(String text) throws IOException {
    byte[] bytes = Files.readAllBytes(h2File("c"));
    String all = new String(bytes, ISO_8859_1);
    for (int at = all.indexOf(text); at >= 0; at = all.indexOf(text, at + 1)) {
      Arrays.fill(bytes, at - 1500, at + 1500, (byte) 0);
    }
    Files.write(h2File("c"), bytes);
  }

  /** The folder of the stores can't be used: it belongs to somebody else, say. */
  private void startInMemoryOnly(TestCacheDef<String> def, Consumer<Cache<String, String>> use)
      throws IOException {
    Path aside = temp.resolve("aside");
    close();
    if (Files.exists(stores())) {
      Files.move(stores(), aside);
    }
    Files.createFile(stores());
    start(def);
    assertThat(site.inventory().memoryOnlyReason()).isPresent();
    use.accept(cache);
    close();
    site = null;
    Files.delete(stores());
    if (Files.exists(aside)) {
      Files.move(aside, stores());
    }
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
    start(def(SESSIONS));
    cache.put("ours", "session");
    cache = site.build(def("plugin.c"));
    cache.put("key", "old");
    close();
    Files.createDirectory(note());
    start(def(SESSIONS));
    assertThat(site.inventory().memoryOnlyReason().get()).contains("cannot use " + stores());
    assertThat(cache.getIfPresent("ours")).isNull();
    cache = site.build(def("plugin.c").loader(new CountingLoader()));
    cache.invalidate("key");
    close();
    Files.delete(note());

    start(def(SESSIONS));
    assertThat(cache.getIfPresent("ours")).isEqualTo("session");
    cache = site.build(def("plugin.c"));
    assertThat(cache.getIfPresent("key")).isNull();
  }

  private Path note() {
    return temp.resolve("cache/cache-chroniclemap.imported");
  }

  private Path stores() {
    return temp.resolve("cache/cache-chroniclemap");
  }

  /** Puts what cannot be read in the place of the stores and of what is noted of them. */
  private void hideStores() throws IOException {
    Files.move(stores(), temp.resolve("aside"));
    Files.createFile(stores());
    Files.createDirectory(note());
  }

  private void showStores() throws IOException {
    Files.delete(stores());
    Files.move(temp.resolve("aside"), stores());
    Files.delete(note());
  }

  /**
   * Changes that could not be noted are not forgotten: they are noted with the next one, or at the
   * stop.
   */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void changesAreNotedOnceThatIsPossible(boolean isAnotherMade) throws Exception {
    start(def(SESSIONS));
    cache.put("ours", "session");
    site.build(def("diff_summary")).put("key", "wrong");
    close();
    hideStores();
    start(def(SESSIONS));
    assertThat(site.inventory().memoryOnlyReason()).isPresent();
    cache.invalidate("ours");
    Cache<String, String> pure = site.build(def("diff_summary"));
    pure.put("key", "computed");
    pure.invalidateAll();
    showStores();
    if (isAnotherMade) {
      cache.put("another", "session");
      assertThat(Files.exists(stores().resolve("web_sessions-v1.discard"))).isTrue();
    }
    start(def(SESSIONS));
    assertThat(site.inventory().memoryOnlyReason()).isEmpty();
    assertThat(cache.getIfPresent("ours")).isNull();
    assertThat(site.build(def("diff_summary")).getIfPresent("key")).isNull();
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
            stores(),
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
  void whatACacheHeldBeforeItWasInMemoryOnlyDoesNotComeBack() throws Exception {
    inMemoryOnlyBy("0");
    inMemoryOnlyBy("32k");
  }

  private void inMemoryOnlyBy(String diskLimit) {
    for (String name : ImmutableList.of(SESSIONS, "diff_summary")) {
      start(def(name));
      cache.put("a", "b");
      start(def(name), config("cache", name, "diskLimit", diskLimit));
      cache.invalidate("a");
      start(def(name));
      assertThat(cache.getIfPresent("a")).isEqualTo(name.equals(SESSIONS) ? null : "b");
    }
  }

  private static void setTime(Path file, Duration ago) throws IOException {
    Files.setLastModifiedTime(file, FileTime.from(Instant.now().minus(ago)));
  }

  @Test
  void whatWasInMemoryOnlyIsNotTakenOverLater() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def(SESSIONS), config("cache", SESSIONS, "diskLimit", "0"));
    // Here somebody signs out, and nobody notes it.
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("key1")).isNull();
  }

  private long entries() {
    return SiteTest.storeOf(cache).stats().entries();
  }

  /** What H2 has left is moved away, byte for byte, so that it is imported only once. */
  @Test
  void allIsThereByItself() throws Exception {
    withH2(def("c"), h2 -> putMany(h2, 300));
    byte[] before = Files.readAllBytes(h2File("c"));
    start(def("c"));
    assertHasAll(300);
    assertThat(Files.exists(h2File("c"))).isFalse();
    cache.invalidate("key1");
    start(def("c"));
    assertThat(cache.getIfPresent("key1")).isNull();
    assertThat(cache.getIfPresent("key2")).isEqualTo("value2");
    // A program that runs with H2 by mistake, say: what was there at the switch stays.
    withH2(def("c"), h2 -> putMany(h2, 1));
    start(def("c"));
    close();
    assertThat(Files.readAllBytes(away("c"))).isEqualTo(before);
    assertThat(Files.exists(away("c").resolveSibling("c-v2.mv.db.later"))).isTrue();
  }

  private Path away(String name) {
    return temp.resolve("cache").resolve("taken-over").resolve(name + "-v2.mv.db");
  }

  private void assertStartsEmpty(TestCacheDef<String> def) {
    start(def);
    assertThat(entries()).isEqualTo(0);
    assertThat(Files.exists(h2File(def.name()))).isFalse();
  }

  @Test
  void nothingIsImportedIfConfiguredOrWithASettingThatMakesNoSense() {
    withH2(def("c"), h2 -> putMany(h2, 100));
    start(def("c"), config("cache-chroniclemap", null, "importFromH2", "false"));
    assertThat(entries()).isEqualTo(0);
    assertThat(Files.exists(h2File("c"))).isFalse();
    withH2(def("d"), h2 -> putMany(h2, 100));
    start(def("d"), config("cache", null, "importFromH2", "perhaps"));
    assertThat(entries()).isEqualTo(0);
  }

  @Test
  void valuesOfAnotherVersionAndOfLongAgoAreLeft() throws Exception {
    withH2(def("c").version(1), h2 -> putMany(h2, 100));
    assertStartsEmpty(def("c").version(2));
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    setTime(h2File(SESSIONS), Duration.ofDays(30));
    assertStartsEmpty(def(SESSIONS));
  }

  @Test
  void valuesKeepTheirAge() throws Exception {
    withH2(def("c"), h2 -> putMany(h2, 2));
    sql("c", "UPDATE data SET created = DATEADD(HOUR, -5, created) WHERE k = 'key0'");
    start(def("c").expireAfterWrite(Duration.ofHours(1)));
    assertThat(cache.getIfPresent("key0")).isNull();
    assertThat(cache.getIfPresent("key1")).isEqualTo("value1");

    withH2(def("d"), h2 -> putMany(h2, 1));
    sql("d", "UPDATE data SET created = DATEADD(HOUR, -5, created)");
    start(def("d").expireAfterWrite(Duration.ofHours(6)));
    long created = SiteTest.storeOf(cache).read("key0".getBytes(UTF_8)).created();
    assertThat(System.currentTimeMillis() - created).isGreaterThan(Duration.ofHours(4).toMillis());
  }

  @Test
  void whoSignedOutWithH2InBetweenStaysOut() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def(SESSIONS));
    cache.put("ours", "session");
    close();
    // Back to H2 with what it had.
    Files.move(away(SESSIONS), h2File(SESSIONS));
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
  void whoDeletesTheStoresGetsNothingOldBack() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def(SESSIONS));
    cache.invalidate("key1");
    close();
    MoreFiles.deleteRecursively(stores(), RecursiveDeleteOption.ALLOW_INSECURE);
    assertStartsEmpty(def(SESSIONS));
  }

  /** Back again without H2 having run, they are older than what this module has changed since. */
  @Test
  void h2FilesThatArePutBackSignNobodyIn() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def(SESSIONS));
    cache.invalidate("key1");
    close();
    Files.move(away(SESSIONS), h2File(SESSIONS));
    setTime(h2File(SESSIONS), Duration.ofMinutes(1));
    assertStartsEmpty(def(SESSIONS));
  }

  /** H2's caches that nobody uses have files, too, by which this module sees that H2 has run. */
  @Test
  void aGerritWithH2LeavesAFileOfEachCache() throws Exception {
    withH2(def(SESSIONS), h2 -> {});
    assertThat(Files.exists(h2File(SESSIONS))).isTrue();
  }

  /** Version 1.0.0 left H2's files where they were, and noted what it had imported. */
  @Test
  void whatAnEarlierVersionHasImportedIsNotImportedAgain() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    byte[] left = Files.readAllBytes(h2File(SESSIONS));
    start(def(SESSIONS));
    cache.put("ours", "session");
    cache.invalidate("key1");
    close();
    Files.write(h2File(SESSIONS), left);
    setTime(h2File(SESSIONS), Duration.ofMinutes(9));
    // Left by the other module even before.
    setTime(Files.createFile(temp.resolve("cache/web_sessions_1.dat")), Duration.ofMinutes(10));
    Files.writeString(note(), "2 none\n");
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("ours")).isEqualTo("session");
    assertThat(cache.getIfPresent("key1")).isNull();
    assertThat(cache.getIfPresent("key2")).isEqualTo("value2");
    assertThat(Files.exists(h2File(SESSIONS))).isFalse();
    assertThat(Files.exists(note())).isFalse();
  }

  /** As version 1.0.0 left it; or the other module, which was in use since. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anOldFileThatCannotBeMovedKeepsNoCacheFromItsStore(boolean isOfOthers) throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def(SESSIONS));
    cache.put("ours", "session");
    cache.invalidate("key1");
    close();
    Files.copy(away(SESSIONS), h2File(SESSIONS));
    setTime(h2File(SESSIONS), Duration.ofMinutes(9));
    Path others = temp.resolve("cache/web_sessions_1.dat");
    if (isOfOthers) {
      setTime(Files.createFile(others), Duration.ofMinutes(8));
    } else {
      Files.writeString(note(), "2 none\n");
    }
    withH2(def("later"), h2 -> putMany(h2, 10));
    Path obstacle = temp.resolve("cache/taken-over/web_sessions-v2.mv.db.later/obstacle");
    Files.createDirectories(obstacle);
    for (boolean isAgain : new boolean[] {false, true}) {
      start(def(SESSIONS));
      assertThat(site.inventory().memoryOnlyReason()).isEmpty();
      assertThat(cache.getIfPresent("ours") != null).isEqualTo(isAgain || !isOfOthers);
      assertThat(cache.getIfPresent("key1")).isNull();
      cache.put("ours", "session");
    }
    assertThat(Files.exists(h2File(SESSIONS))).isTrue();
    Files.delete(obstacle);
    Files.delete(obstacle.getParent());
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("ours")).isEqualTo("session");
    for (Path file : List.of(h2File(SESSIONS), others, note())) {
      assertThat(Files.exists(file)).isFalse();
    }
    start(def("later")); // as that of a plugin
    assertHasAll(10);
  }

  /** Nothing could be noted, not even that this module was ever there. */
  @Test
  void whoDoesWhatTheLogAsksForLetsNobodyIn() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def("plugin.cache"));
    cache.put("a", "b");
    Files.createDirectory(note());
    startInMemoryOnly(def(SESSIONS), sessions -> sessions.put("again", "session"));
    assertThat(H2Takeover.remedyIn(temp.resolve("cache")))
        .contains("make " + note() + " an empty file");
    Files.delete(note());
    Files.createFile(note());
    assertStartsEmpty(def(SESSIONS));
    cache = site.build(def("plugin.cache"));
    assertThat(cache.getIfPresent("a")).isNull();
  }

  /** It belongs to somebody else, say, and the folder is ours. */
  @Test
  void aNoteThatCannotBeOpenedIsReplaced() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    Files.createSymbolicLink(note(), temp.resolve("nowhere/note"));
    startInMemoryOnly(def(SESSIONS), sessions -> sessions.put("again", "session"));
    assertThat(Files.isRegularFile(note(), LinkOption.NOFOLLOW_LINKS)).isTrue();
    assertStartsEmpty(def(SESSIONS));
  }

  /** As into a file system that is not mounted any more. */
  @Test
  void aLinkToNowhereKeepsNoCacheFromItsFile() throws Exception {
    Files.createDirectory(temp.resolve("cache"));
    Files.createSymbolicLink(h2File(SESSIONS), temp.resolve("nowhere"));
    Files.createSymbolicLink(temp.resolve("cache/c_1.dat"), temp.resolve("nowhere"));
    Files.createSymbolicLink(
        temp.resolve("cache/cache-chroniclemap.imported"), temp.resolve("nowhere"));
    for (String name : ImmutableList.of(SESSIONS, "c")) {
      start(def(name));
      cache.put("key", "value");
      start(def(name));
      assertThat(cache.getIfPresent("key")).isEqualTo("value");
    }
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
    start(def("c").diskLimit(5 << 20));
    assertThat(entries()).isGreaterThan(50);
    assertThat(cache.getIfPresent("key7")).isEqualTo(7 + large);
    assertThat(cache.getIfPresent("key991")).isEqualTo(991 + large);
  }

  /** As an offline program with H2 uses it: what changes meanwhile is noted. */
  @Test
  void aFileThatIsInUseIsTakenOverLater() throws Exception {
    for (String name : ImmutableList.of("diff_summary", "c")) {
      withH2(def(name), h2 -> putMany(h2, 10));
      try (FileChannel channel =
          FileChannel.open(h2File(name), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
        var lock = channel.lock();
        start(def(name));
        assertThat(cache.getIfPresent("key1")).isNull();
        assertThat(SiteTest.storeOf(cache).stats().start().detail())
            .contains(h2File(name) + " is in use by another process");
        cache.invalidate("key1");
        lock.release();
      }
      start(def(name));
      // Unless what was changed meanwhile could be stale.
      assertThat(cache.getIfPresent("key2")).isEqualTo(name.equals("c") ? null : "value2");
    }
  }

  @Test
  void ofADamagedFileThereIsWhatStandsBeforeTheDamage() throws Exception {
    withH2(def("c"), h2 -> putMany(h2, 5000));
    spoilPagesWith("value2500");
    start(def("c"));
    assertThat(entries()).isIn(Range.closed(1L, 4999L));
  }

  /** A Gerrit leaves such files of caches that it opened and never used; others are damaged. */
  @Test
  void aFileWithoutRowsHasNothing() throws Exception {
    for (String name : ImmutableList.of("c", "rows", "short", "header")) {
      withH2(def(name), h2 -> putMany(h2, 100));
    }
    sql("c", "DROP TABLE data");
    sql("rows", "DELETE FROM data");
    try (FileChannel channel = FileChannel.open(h2File("short"), StandardOpenOption.WRITE)) {
      channel.truncate(5000);
    }
    byte[] bytes = Files.readAllBytes(h2File("header"));
    // The header's "format:" is 3, and "read at least" 99 wants a later one.
    String text = new String(bytes, 0, 8192, ISO_8859_1);
    System.arraycopy(text.replace("format:3", "format:9").getBytes(ISO_8859_1), 0, bytes, 0, 8192);
    Files.write(h2File("header"), bytes);
    for (String name : ImmutableList.of("c", "rows", "short", "header")) {
      assertStartsEmpty(def(name));
      cache.put("a", "b");
      assertThat(cache.getIfPresent("a")).isEqualTo("b");
    }
  }

  @Test
  void whoWasToldToSignInWhileAllWasInMemoryIsNotSignedInLater() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    withH2(def("diff_summary"), h2 -> putMany(h2, 10));
    startInMemoryOnly(def(SESSIONS), sessions -> sessions.put("again", "session"));
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("key1")).isNull();
    cache.put("ours", "session");
    cache = site.build(def("diff_summary"));
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

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void nobodyIsSignedInIfAnotherModuleWasInUseAfterH2(boolean isAfter) throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    setTime(h2File(SESSIONS), Duration.ofMinutes(9));
    Path others = Files.createFile(temp.resolve("cache/web_sessions_1.dat"));
    setTime(others, Duration.ofMinutes(isAfter ? 8 : 10));
    start(def(SESSIONS));
    assertHasAll(isAfter ? 0 : 10);
    assertThat(entries()).isEqualTo(isAfter ? 0 : 10);
    assertThat(Files.exists(h2File(SESSIONS))).isFalse();
    cache.put("ours", "session");
    start(def(SESSIONS));
    assertThat(cache.getIfPresent("ours")).isEqualTo("session");
  }

  @Test
  void anOfflineProgramLeavesItToTheServer() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    try (TestSite program = TestSite.ofProgram(temp)) {
      assertThat(program.build(def(SESSIONS)).getIfPresent("key1")).isNull();
    }
    start(def(SESSIONS));
    assertHasAll(10);
  }

  /** As several.md tells how to start another node. */
  @Test
  void aNewNodeStartsWithACopyOfTheStores() throws Exception {
    withH2(def(SESSIONS), h2 -> putMany(h2, 10));
    start(def("c"));
    putMany(cache, 100);
    close();
    Path to = Files.createDirectories(temp.resolve("node/cache/cache-chroniclemap"));
    try (Stream<Path> files = Files.list(stores())) {
      for (Path file : files.toList()) {
        Files.copy(file, to.resolve(file.getFileName()));
      }
    }
    site = new TestSite(temp.resolve("node"), Backend.CHRONICLE);
    cache = site.build(def("c"));
    assertHasAll(100);
  }

  /** Reads what H2 left of a cache; returns what is logged. */
  private List<String> read(
      TestCacheDef<String> def, Predicate<byte[]> take, BooleanSupplier goesOn) throws Exception {
    List<String> messages = new ArrayList<>();
    Seed seed =
        new H2Takeover(
                temp.resolve("cache"), Set.of(), true, (level, message) -> messages.add(message))
            .seed(def)
            .get();
    seed.fill(
        new Seed.Sink() {
          @Override
          public boolean take(byte[] key, byte[] value, long created) {
            return take.test(key);
          }

          @Override
          public boolean goesOn() {
            return goesOn.getAsBoolean();
          }
        },
        /* mayNotFit= */ false);
    return messages;
  }

  /** A stop, or users who wait, must not wait for many rows of another version either. */
  @Test
  void anImportEndsWhileRowsAreLeftOut() throws Exception {
    withH2(def("c"), h2 -> putMany(h2, 10));
    AtomicInteger asked = new AtomicInteger();
    Predicate<byte[]> none =
        key -> {
          throw new AssertionError("of another version");
        };
    var unused = read(def("c").version(2), none, () -> asked.incrementAndGet() < 3);
    assertThat(asked.get()).isEqualTo(3);
  }

  @Test
  void onlyValuesThatAreTakenCountAsImported() throws Exception {
    withH2(def("c"), h2 -> putMany(h2, 10));
    AtomicInteger asked = new AtomicInteger();
    List<String> messages = read(def("c"), key -> asked.incrementAndGet() % 2 == 0, () -> true);
    assertThat(messages).hasSize(1);
    assertThat(messages.get(0)).contains("imported 5 values from H2");
  }
}
