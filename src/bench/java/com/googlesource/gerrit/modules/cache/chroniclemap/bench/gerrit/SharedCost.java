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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit;

import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.BenchRun.say;

import com.google.common.primitives.Longs;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.RedisServer;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.StoreCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import org.eclipse.jgit.lib.Config;

/**
 * The processor time that publishing and following take, in this process: at the rate of a busy
 * server, and as fast as it goes.
 */
final class SharedCost {
  private static final int VALUE_BYTES = 5000;
  private static final int RATE = 100;
  private static final int SECONDS = 60;
  private static final int MANY = 100_000;

  /** A server, reduced to one cache and what it shares. */
  private static final class Node implements AutoCloseable {
    final StoreDirectory directory;
    final StoreCache cache;
    final SharedValues shared;

    /** Its two threads. */
    final Set<Long> threads;

    Node(Path folder, Config config) throws Exception {
      directory = StoreDirectory.open(folder.resolve("stores"));
      cache = StoreCache.open(directory, 1L << 30);
      Set<Long> before = threadIds();
      shared = SharedValues.begin(config, folder, "bench").orElseThrow();
      shared.add(cache);
      shared.follow();
      threads = threadIds();
      threads.removeAll(before);
    }

    private static Set<Long> threadIds() {
      return new TreeSet<>(Longs.asList(ManagementFactory.getThreadMXBean().getAllThreadIds()));
    }

    /** The processor time of its threads until now, of those whose names end so. */
    long cpuNanos(String name) {
      var all = ManagementFactory.getThreadMXBean();
      return threads.stream()
          .filter(
              id ->
                  all.getThreadInfo(id) != null
                      && all.getThreadInfo(id).getThreadName().endsWith(name))
          .mapToLong(all::getThreadCpuTime)
          .sum();
    }

    @Override
    public void close() {
      shared.stop();
      directory.close();
    }
  }

  private final RedisServer redis;
  private final Path root;
  private final byte[] text = new byte[1 << 20];

  SharedCost(RedisServer redis, Path root) {
    this.redis = redis;
    this.root = root;
    // Text that deflates as notes of changes do, to about a quarter.
    Random random = new Random(5);
    StringBuilder words = new StringBuilder();
    while (words.length() < text.length) {
      words.append(Integer.toString(random.nextInt(3000), 36)).append(' ');
    }
    System.arraycopy(words.toString().getBytes(StandardCharsets.UTF_8), 0, text, 0, text.length);
  }

  void measure() throws Exception {
    redis.kill();
    var unused = redis.start();
    Config config = new Config();
    config.setString("cache-chroniclemap", null, "sharedUrl", "redis://127.0.0.1:" + redis.port());
    config.setString("cache-chroniclemap", null, "sharedSecret", "a secret of benchmarks");
    try (Node a = new Node(Files.createTempDirectory(root, "a"), config);
        Node b = new Node(Files.createTempDirectory(root, "b"), config)) {
      compute(a, 0, 20_000, 0);
      awaitRead(a, b);
      for (boolean isPaced : List.of(true, false)) {
        int count = isPaced ? RATE * SECONDS : MANY;
        long publish = a.cpuNanos("publish");
        long own = a.cpuNanos("follow");
        long follow = b.cpuNanos("follow");
        long dropped = a.shared.report().counts().dropped.sum();
        long begun = System.nanoTime();
        compute(a, isPaced ? 1_000_000 : 2_000_000, count, isPaced ? RATE : 0);
        awaitRead(a, b);
        double seconds = (System.nanoTime() - begun) / 1e9;
        String name = isPaced ? RATE + " values of 5 KB a second" : "as fast as it goes";
        say(
            "%-28s %.0f values/s, %d dropped; CPU of a value: published %.0f, own read again %.0f,"
                + " taken in %.0f us",
            name,
            count / seconds,
            a.shared.report().counts().dropped.sum() - dropped,
            (a.cpuNanos("publish") - publish) / 1e3 / count,
            (a.cpuNanos("follow") - own) / 1e3 / count,
            (b.cpuNanos("follow") - follow) / 1e3 / count);
        if (isPaced) {
          say(
              "%-28s of one processor: publishing %.2f %%, following %.2f %%",
              "",
              percent(a.cpuNanos("publish") - publish + a.cpuNanos("follow") - own, seconds),
              percent(b.cpuNanos("follow") - follow, seconds));
        }
      }
    }
  }

  private static double percent(long nanos, double seconds) {
    return nanos / 1e7 / seconds;
  }

  private void compute(Node node, int first, int count, int rate) {
    long begun = System.nanoTime();
    for (int i = 0; i < count; i++) {
      byte[] value = new byte[VALUE_BYTES];
      System.arraycopy(
          text, (int) (i * 7919L % (text.length - VALUE_BYTES)), value, 0, VALUE_BYTES);
      byte[] key = ("project refs/changes " + (first + i)).getBytes(StandardCharsets.UTF_8);
      if (rate > 0) {
        LockSupport.parkNanos(begun + i * 1_000_000_000L / rate - System.nanoTime());
      } else {
        while (node.shared.report().queued() > 1000) {
          LockSupport.parkNanos(100_000);
        }
      }
      node.shared.computed(node.cache, key, value, System.currentTimeMillis());
    }
  }

  private static void awaitRead(Node from, Node by) {
    Deadline.in(Duration.ofMinutes(5))
        .await(
            () ->
                from.shared.report().queued() == 0
                    && by.shared.report().counts().received.sum()
                        >= from.shared.report().counts().published.sum(),
            "all is read");
  }
}
