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

package com.googlesource.gerrit.modules.cache.chroniclemap.shared;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.base.Splitter;
import com.google.common.collect.Iterables;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.TrustManagerFactory;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Shared values and a real redis-server. */
class SharedValuesIT {
  private static final String KEY = "cache-chroniclemap:gerrit:3.13:v1";
  private static final String TRUST_STORE = "javax.net.ssl.trustStore";

  private static final Pattern TRUST_COMMANDS =
      Pattern.compile("```\n( *cp [^`]*keytool [^`]*)```");

  @TempDir Path temp;
  private RedisServer redis;

  @BeforeEach
  void start() throws Exception {
    redis = RedisServer.start(temp.resolve("redis"));
  }

  @AfterEach
  void stop() {
    redis.close();
  }

  private Path folder(String name) throws IOException {
    return Files.createDirectories(temp.resolve(name));
  }

  private Node node(String name) throws IOException {
    return Node.start(folder(name), Node.config(redis));
  }

  private static void awaitTrue(BooleanSupplier condition, Node node) {
    Deadline.awaitInAMinute(condition::getAsBoolean, node.shared.report().toString());
  }

  private static void awaitAtLeast(LongSupplier figure, long least, Node node) {
    awaitTrue(() -> figure.getAsLong() >= least, node);
  }

  private static void computeRandom(Node node, int number, Random random, int length) {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    node.compute("random" + number, new String(bytes, UTF_8));
  }

  private static CheckReport.Line line(CheckReport report, String subject) {
    return report.lines().stream()
        .filter(line -> line.subject().equals(subject))
        .findFirst()
        .orElseThrow(() -> new AssertionError(report.lines()));
  }

  @Test
  void whatOneServerComputesTheOthersHave() throws Exception {
    try (Node a = node("a");
        Node b = node("b")) {
      a.computeAll(0, 300);
      b.awaitAll(0, 300);
      b.compute("of b", "too");
      a.await("of b", "too");
      assertThat(a.counts().received.sum()).isEqualTo(1);
      assertThat(b.counts().received.sum()).isEqualTo(300);
      assertThat(b.counts().takenIn.sum()).isEqualTo(300);
      awaitTrue(() -> b.shared.report().behindRecords() == 0, b);
      assertThat(b.shared.report().failure()).isEmpty();
      // An emptied store gets what its own run has published, too.
      b.cache.replace();
      b.awaitAll(0, 300);
      b.await("of b", "too");
    }
  }

  /** Anybody may append it who knows the server's password, without the secret of the site. */
  @Test
  void aRecordThatDoesNotFitInMemoryEndsNothing() throws Exception {
    try (RecordLog log = new RedisLog(SharedSettings.of(Node.config(redis)), KEY)) {
      append(log, 0, 10);
    }
    String script = "return redis.call('xadd', KEYS[1], '*', 'b', string.rep('x', 70000000))";
    assertThat(redis.cli("eval", script, "1", KEY)).contains("-");
    try (ChildJvm small =
        ChildJvm.start("-Xmx64m", folder("small"), SmallReader.class, redis.port())) {
      assertThat(small.finish()).containsExactly(SmallReader.DONE);
    }
  }

  /** Reads a log whose eleventh record is larger than the whole heap, which has 64 MB. */
  static final class SmallReader {
    private static final String DONE = "all are right";

    private SmallReader() {}

    public static void main(String[] args) throws Exception {
      Config config = Node.config("redis://127.0.0.1:" + args[0]);
      try (RecordLog log = new RedisLog(SharedSettings.of(config), KEY)) {
        StreamId last = log.read(StreamId.START, 10).getLast().position();
        assertThrows(RecordLog.TooLargeException.class, () -> log.read(last, 1));
        // It has the last record, too.
        RecordLog.State state = log.state();
        // The place ends with the current millisecond of the server, whose clock is this machine's.
        while (System.currentTimeMillis() <= state.last().millis()) {
          Thread.onSpinWait();
        }
        append(log, 10, 20);
        assertThat(log.read(state.last(), 20)).hasSize(10);
      }
      System.out.println(DONE);
    }
  }

