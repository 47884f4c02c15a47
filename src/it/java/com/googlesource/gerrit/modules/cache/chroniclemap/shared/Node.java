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

import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ImportResult;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.eclipse.jgit.lib.Config;

/** A server of a site, reduced to one cache in memory and what it shares. */
final class Node implements AutoCloseable {
  static final String CACHE = "change_kind";
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final String SECTION = "cache-chroniclemap";

  /** A cache in memory. */
  static final class Memory implements SharedCache {
    final Map<String, String> values = new ConcurrentHashMap<>();
    final int version;
    volatile StartReport start;
    volatile boolean isOpen = true;
    volatile byte[] note;

    Memory(int version, StartReport.Kind kind) {
      this.version = version;
      this.start = new StartReport(kind, "", 0, 0);
    }

    @Override
    public String name() {
      return CACHE;
    }

    @Override
    public int version() {
      return version;
    }

    @Override
    public boolean isOpen() {
      return isOpen;
    }

    @Override
    public StartReport start() {
      return start;
    }

    @Override
    public byte[] note() {
      return note;
    }

    @Override
    public void setNote(byte[] note) {
      this.note = note;
    }

    /** Empties the cache as a fault of the disk does. */
    void replace() {
      values.clear();
      note = null;
      start = new StartReport(StartReport.Kind.REPLACED, "a fault", 0, 0);
    }

    @Override
    public ImportResult takeIn(byte[] key, byte[] value, long created, BooleanSupplier isWanted) {
      if (!isOpen || !isWanted.getAsBoolean()) {
        return ImportResult.OVER;
      }
      return values.putIfAbsent(new String(key, UTF_8), new String(value, UTF_8)) == null
          ? ImportResult.STORED
          : ImportResult.KNOWN;
    }
  }

  final Memory cache;
  final SharedValues shared;

  private Node(Path folder, Config config, Memory cache) {
    this.cache = cache;
    this.shared = SharedValues.begin(config, folder, folder, "3.13", Set.of(CACHE)).orElseThrow();
    shared.add(cache);
  }

  /** Settings for a server. */
  static Config config(String url) {
    Config config = new Config();
    config.setString(SECTION, null, "sharedUrl", url);
    config.setString(SECTION, null, "sharedSecret", "0123456789abcdef0123456789abcdef");
    return config;
  }

  static Config config(RedisServer redis) {
    return config("redis://127.0.0.1:" + redis.port());
  }

  static Config with(Config config, String name, String value) {
    config.setString(SECTION, null, name, value);
    return config;
  }

  /** Starts a server whose store is new. */
  static Node start(Path folder, Config config) {
    return new Node(folder, config, new Memory(1, StartReport.Kind.NEW));
  }

  /** Starts a server with the store that it had when it was stopped. */
  static Node startAgain(Path folder, Config config, Node before) {
    Memory kept = new Memory(before.cache.version, StartReport.Kind.CLEAN);
    kept.values.putAll(before.cache.values);
    kept.note = before.cache.note;
    return new Node(folder, config, kept);
  }

  static Node start(Path folder, Config config, Memory cache) {
    return new Node(folder, config, cache);
  }

  /** Computes a value. */
  void compute(String key, String value) {
    cache.values.put(key, value);
    shared.computed(cache, key.getBytes(UTF_8), value.getBytes(UTF_8), System.currentTimeMillis());
  }

  SharedCounts counts() {
    return shared.report().counts();
  }

  /** Computes values with keys from one number to another, the last one excluded. */
  void computeAll(int from, int to) {
    for (int i = from; i < to; i++) {
      compute("key" + i, "value" + i);
    }
  }

  /** Waits until all values are there that {@link #computeAll} of another node has computed. */
  Node awaitAll(int from, int to) {
    for (int i = from; i < to; i++) {
      await("key" + i, "value" + i);
    }
    return this;
  }

  void await(String key, String value) {
    Deadline.in(PATIENCE)
        .await(() -> value.equals(cache.values.get(key)), key + " is there: " + shared.report());
  }

  @Override
  public void close() {
    shared.stop();
  }
}
