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
import static com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.RedisProcess.await;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.cache.LoadingCache;
import com.google.common.collect.ImmutableMap;
import com.google.gerrit.server.cache.serialize.JavaCacheSerializer;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.RedisProcess;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.RedisProxy;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.SharedCheck;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.SharedReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.SharedStats;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.RedisClient;

/** The caches of two Gerrits with a real server between them, and what that may do to them. */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class SharedTierIT {
  private static final String SECRET = "0123456789abcdef0123456789abcdef";
  private static final String NAME = "change_notes";

  /** Computes a value slowly enough that asking is cheaper even on a busy machine. */
  private static final class SlowLoader extends CountingLoader {
    @Override
    public String load(String key) throws Exception {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(60));
      return super.load(key);
    }
  }

  @TempDir Path temp;
  private final List<AutoCloseable> open = new CopyOnWriteArrayList<>();
  private RedisProcess redis;
  private final CountingLoader loaderA = new SlowLoader();
  private final CountingLoader loaderB = new SlowLoader();

  @BeforeEach
  void start() throws IOException {
    redis = opened(RedisProcess.start(temp));
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable one : open.reversed()) {
      one.close();
    }
  }

  private <T extends AutoCloseable> T opened(T one) {
    open.add(one);
    return one;
  }

  /** Opens the caches of a Gerrit, with settings in pairs of name and value. */
  private TestSite site(String folder, String... settings) throws IOException {
    Config config = new Config();
    set(config, "sharedUrl", redis.url());
    set(config, "sharedSecret", SECRET);
    // Only those tests where the server does not answer wait for that.
    set(config, "sharedTimeout", "5 s");
    for (int i = 0; i < settings.length; i += 2) {
      set(config, settings[i], settings[i + 1]);
    }
    Path path = Files.createDirectories(temp.resolve(folder));
    return opened(new TestSite(path, TestSite.Backend.CHRONICLE, config));
  }

  private static void set(Config config, String name, String value) {
    config.setString("cache-chroniclemap", null, name, value);
  }

  private static TestSite connected(TestSite site) {
    await(() -> shared(site).isAnswering());
    return site;
  }

  private static SharedReport shared(TestSite site) {
    return site.inventory().shared().orElseThrow().report();
  }

  private static List<SharedCheck.Line> check(TestSite site) {
    return site.inventory().shared().orElseThrow().check();
  }

  private static SharedStats stats(LoadingCache<?, ?> cache) {
    return SiteTest.report(cache).shared().orElseThrow();
  }

  private LoadingCache<String, String> cacheA(TestSite site) {
    return site.loading(new TestCacheDef(NAME).loader(loaderA));
  }

  private LoadingCache<String, String> cacheB(TestSite site) {
    return site.loading(new TestCacheDef(NAME).loader(loaderB));
  }

  /** Has a first node compute values, and returns once the server has them. */
  private TestSite fill(String... keys) throws Exception {
    TestSite site = connected(site("a"));
    LoadingCache<String, String> cache = cacheA(site);
    for (String key : keys) {
      assertThat(cache.get(key)).isEqualTo("loaded " + key);
    }
    await(() -> shared(site).sent() == keys.length);
    return site;
  }

  @Test
  void anotherNodeComputesNothingAndKeepsTheValueOnItsOwnDisk() throws Exception {
    fill("x", "y");
    TestSite site = connected(site("b"));
    LoadingCache<String, String> cache = cacheB(site);
    assertThat(cache.get("x")).isEqualTo("loaded x");
    assertThat(cache.get("x")).isEqualTo("loaded x");
    assertThat(cache.get("y", () -> "computed")).isEqualTo("loaded y");
    assertThat(loaderB.loads).isEmpty();
    assertThat(stats(cache).hits()).isEqualTo(2);
    assertThat(shared(site).requests()).isEqualTo(2);
    assertThat(shared(site).sent()).isEqualTo(0);

    redis.kill();
    site.restart();
    assertThat(cacheB(site).get("x")).isEqualTo("loaded x");
    assertThat(loaderB.loads).isEmpty();
  }

  /** Gerrit computes some values before it looks whether there is one. */
  @Test
  void whatIsPutIsSentToo() throws Exception {
    TestSite first = connected(site("a"));
    cacheA(first).put("x", "put");
    await(() -> shared(first).sent() == 1);
    assertThat(cacheB(connected(site("b"))).get("x")).isEqualTo("put");
    assertThat(loaderB.loads).isEmpty();
  }

  @Test
  void aLookWithoutALoaderAsksNobody() throws Exception {
    fill("x");
    TestSite site = connected(site("b"));
    assertThat(cacheB(site).getIfPresent("x")).isNull();
    assertThat(shared(site).requests()).isEqualTo(0);
  }

  private static CountingLoader bulk() {
    return new CountingLoader() {
      @Override
      public Map<String, String> loadAll(Iterable<? extends String> keys) throws Exception {
        Map<String, String> values = new HashMap<>();
        for (String key : keys) {
          values.put(key, load(key));
        }
        return values;
      }
    };
  }

  @Test
  void manyKeysTakeOneRoundTrip() throws Exception {
    fill("a", "b", "c");
    TestSite site = connected(site("b"));
    CountingLoader bulk = bulk();
    LoadingCache<String, String> cache = site.loading(new TestCacheDef(NAME).loader(bulk));
    assertThat(cache.getAll(List.of("a", "b", "c", "new")))
        .isEqualTo(
            ImmutableMap.of(
                "a", "loaded a", "b", "loaded b", "c", "loaded c", "new", "loaded new"));
    assertThat(bulk.loads).containsExactly("new");
    assertThat(shared(site).requests()).isEqualTo(1);
    assertThat(stats(cache).hits()).isEqualTo(3);
    assertThat(stats(cache).misses()).isEqualTo(1);
  }

  @Test
  void onlyCachesWhoseKeysNameTheContentAreShared() throws Exception {
    TestSite site = connected(site("a"));
    for (String name : List.of("web_sessions", "conflicts", "external_ids_map", "git_tags", "x")) {
      LoadingCache<String, String> cache = site.loading(new TestCacheDef(name).loader(loaderA));
      assertThat(cache.get("x")).isEqualTo("loaded x");
      assertThat(SiteTest.report(cache).shared()).isEmpty();
    }
    LoadingCache<String, String> javas =
        site.loading(
            new TestCacheDef(NAME).loader(loaderA).valueSerializer(new JavaCacheSerializer<>()));
    assertThat(SiteTest.report(javas).shared()).isEmpty();
    try (RedisClient client = redis.client()) {
      assertThat(client.dbSize()).isEqualTo(0);
    }
  }

  @Test
  void aNodeOfAnotherVersionSharesNothing() throws Exception {
    fill("x");
    TestSite site = connected(site("b"));
    LoadingCache<String, String> newer =
        site.loading(new TestCacheDef(NAME).version(2).loader(loaderB));
    assertThat(newer.get("x")).isEqualTo("loaded x");
    assertThat(loaderB.loads).containsExactly("x");
    assertThat(stats(newer).rejected()).isEqualTo(0);
  }

  @Test
  void whatIsOnTheServerTellsNoNames() throws Exception {
    fill("refs/secret/project");
    try (RedisClient client = redis.client()) {
      for (byte[] key : client.keys("*".getBytes(UTF_8))) {
        assertThat(new String(key, UTF_8)).doesNotContain("secret");
      }
    }
  }

  @Test
  void encryptedValuesCannotBeRead() throws Exception {
    TestSite first = connected(site("a", "sharedEncrypt", "true"));
    assertThat(cacheA(first).get("x")).isEqualTo("loaded x");
    await(() -> shared(first).sent() == 1);
    try (RedisClient client = redis.client()) {
      byte[] key = client.keys("*".getBytes(UTF_8)).iterator().next();
      assertThat(new String(client.get(key), UTF_8)).doesNotContain("loaded");
    }
    TestSite second = connected(site("b", "sharedEncrypt", "true"));
    assertThat(cacheB(second).get("x")).isEqualTo("loaded x");
    assertThat(loaderB.loads).isEmpty();
  }

  @Test
  void whatIsWrongIsComputedAndPutRight() throws Exception {
    TestSite first = fill("x", "y", "z");
    List<byte[]> keys;
    try (RedisClient client = redis.client()) {
      keys = List.copyOf(client.keys("*".getBytes(UTF_8)));
      // Right values under wrong keys, and random bytes.
      byte[] value = client.get(keys.get(0));
      client.set(keys.get(0), client.get(keys.get(1)));
      client.set(keys.get(1), value);
      client.set(keys.get(2), "\0random\377".getBytes(UTF_8));
    }
    TestSite second = connected(site("b"));
    LoadingCache<String, String> cache = cacheB(second);
    for (String key : List.of("x", "y", "z")) {
      assertThat(cache.get(key)).isEqualTo("loaded " + key);
    }
    assertThat(loaderB.loads).containsExactly("x", "y", "z");
    assertThat(stats(cache).rejected()).isEqualTo(3);
    await(() -> shared(second).sent() == 3);
    TestSite third = connected(site("c"));
    CountingLoader none = new CountingLoader();
    assertThat(third.loading(new TestCacheDef(NAME).loader(none)).get("x")).isEqualTo("loaded x");
    assertThat(none.loads).isEmpty();
    assertThat(shared(first).errors()).isEqualTo(0);
  }

  @Test
  void anotherSiteOnTheServerSharesNothing() throws Exception {
    fill("x");
    TestSite other = connected(site("b", "sharedSecret", SECRET.replace('0', '9')));
    assertThat(cacheB(other).get("x")).isEqualTo("loaded x");
    assertThat(loaderB.loads).containsExactly("x");
    SharedCheck.Line secret = line(check(first()), "secret");
    assertThat(secret.verdict()).isEqualTo(SharedCheck.Verdict.OK);
    assertThat(line(check(other), "secret").verdict()).isEqualTo(SharedCheck.Verdict.FAILED);
  }

  private TestSite first() {
    return open.stream()
        .filter(TestSite.class::isInstance)
        .map(TestSite.class::cast)
        .findFirst()
        .orElseThrow();
  }

  private static SharedCheck.Line line(List<SharedCheck.Line> lines, String what) {
    return lines.stream().filter(line -> line.what().equals(what)).findFirst().orElseThrow();
  }

  @Test
  void aFlushedCacheTakesNoOlderValue() throws Exception {
    fill("x");
    TestSite site = connected(site("b"));
    LoadingCache<String, String> cache = cacheB(site);
    assertThat(cache.get("x")).isEqualTo("loaded x");
    cache.invalidateAll();
    assertThat(cache.get("x")).isEqualTo("loaded x");
    cache.invalidate("x");
    assertThat(cache.get("x")).isEqualTo("loaded x");
    assertThat(loaderB.loads).containsExactly("x", "x");
  }

  @Test
  void aFrozenServerCostsOneTimeout() throws Exception {
    TestSite site = connected(site("a", "sharedTimeout", "200 ms"));
    LoadingCache<String, String> cache = cacheA(site);
    assertThat(cache.get("before")).isEqualTo("loaded before");
    redis.freeze();
    for (int i = 0; i < 20; i++) {
      assertThat(cache.get("k" + i)).isEqualTo("loaded k" + i);
    }
    assertThat(shared(site).timeouts()).isEqualTo(1);
    assertThat(shared(site).isAnswering()).isFalse();
    assertThat(stats(cache).notAsked()).isEqualTo(20);
    redis.thaw();
    await(() -> shared(site).isAnswering());
    assertThat(cache.get("after")).isEqualTo("loaded after");
  }

  @Test
  void noMoreThan64RequestsWaitForTheServer() throws Exception {
    TestSite site = connected(site("a"));
    LoadingCache<String, String> cache = cacheA(site);
    redis.freeze();
    List<Callable<String>> requests = new ArrayList<>();
    for (int i = 0; i < 80; i++) {
      String key = "k" + i;
      requests.add(() -> cache.get(key));
    }
    try (ExecutorService threads = Executors.newFixedThreadPool(requests.size())) {
      List<Future<String>> answers = threads.invokeAll(requests);
      for (int i = 0; i < answers.size(); i++) {
        assertThat(answers.get(i).get()).isEqualTo("loaded k" + i);
      }
    }
    redis.thaw();
    assertThat(shared(site).requests()).isEqualTo(64);
    assertThat(shared(site).tooMany()).isEqualTo(16);
    assertThat(shared(site).openings()).isEqualTo(1);
  }

  @Test
  void valuesThatWaitToBeSentAreLimited() throws Exception {
    TestSite site = connected(site("a", "sharedTimeout", "200 ms"));
    LoadingCache<String, String> cache = cacheA(site);
    String large = "x".repeat(3 << 20);
    redis.freeze();
    for (int i = 0; i < 12; i++) {
      loaderA.source.put("k" + i, large);
      assertThat(cache.get("k" + i)).isEqualTo(large);
      assertThat(shared(site).queuedBytes()).isAtMost(32L << 20);
    }
    assertThat(shared(site).dropped()).isAtLeast(1L);
    redis.thaw();
    await(() -> shared(site).queuedBytes() == 0);
  }

  @Test
  void aKilledServerIsUsedAgainOnceItIsBack() throws Exception {
    TestSite site = fill("x");
    redis.kill();
    LoadingCache<String, String> cache = cacheA(site);
    for (int i = 0; i < 10; i++) {
      assertThat(cache.get("k" + i)).isEqualTo("loaded k" + i);
    }
    assertThat(shared(site).errors()).isEqualTo(1);
    assertThat(shared(site).lastError()).isNotEmpty();
    redis.start();
    await(() -> shared(site).isAnswering());
    long sent = shared(site).sent();
    assertThat(cache.get("new")).isEqualTo("loaded new");
    await(() -> shared(site).sent() > sent);
  }

  @Test
  void aServerThatIsNotThereDelaysNothing() throws Exception {
    redis.kill();
    TestSite site = site("a");
    LoadingCache<String, String> cache = cacheA(site);
    assertThat(cache.get("x")).isEqualTo("loaded x");
    assertThat(shared(site).requests()).isEqualTo(0);
    assertThat(check(site).get(0).detail()).contains("host and port");
  }

  @Test
  void aFullServerRefusesAndStillAnswers() throws Exception {
    fill("x");
    try (RedisClient client = redis.client()) {
      client.configSet("maxmemory", "1");
    }
    TestSite site = connected(site("b"));
    LoadingCache<String, String> cache = cacheB(site);
    assertThat(cache.get("new")).isEqualTo("loaded new");
    await(() -> shared(site).refused() == 1);
    assertThat(shared(site).lastError()).contains("OOM");
    assertThat(cache.get("x")).isEqualTo("loaded x");
    assertThat(loaderB.loads).containsExactly("new");
    assertThat(line(check(site), "memory").detail()).contains("allkeys-lfu");
    assertThat(line(check(site), "rights").detail()).contains("OOM");
  }

  @Test
  void aFlushedServerIsFilledAgain() throws Exception {
    fill("x");
    try (RedisClient client = redis.client()) {
      client.flushAll();
    }
    TestSite site = connected(site("b"));
    assertThat(cacheB(site).get("x")).isEqualTo("loaded x");
    await(() -> shared(site).sent() == 1);
  }

  @Test
  void aReadOnlyNodeAddsNothing() throws Exception {
    fill("x");
    TestSite replica = connected(site("b", "sharedReadOnly", "true"));
    LoadingCache<String, String> cache = cacheB(replica);
    assertThat(cache.get("x")).isEqualTo("loaded x");
    assertThat(cache.get("new")).isEqualTo("loaded new");
    replica.stop();
    open.remove(replica);
    try (RedisClient client = redis.client()) {
      assertThat(client.dbSize()).isEqualTo(1);
    }
  }

  @Test
  void whatIsCheapToComputeIsNeitherAskedForNorSent() throws Exception {
    TestSite site = connected(site("a"));
    LoadingCache<String, String> cache =
        site.loading(new TestCacheDef(NAME).loader(new CountingLoader()));
    for (int i = 0; i < 2000; i++) {
      assertThat(cache.get("k" + i)).isEqualTo("loaded k" + i);
    }
    assertThat(stats(cache).isWorthAsking()).isFalse();
    assertThat(stats(cache).notAsked()).isGreaterThan(1500L);
  }

  @Test
  void valuesExpireWithTheirAgeAndNotWithThatOfTheCopy() throws Exception {
    fill("x");
    TestSite site = connected(site("b"));
    LoadingCache<String, String> cache =
        site.loading(
            new TestCacheDef(NAME)
                .expireAfterWrite(java.time.Duration.ofMillis(1))
                .loader(loaderB));
    assertThat(cache.get("x")).isEqualTo("loaded x");
    assertThat(loaderB.loads).containsExactly("x");
  }

  @Test
  void largeValuesAreCompressed() throws Exception {
    String large = "line of text\n".repeat(20_000);
    TestSite first = connected(site("a"));
    loaderA.source.put("x", large);
    assertThat(cacheA(first).get("x")).isEqualTo(large);
    await(() -> shared(first).sent() == 1);
    assertThat(shared(first).sentBytes()).isLessThan(large.length() / 10L);
    TestSite second = connected(site("b"));
    assertThat(cacheB(second).get("x")).isEqualTo(large);
  }

  @Test
  void tlsVerifiesTheServer() throws Exception {
    Path ca = temp.resolve("ca.pem");
    RedisProcess tls = opened(RedisProcess.startWithTls(temp, ca));
    String named = "rediss://localhost:" + tls.port();
    TestSite site = connected(site("a", "sharedUrl", named, "sharedCa", ca.toString()));
    assertThat(cacheA(site).get("x")).isEqualTo("loaded x");
    await(() -> shared(site).sent() == 1);
    assertThat(line(check(site), "encryption").verdict()).isEqualTo(SharedCheck.Verdict.OK);

    // Not signed by an authority that is known, and not for that name.
    for (String[] wrong :
        new String[][] {
          {"sharedUrl", named},
          {"sharedUrl", "rediss://127.0.0.1:" + tls.port(), "sharedCa", ca.toString()}
        }) {
      TestSite refused = site("b" + wrong.length, wrong);
      List<SharedCheck.Line> lines = check(refused);
      assertThat(lines).hasSize(1);
      assertThat(lines.get(0).verdict()).isEqualTo(SharedCheck.Verdict.FAILED);
      assertThat(lines.get(0).detail()).contains("sharedCa");
      assertThat(shared(refused).isAnswering()).isFalse();
    }
  }

  @Test
  void usersAndPasswordsOfTheServer() throws Exception {
    redis.close();
    redis =
        opened(
            RedisProcess.start(
                temp, "--user", "gerrit", "on", ">pw", "~g:*", "+get", "+set", "+info", "--user",
                "default", "off"));
    String[] right = {"sharedUser", "gerrit", "sharedPassword", "pw", "sharedPrefix", "g:"};
    TestSite site = connected(site("a", right));
    assertThat(cacheA(site).get("x")).isEqualTo("loaded x");
    await(() -> shared(site).sent() == 1);
    assertThat(check(site).stream().noneMatch(line -> line.verdict() == SharedCheck.Verdict.FAILED))
        .isTrue();
    TestSite wrong = site("b", "sharedUser", "gerrit", "sharedPassword", "no");
    assertThat(check(wrong).get(0).detail()).contains("sharedPassword");
    TestSite beyond = site("c", "sharedUser", "gerrit", "sharedPassword", "pw");
    assertThat(check(beyond).get(0).detail()).contains("Grant");
  }

  @Test
  void wrongSettingsNameTheWayOutAndShareNothing() throws Exception {
    for (Map.Entry<String[], String> wrong :
        Map.of(
                new String[] {"sharedUrl", "http://host"}, "rediss://HOST:PORT",
                new String[] {"sharedUrl", "redis://user:pw@host"}, "sharedPassword",
                new String[] {"sharedUrl", "redis://host:port"}, "sharedUrl",
                new String[] {"sharedTimeout", "soon"}, "sharedTimeout",
                new String[] {"sharedSecret", "short"}, "openssl rand")
            .entrySet()) {
      TestSite site = site("a", wrong.getKey());
      assertThat(site.inventory().shared()).isEmpty();
      assertThat(cacheA(site).get("x")).isEqualTo("loaded x");
      String why = site.inventory().whyNotShared();
      assertThat(why).contains(wrong.getValue());
      assertThat(why).doesNotContain("pw");
      site.close();
      open.remove(site);
    }
  }

  @Test
  void aClusterIsShared() throws Exception {
    List<RedisProcess> nodes = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      nodes.add(
          opened(
              RedisProcess.start(
                  temp, "--cluster-enabled", "yes", "--cluster-config-file", "node" + i)));
    }
    RedisProcess.join(nodes);
    String url = nodes.get(0).url() + ",127.0.0.1:" + nodes.get(1).port();
    TestSite first = connected(site("a", "sharedUrl", url));
    LoadingCache<String, String> filled = cacheA(first);
    List<String> keys = IntStream.range(0, 12).mapToObj(i -> "k" + i).toList();
    for (String key : keys) {
      assertThat(filled.get(key)).isEqualTo("loaded " + key);
    }
    await(() -> shared(first).sent() == keys.size());
    for (RedisProcess node : nodes) {
      try (RedisClient client = node.client()) {
        assertThat(client.dbSize()).isGreaterThan(0);
      }
    }
    TestSite second = connected(site("b", "sharedUrl", url));
    CountingLoader bulk = bulk();
    LoadingCache<String, String> cache = second.loading(new TestCacheDef(NAME).loader(bulk));
    assertThat(cache.get("k0")).isEqualTo("loaded k0");
    assertThat(cache.getAll(keys)).hasSize(keys.size());
    assertThat(bulk.loads).isEmpty();
    assertThat(line(check(second), "rights").verdict()).isEqualTo(SharedCheck.Verdict.OK);
  }

  @Test
  void theServerThatSentinelsNameIsShared() throws Exception {
    RedisProcess replica = opened(redis.startReplica());
    RedisProcess sentinel = opened(redis.sentinel("caches"));
    String[] settings = {"sharedUrl", sentinel.url(), "sharedMaster", "caches"};
    TestSite first = connected(site("a", settings));
    LoadingCache<String, String> cache = cacheA(first);
    assertThat(cache.get("x")).isEqualTo("loaded x");
    await(() -> shared(first).sent() == 1);
    TestSite second = connected(site("b", settings));
    assertThat(cacheB(second).get("x")).isEqualTo("loaded x");
    assertThat(loaderB.loads).isEmpty();
    redis.kill();
    replica.awaitPromoted();
    // The loads until both connections have followed are not sent.
    AtomicInteger keys = new AtomicInteger();
    await(
        () -> {
          assertThat(cache.getUnchecked("y" + keys.incrementAndGet())).startsWith("loaded y");
          return shared(first).sent() > 1;
        });
    TestSite third = connected(site("c", settings));
    assertThat(cacheB(third).get("x")).isEqualTo("loaded x");
    assertThat(loaderB.loads).isEmpty();
  }

  /** A server that answers each connection with the same bytes, one by one, and then nothing. */
  private ServerSocket lying(byte[] answer) throws IOException {
    ServerSocket server = opened(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()));
    Thread thread =
        new Thread(
            () -> {
              try {
                while (true) {
                  Socket connection = opened(server.accept());
                  connection.getOutputStream().write(answer);
                }
              } catch (IOException e) {
                // The test has ended.
              }
            });
    thread.setDaemon(true);
    thread.start();
    return server;
  }

  @Test
  void aServerThatBeginsToLieIsGivenUpAndUsedAgain() throws Exception {
    fill("x", "y", "z");
    RedisProxy proxy = opened(new RedisProxy(redis.port(), Duration.ZERO));
    TestSite site = connected(site("b", "sharedUrl", proxy.url(), "sharedTimeout", "500 ms"));
    LoadingCache<String, String> cache = cacheB(site);
    assertThat(cache.get("x")).isEqualTo("loaded x");
    byte[] noise = new byte[4096];
    new java.util.Random(2).nextBytes(noise);
    List<RedisProxy.Lie> lies =
        List.of(
            RedisProxy.of(new byte[0]),
            RedisProxy.of(noise),
            RedisProxy.of("$2147483640\r\n".getBytes(UTF_8)),
            RedisProxy.of("*1000000000\r\n".getBytes(UTF_8)),
            RedisProxy.of("$3\r\nabc\r\n".getBytes(UTF_8)),
            RedisProxy.of(":1\r\n".getBytes(UTF_8)),
            RedisProxy.dripping(),
            RedisProxy.of("-ERR \u001b[2J\r\n".getBytes(UTF_8)));
    int told = 0;
    for (RedisProxy.Lie lie : lies) {
      proxy.tell(lie);
      assertThat(cache.get("new" + told)).isEqualTo("loaded new" + told);
      told++;
      proxy.tell(null);
      await(() -> shared(site).isAnswering());
      assertThat(loaderB.loads).hasSize(told);
    }
    SharedReport report = shared(site);
    assertThat(report.errors() + report.timeouts() + stats(cache).rejected())
        .isEqualTo(lies.size());
    // It is shown on a terminal.
    assertThat(report.lastError()).contains("?[2J");
    assertThat(cache.get("y")).isEqualTo("loaded y");
    assertThat(loaderB.loads).hasSize(told);
  }

  @Test
  void nothingIsLeftAfterTheEnd() throws Exception {
    TestSite site = fill("x");
    redis.freeze();
    site.close();
    open.remove(site);
    await(
        () ->
            Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().startsWith("cache-chroniclemap-shared")));
    redis.thaw();
  }

  @Test
  void serversThatLieOrSayNothingCostNoRequestAnything() throws Exception {
    byte[] noise = new byte[4096];
    new java.util.Random(1).nextBytes(noise);
    List<byte[]> answers = new ArrayList<>();
    answers.add(new byte[0]);
    answers.add(noise);
    answers.add("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(UTF_8));
    answers.add("+OK\r\n$-7\r\n".getBytes(UTF_8));
    answers.add("*1000000000\r\n".getBytes(UTF_8));
    answers.add("$2147483640\r\n".getBytes(UTF_8));
    answers.add("%1\r\n$1\r\na\r\n*1000000000\r\n".getBytes(UTF_8));
    for (byte[] answer : answers) {
      ServerSocket server = lying(answer);
      String name = "lying" + Arrays.hashCode(answer);
      TestSite site = site(name, "sharedUrl", "redis://127.0.0.1:" + server.getLocalPort());
      LoadingCache<String, String> cache = cacheA(site);
      IntStream.range(0, 5)
          .forEach(i -> assertThat(cache.getUnchecked("k" + i)).isEqualTo("loaded k" + i));
      assertThat(shared(site).requests()).isEqualTo(0);
      assertThat(check(site).get(0).verdict()).isEqualTo(SharedCheck.Verdict.FAILED);
    }
  }
}