  /** Appends values as {@link Node#computeAll} has them, one a record. */
  private static void append(RecordLog log, int from, int to) throws IOException {
    Seal other = new Seal("0123456789abcdef0123456789abcdef", KEY);
    for (int i = from; i < to; i++) {
      byte[] key = ("key" + i).getBytes(UTF_8);
      byte[] value = ("value" + i).getBytes(UTF_8);
      SharedValue one = new SharedValue(MemoryCache.NAME, 1, key, value, /* created= */ 1000);
      log.append(other.close(Batch.encode(List.of(one))));
    }
  }

  @Test
  void idsAreUnsignedAndTheirEndIsTold() throws Exception {
    try (Node a = node("a");
        Node b = node("b")) {
      a.computeAll(0, 10);
      b.awaitAll(0, 10);
      redis.cli("xadd", KEY, "9223372036854775809-1", "b", "x");
      a.computeAll(10, 20);
      b.awaitAll(10, 20);
      redis.cli("xadd", KEY, "18446744073709551615-18446744073709551615", "b", "x");
      awaitAtLeast(() -> b.counts().refused.sum(), 2, b);
      assertThat(line(b.shared.check(), "ignored").text()).contains("18446744073709551615-");
      a.computeAll(20, 21);
      awaitTrue(() -> a.shared.report().failure().contains("delete the key " + KEY), a);
      redis.cli("unlink", KEY);
      b.awaitAll(20, 21);
    }
  }

  /** A thousand of them, each of which is repeated: that does no harm. */
  @Test
  void aMillionRecordsAreRead() throws Exception {
    try (RecordLog log = new RedisLog(SharedSettings.of(Node.config(redis)), KEY)) {
      append(log, 0, 1000);
    }
    String repeated =
        redis.cli(
            "eval",
            "local all = redis.call('xrange', KEYS[1], '-', '+') for i = 2, 1000 do for _, one in"
                + " ipairs(all) do redis.call('xadd', KEYS[1], '*', 'b', one[2][2]) end end return"
                + " redis.call('xlen', KEYS[1])",
            "1",
            KEY);
    assertThat(repeated).contains("1000000");
    try (Node late = node("late").awaitAll(0, 1000)) {
      Deadline.in(Duration.ofMinutes(5))
          .await(() -> late.counts().received.sum() == 1_000_000, "all is read");
      awaitTrue(() -> late.shared.report().behindRecords() == 0, late);
      assertThat(late.counts().takenIn.sum()).isEqualTo(1000);
      assertThat(late.counts().missed.sum()).isEqualTo(0);
    }
  }

  @Test
  void twoVersionsOfGerritHaveALogEach() throws Exception {
    try (Node old = node("old");
        Node otherOld = node("other-old");
        Node updated = Node.startOf("3.14", folder("updated"), Node.config(redis));
        Node otherUpdated = Node.startOf("3.14", folder("other-updated"), Node.config(redis))) {
      old.computeAll(0, 100);
      updated.computeAll(200, 300);
      otherOld.awaitAll(0, 100);
      otherUpdated.awaitAll(200, 300);
      assertThat(otherOld.cache.values).hasSize(100);
      assertThat(otherUpdated.cache.values).hasSize(100);
      assertThat(otherUpdated.counts().refused.sum()).isEqualTo(0);
      redis.cli("unlink", KEY);
      updated.compute("after", "the old log went");
      otherUpdated.await("after", "the old log went");
    }
  }

  @Test
  void aServerThatIsKilledWhileItReadsGoesOnInItsFile() throws Exception {
    int count = 60_000;
    try (Node a = node("a")) {
      a.computeAllSlowly(0, count);
      awaitAtLeast(() -> a.counts().published.sum(), count, a);
      assertThat(a.counts().dropped.sum()).isEqualTo(0);
    }
    Random random = new Random(1);
    Path folder = folder("killed");
    for (int kill = 1; kill <= 4; kill++) {
      int until = kill * count / 5 + random.nextInt(1000);
      try (ChildJvm child =
          ChildJvm.start(folder, FollowingMain.class, folder, redis.port(), KEY, count)) {
        long kept = number(child);
        while (kept < until) {
          kept = number(child);
        }
        child.kill();
      }
    }
    try (ChildJvm last =
        ChildJvm.start(folder, FollowingMain.class, folder, redis.port(), KEY, count)) {
      assertThat(number(last)).isAtLeast(count / 2);
      while (number(last) < count) {}
      last.println("stop");
      String end = Iterables.getLast(last.finish());
      assertThat(end).startsWith("all are right, read ");
      // It went on where its file had got to.
      assertThat(Long.parseLong(end.replaceAll("\\D", ""))).isLessThan((long) count);
    }
  }

