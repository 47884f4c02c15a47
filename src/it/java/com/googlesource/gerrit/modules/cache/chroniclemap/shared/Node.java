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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import java.nio.file.Path;
import java.time.Duration;
import org.eclipse.jgit.lib.Config;

/** A server of a site, reduced to one cache in memory and what it shares. */
final class Node implements AutoCloseable {
  private static final String GERRIT = "3.13";
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final String SECTION = "cache-chroniclemap";

  final MemoryCache cache;
  final SharedValues shared;

  private Node(Path folder, Config config, String gerrit, MemoryCache cache) {
    this.cache = cache;
    this.shared = SharedValues.begin(config, folder, gerrit).orElseThrow();
    shared.add(cache);
    shared.follow();
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
    return new Node(folder, config, GERRIT, new MemoryCache(1, StartReport.Kind.NEW));
  }

  /** Starts a server of another version of Gerrit, whose store is new. */
  static Node startOf(String gerrit, Path folder, Config config) {
    return new Node(folder, config, gerrit, new MemoryCache(1, StartReport.Kind.NEW));
  }

  /** Starts a server with the store that it had when it was stopped. */
  static Node startAgain(Path folder, Config config, Node before) {
    MemoryCache kept = new MemoryCache(before.cache.version, StartReport.Kind.CLEAN);
    kept.values.putAll(before.cache.values);
    kept.note = before.cache.note;
    return new Node(folder, config, GERRIT, kept);
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

  /** Computes as {@link #computeAll}, but no faster than the values are published. */
  void computeAllSlowly(int from, int to) {
    for (int i = from; i < to; i += 1000) {
      computeAll(i, Math.min(to, i + 1000));
      Deadline.in(PATIENCE).await(() -> shared.report().queued() < 1000, "values are published");
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