  private static long number(ChildJvm child) throws IOException {
    String line = child.readLine();
    assertWithMessage("a number; standard error: %s", child.errors()).that(line).isNotNull();
    return Long.parseLong(line);
  }

  @Test
  void onceTheSecretIsRightWhatWasRefusedIsRead() throws Exception {
    try (Node a = node("a")) {
      a.computeAll(0, 10);
      Config wrong =
          Node.with(Node.config(redis), "sharedSecret", "fedcba9876543210fedcba9876543210");
      Node b = Node.start(folder("b"), wrong);
      awaitAtLeast(() -> b.counts().refused.sum(), 1, b);
      b.close();
      try (Node again = Node.startAgain(folder("b"), Node.config(redis), b)) {
        again.awaitAll(0, 10);
      }
    }
  }

  @Test
  void aServerThatIsAwayIsFoundWhenItComesBack() throws Exception {
    redis.kill();
    try (Node a = node("a");
        Node b = node("b")) {
      a.computeAll(0, 10);
      awaitAtLeast(() -> b.counts().failures.sum(), 2, b);
      assertThat(b.shared.report().failure()).contains("127.0.0.1:" + redis.port());
      redis.start();
      b.awaitAll(0, 10);
      assertThat(b.counts().reconnects.sum()).isEqualTo(0);
      // Its data was lost with it.
      redis.kill();
      redis.start();
      a.computeAll(10, 20);
      b.awaitAll(0, 20);
      assertThat(b.counts().reconnects.sum()).isAtLeast(1);
    }
  }

  @Test
  void whileTheServerIsFrozenNobodyWaitsAndWhatIsTooMuchIsDropped() throws Exception {
    try (Node a = node("a");
        Node b = node("b")) {
      a.computeAll(0, 10);
      b.awaitAll(0, 10);
      redis.freeze();
      String large = "x".repeat(100_000);
      for (int i = 0; i < 1000; i++) {
        a.compute("large" + i, large);
      }
      assertThat(a.counts().dropped.sum()).isAtLeast(800);
      redis.thaw();
      b.await("large0", large);
    }
  }

  @Test
  void aFullServerTakesNothingMoreUntilItHasRoom() throws Exception {
    redis.cli("config", "set", "maxmemory", "4mb");
    try (Node a = node("a");
        Node b = node("b")) {
      Random random = new Random(1);
      for (int i = 0; !a.shared.report().isFull(); i++) {
        computeRandom(a, i, random, 10_000);
        // Paced by the publisher, so that the queue has room.
        awaitTrue(() -> a.shared.report().queued() < 1000, a);
      }
      awaitAtLeast(() -> a.counts().dropped.sum(), 1, a);
      redis.cli("config", "set", "maxmemory", "0");
      awaitTrue(
          () -> {
            a.compute("probe" + System.nanoTime(), "");
            return !a.shared.report().isFull();
          },
          a);
      a.computeAll(0, 10);
      b.awaitAll(0, 10);
    }
  }

  /** As where the limit was lowered: an append that is refused trims nothing by itself. */
  @Test
  void aFullServerGetsRoomFromALogAboveItsLimit() throws Exception {
    Random random = new Random(3);
    try (Node a = node("a")) {
      for (int i = 0; i < 400; i++) {
        computeRandom(a, i, random, 10_000);
      }
      awaitAtLeast(() -> a.counts().published.sum(), 400, a);
    }
    redis.cli("config", "set", "maxmemory", "4mb");
    Config small = Node.with(Node.config(redis), "sharedBytes", "1m");
    try (Node b = Node.start(folder("b"), small)) {
      awaitTrue(
          () -> {
            b.compute("probe" + System.nanoTime(), "");
            return b.counts().published.sum() > 0;
          },
          b);
      assertThat(Long.parseLong(redis.cli("memory", "usage", KEY).strip())).isLessThan(2 << 20);
    }
  }

  @Test
  void aLogThatIsDeletedOrWentBackIsReadFromItsStart() throws Exception {
    try (Node a = node("a");
        Node b = node("b")) {
      a.computeAll(0, 10);
      b.awaitAll(0, 10);
      redis.cli("flushall");
      a.computeAll(10, 20);
      b.awaitAll(0, 20);
      // As after a failover to a copy that lagged: ids that are lower than before.
      awaitTrue(() -> b.shared.report().behindRecords() == 0, b);
      long before = b.counts().rereads.sum();
      redis.cli("flushall");
      redis.cli("xadd", KEY, "1-1", "b", "x");
      awaitAtLeast(() -> b.counts().rereads.sum(), before + 1, b);
      a.computeAll(20, 30);
      b.awaitAll(0, 30);
    }
  }

  @Test
  void aServerThatPublishesLittleCutsNothingOff() throws Exception {
    SharedSettings settings = SharedSettings.of(Node.config(redis));
    try (RecordLog quiet = new RedisLog(settings, KEY);
        RecordLog busy = new RedisLog(settings, KEY)) {
      quiet.append(new byte[100]);
      for (int i = 0; i < 20_000; i++) {
        busy.append(new byte[100]);
      }
      quiet.append(new byte[100]);
      assertThat(quiet.state().records()).isEqualTo(20_002);
    }
  }

  @Test
  void theLogIsBounded() throws Exception {
    Config small = Node.with(Node.config(redis), "sharedBytes", "1m");
    Random random = new Random(2);
    try (Node a = Node.start(folder("a"), small)) {
      for (int i = 0; i < 1000; i++) {
        computeRandom(a, i, random, random.nextInt(20_000));
        awaitTrue(() -> a.shared.report().queued() < 200, a);
      }
      awaitAtLeast(() -> a.counts().published.sum(), 1000, a);
      awaitTrue(() -> a.shared.report().logBytes() > 0, a);
      assertThat(Long.parseLong(redis.cli("memory", "usage", KEY).strip())).isLessThan(2 << 20);
      try (Node late = Node.start(folder("late"), small)) {
        awaitAtLeast(() -> late.counts().takenIn.sum(), 20, late);
        awaitTrue(() -> late.shared.report().behindRecords() == 0, late);
        assertThat(late.counts().takenIn.sum()).isLessThan(1000);
      }
    }
  }

  @Test
  void whatWasNotSealedWithTheSecretIsRefused() throws Exception {
    Config other =
        Node.with(Node.config(redis), "sharedSecret", "fedcba9876543210fedcba9876543210");
    try (Node a = node("a");
        Node b = node("b");
        Node stranger = Node.start(folder("stranger"), other)) {
      redis.cli("xadd", KEY, "*", "b", "random bytes that are no record of any server at all");
      redis.cli("xadd", KEY, "*", "c", "another field");
      redis.cli("xadd", KEY, "*", "b", "");
      awaitAtLeast(() -> b.counts().refused.sum(), 3, b);
      stranger.compute("evil", "value");
      awaitAtLeast(() -> b.counts().refused.sum(), 4, b);
      a.compute("good", "value");
      b.await("good", "value");
      assertThat(b.cache.values).doesNotContainKey("evil");
      awaitAtLeast(() -> stranger.counts().refused.sum(), 1, stranger);
      assertThat(line(stranger.shared.check(), "secret").good()).isFalse();
      // Who is wrong cannot be told.
      assertThat(line(b.shared.check(), "secret").good()).isFalse();
    }
  }

  @Test
  void nothingReadableIsOnTheServer() throws Exception {
    try (Node a = node("a")) {
      a.compute("project/of-a-customer", "refs/changes/of a secret branch");
      awaitAtLeast(() -> a.counts().published.sum(), 1, a);
      String all = redis.cli("xrange", KEY, "-", "+");
      assertThat(all).doesNotContain("customer");
      assertThat(all).doesNotContain("secret");
      assertThat(all).doesNotContain(MemoryCache.NAME);
    }
  }

  @Test
  void aServerThatOnlyReadsPublishesNothing() throws Exception {
    Config reader = Node.with(Node.config(redis), "sharedPublish", "false");
    try (Node a = node("a");
        Node b = Node.start(folder("b"), reader)) {
      b.compute("of b", "value");
      a.compute("of a", "value");
      b.await("of a", "value");
      assertThat(redis.cli("xlen", KEY).strip()).isEqualTo("1");
    }
  }

  @Test
  void valuesAboveTheLimitStayAtHome() throws Exception {
    try (Node a = node("a");
        Node b = node("b")) {
      a.compute("large", "x".repeat(Batch.MAX_VALUE_BYTES));
      a.compute("nearly", "x".repeat(Batch.MAX_VALUE_BYTES - 1000));
      a.compute("small", "value");
      b.await("small", "value");
      assertThat(b.cache.values.keySet()).containsExactly("nearly", "small");
    }
  }

  @Test
  void aUserWithTheDocumentedRightsIsEnough() throws Exception {
    String command =
        "acl setuser gerrit on >password resetkeys ~KEY* -@all +xadd +expire +memory|usage +xlen"
            + " +xtrim +xread +xinfo|stream +info +ping +client";
    redis.cli(command.replace("KEY", KEY).split(" ", -1));
    Config config =
        Node.with(
            Node.with(Node.config(redis), "sharedUser", "gerrit"), "sharedPassword", "password");
    try (Node a = Node.start(folder("a"), config);
        Node b = Node.start(folder("b"), config)) {
      a.computeAll(0, 10);
      b.awaitAll(0, 10);
      // It reads its own records once more.
      a.cache.replace();
      a.awaitAll(0, 10);
      CheckReport good = a.shared.check();
      assertWithMessage("%s", good.lines()).that(good.isGood()).isTrue();
      assertThat(line(good, "secret").text()).contains("of another server");
      assertThat(line(b.shared.check(), "secret").text()).contains("earlier runs");
      redis.cli("acl", "setuser", "gerrit", "-xadd", "-expire", "-memory|usage");
      CheckReport bad = a.shared.check();
      assertThat(line(bad, "rights").good()).isFalse();
      assertThat(line(bad, "rights").text()).contains("+xadd");
      a.compute("more", "value");
      awaitTrue(() -> a.shared.report().failure().contains("NOPERM"), a);
    }
    // A server that only reads needs less.
    Node.with(config, "sharedPublish", "false");
    try (Node b = Node.start(folder("reader"), config)) {
      b.awaitAll(0, 10);
      CheckReport enough = b.shared.check();
      assertWithMessage("%s", enough.lines()).that(enough.isGood()).isTrue();
    }
    Config wrong = Node.with(config, "sharedPassword", "wrong");
    try (Node c = Node.start(folder("c"), wrong)) {
      assertThat(line(c.shared.check(), "connection").text())
          .containsMatch("WRONGPASS.*set sharedUser");
    }
  }

  @Test
  void theCheckTellsOfMemoryThatIsTooSmallOrThatMayBeReused() throws Exception {
    try (Node a = node("a")) {
      assertThat(line(a.shared.check(), "memory").good()).isTrue();
      redis.cli("config", "set", "maxmemory", "100mb");
      assertThat(line(a.shared.check(), "memory").text()).contains("sharedBytes");
      redis.cli("config", "set", "maxmemory", "8gb");
      redis.cli("config", "set", "maxmemory-policy", "allkeys-lru");
      assertThat(line(a.shared.check(), "memory").text()).contains("noeviction");
    }
  }

  private static void run(ProcessBuilder command) throws Exception {
    Process process = command.redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertWithMessage(said).that(process.waitFor()).isEqualTo(0);
  }

  private void certificate(String name) throws Exception {
    String command =
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=NAME"
            + " -addext subjectAltName=DNS:localhost -keyout NAME.key -out NAME.pem";
    run(
        new ProcessBuilder(Splitter.on(' ').splitToList(command.replace("NAME", name)))
            .directory(temp.toFile()));
  }

  private RedisServer encrypted(String name) throws IOException {
    String pem = temp.resolve(name + ".pem").toString();
    return RedisServer.startEncrypted(
        temp.resolve("redis-" + name),
        "--tls-cert-file",
        pem,
        "--tls-key-file",
        temp.resolve(name + ".key").toString(),
        "--tls-ca-cert-file",
        pem);
  }

  /** Adds a certificate to a copy of Java's trust store, by the commands of the documentation. */
  private Path trustStore(String name) throws Exception {
    String page = Files.readString(Path.of("resources/Documentation/several.md"));
    Matcher commands = TRUST_COMMANDS.matcher(page);
    assertThat(commands.find()).isTrue();
    Path etc = folder("etc");
    Files.copy(temp.resolve(name + ".pem"), etc.resolve("redis.crt"));
    ProcessBuilder shell = new ProcessBuilder("bash", "-ec", commands.group(1));
    String java = System.getProperty("java.home");
    shell.environment().put("JAVA_HOME", java);
    shell.environment().merge("PATH", java + "/bin:", (path, ours) -> ours + path);
    run(shell.directory(etc.toFile()));
    return etc.resolve("cacerts");
  }

  /** Has Java read its trust store again. Some threads would get the old one if several asked. */
  private static void readTrustStore() throws Exception {
    TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm())
        .init((KeyStore) null);
  }

  @Test
  void encryptionComesWithACheckOfTheHost() throws Exception {
    certificate("known");
    certificate("unknown");
    try (RedisServer known = encrypted("known");
        RedisServer unknown = encrypted("unknown")) {
      System.setProperty(TRUST_STORE, trustStore("known").toString());
      readTrustStore();
      Config config = Node.config("rediss://localhost:" + known.port());
      try (Node a = Node.start(folder("a"), config);
          Node b = Node.start(folder("b"), config)) {
        a.computeAll(0, 10);
        b.awaitAll(0, 10);
        assertThat(a.shared.check().isGood()).isTrue();
      }
      try (Node c = Node.start(folder("c"), Node.config("rediss://localhost:" + unknown.port()));
          Node d = Node.start(folder("d"), Node.config("rediss://127.0.0.1:" + known.port()));
          Node e = Node.start(folder("e"), Node.config("redis://127.0.0.1:" + known.port()))) {
        assertThat(line(c.shared.check(), "connection").text())
            .containsMatch("certification path.*vouched for by Java's trust store");
        assertThat(line(d.shared.check(), "connection").text())
            .containsMatch("No (name matching|subject alternative).*has to .* name this host");
        assertThat(line(e.shared.check(), "connection").text()).contains("rediss:// for TLS");
      }
    } finally {
      System.clearProperty(TRUST_STORE);
      readTrustStore();
    }
  }

  @Test
  void theDefaultsAreDocumented() throws Exception {
    SharedSettings settings = SharedSettings.of(Node.config("redis://example.com"));
    assertThat(settings.server()).isEqualTo("example.com:6379");
    assertThat(settings.publishes()).isTrue();
    assertThat(settings.bytes()).isEqualTo(1 << 30);
    String page = Files.readString(Path.of("resources/Documentation/config.md"));
    assertThat(page).contains("sharedSite` | `" + settings.site() + "` |");
    assertThat(page).contains("sharedBytes` | 1g |");
  }

  @Test
  void settingsThatMakeNoSenseAreNamedWithTheWayOut() {
    for (String url :
        List.of(
            "localhost", "http://localhost", "redis://a:b", "redis://a,b", "redis-cluster://a")) {
      assertThat(refusal(Node.config(url))).contains("sharedUrl is invalid");
    }
    assertThat(refusal(Node.config("redis://user:password@a"))).contains("secure.config");
    assertThat(refusal(Node.config("redis://a/x"))).contains("/DATABASE");
    Config config = Node.config("redis://a/3");
    assertThat(SharedSettings.of(config).database()).isEqualTo(3);
    assertThat(refusal(Node.with(config, "sharedSecret", "short"))).contains("openssl rand");
  }

  private String refusal(Config config) {
    return assertThrows(IllegalArgumentException.class, () -> SharedSettings.of(config))
        .getMessage();
  }
}
