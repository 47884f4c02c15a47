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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared;

import static com.google.common.collect.ImmutableSet.toImmutableSet;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.CharMatcher;
import com.google.common.base.Splitter;
import com.google.gerrit.common.Nullable;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.AbstractPipeline;
import redis.clients.jedis.ClientSetInfoConfig;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionFactory;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.DefaultJedisSocketFactory;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisSocketFactory;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.PushConsumerChain;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.Response;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.SslVerifyMode;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.providers.PooledConnectionProvider;
import redis.clients.jedis.util.RedisInputStream;

/**
 * Connections to a server that speaks Redis' protocol, to a cluster, or to the server that
 * sentinels name. The only class that knows Jedis.
 *
 * <p>A call may take longer than the time-out, as that only bounds the wait for the next bytes. No
 * thread for which somebody waits may call it. Safe for any thread.
 */
final class RedisServer implements AutoCloseable {
  /** A pair for the server: a key's name there, and the value. */
  record Entry(byte[] name, byte[] value) {}

  private static final char[] NO_PASSWORD = {};
  private static final int CONNECT_MILLIS = 2000;

  /** A connection that was not used for so long is closed. */
  private static final Duration IDLE = Duration.ofMinutes(1);

  private final SharedSettings settings;
  private final int timeoutMillis;
  private final int connections;

  /** Null until {@link #connect} has succeeded. */
  @Nullable private volatile UnifiedJedis client;

  private boolean isClosed;

  /**
   * Connects to nothing yet.
   *
   * @param timeoutMillis how long to wait for bytes from the server
   * @param connections so many calls may run at a time, for each node of a cluster
   */
  RedisServer(SharedSettings settings, int timeoutMillis, int connections) {
    this.settings = settings;
    this.timeoutMillis = timeoutMillis;
    this.connections = connections;
  }

  /** Asks the server for something small; if it does not answer, connects anew and asks again. */
  void probe() throws IOException {
    UnifiedJedis current = client;
    if (current != null) {
      try {
        ask(current);
        return;
      } catch (RuntimeException e) {
        // Its connections may all be dead.
      }
    }
    connect();
  }

  private void ask(UnifiedJedis server) {
    byte[] unused = server.get((settings.prefix() + "probe").getBytes(UTF_8));
  }

  /**
   * Connects anew, and asks the server for something small. Other threads use the connections of
   * before meanwhile.
   */
  void connect() throws IOException {
    UnifiedJedis made = null;
    try {
      made = newClient();
      ask(made);
    } catch (GeneralSecurityException | RuntimeException e) {
      closeQuietly(made);
      throw failure(e);
    }
    UnifiedJedis before;
    synchronized (this) {
      before = isClosed ? made : client;
      client = isClosed ? null : made;
    }
    closeQuietly(before);
  }

  private UnifiedJedis newClient() throws IOException, GeneralSecurityException {
    DefaultJedisClientConfig.Builder config =
        DefaultJedisClientConfig.builder()
            .connectionTimeoutMillis(CONNECT_MILLIS)
            .socketTimeoutMillis(timeoutMillis)
            .user(settings.user())
            .password(settings.password())
            .clientSetInfoConfig(ClientSetInfoConfig.DISABLED);
    if (settings.isTls()) {
      config.sslOptions(verifying());
    }
    ConnectionPoolConfig pool = new ConnectionPoolConfig();
    pool.setMaxTotal(connections);
    pool.setMaxIdle(connections);
    pool.setJmxEnabled(false);
    pool.setMaxWait(Duration.ofMillis(timeoutMillis));
    // Would need the right to PING.
    pool.setTestWhileIdle(false);
    pool.setMinEvictableIdleDuration(IDLE);
    pool.setTimeBetweenEvictionRuns(IDLE.dividedBy(2));
    Set<HostAndPort> hosts =
        settings.hosts().stream()
            .map(host -> new HostAndPort(host.getHost(), host.getPort()))
            .collect(toImmutableSet());
    if (settings.isCluster()) {
      return RedisClusterClient.builder()
          .nodes(hosts)
          .clientConfig(config.build())
          .poolConfig(pool)
          .maxAttempts(2)
          .build();
    }
    JedisClientConfig server = config.database(settings.database()).build();
    if (settings.master() != null) {
      // The sentinels have neither the user nor the password of the server.
      JedisClientConfig sentinels =
          config.user(null).password(null).database(Protocol.DEFAULT_DATABASE).build();
      return RedisSentinelClient.builder()
          .masterName(settings.master())
          .sentinels(hosts)
          .sentinelClientConfig(sentinels)
          .clientConfig(server)
          .poolConfig(pool)
          .build();
    }
    Connection.Builder bounded =
        new Connection.Builder() {
          @Override
          protected Connection createConnection() {
            return new BoundedConnection(this, TimeUnit.MILLISECONDS.toNanos(2L * timeoutMillis));
          }
        };
    JedisSocketFactory sockets = new DefaultJedisSocketFactory(hosts.iterator().next(), server);
    bounded.clientConfig(server).socketFactory(sockets);
    ConnectionFactory factory =
        ConnectionFactory.builder()
            .clientConfig(server)
            .socketFactory(sockets)
            .connectionBuilder(bounded)
            .build();
    return RedisClient.builder()
        .clientConfig(server)
        .connectionProvider(new PooledConnectionProvider(factory, pool))
        .build();
  }

  /** Jedis has no place for this in the connections of a cluster, or to what sentinels name. */
  private static final class BoundedConnection extends Connection {
    private final long mostNanos;
    @Nullable private RedisInputStream all;
    @Nullable private BoundedReplies replies;
    @Nullable private RedisInputStream bounded;

    BoundedConnection(Connection.Builder builder, long mostNanos) {
      super(builder);
      this.mostNanos = mostNanos;
    }

    @Override
    protected Object protocolRead(RedisInputStream in, PushConsumerChain pushes) {
      if (bounded == null || all != in) {
        all = in;
        replies = new BoundedReplies(in);
        bounded = new RedisInputStream(replies);
      }
      replies.begin(mostNanos);
      return super.protocolRead(bounded, pushes);
    }
  }

  /** Verifies the name of the server, too. */
  private SslOptions verifying() throws IOException, GeneralSecurityException {
    SslOptions.Builder options = SslOptions.builder().sslVerifyMode(SslVerifyMode.FULL);
    if (settings.ca() != null) {
      byte[] store = trusted(settings.ca());
      options.truststore(() -> new ByteArrayInputStream(store), NO_PASSWORD);
    }
    return options.build();
  }

  /** Turns a PEM file into the form that Java reads. */
  private static byte[] trusted(Path pem) throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    try (InputStream in = Files.newInputStream(pem)) {
      int number = 0;
      for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
        store.setCertificateEntry("ca-" + number++, one);
      }
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    store.store(out, NO_PASSWORD);
    return out.toByteArray();
  }

  private UnifiedJedis client() throws IOException {
    UnifiedJedis current = client;
    if (current == null) {
      throw new IOException("not connected");
    }
    return current;
  }

  /** Returns what the server has under each of the names; null where it has nothing. */
  List<byte[]> getAll(List<byte[]> names) throws IOException {
    UnifiedJedis current = client();
    try {
      if (names.size() == 1) {
        return Collections.singletonList(current.get(names.get(0)));
      }
      List<Response<byte[]>> replies = new ArrayList<>(names.size());
      try (AbstractPipeline pipeline = current.pipelined()) {
        for (byte[] name : names) {
          replies.add(pipeline.get(name));
        }
        pipeline.sync();
      }
      List<byte[]> values = new ArrayList<>(names.size());
      replies.forEach(reply -> values.add(reply.get()));
      return Collections.unmodifiableList(values);
    } catch (RuntimeException e) {
      throw failure(e);
    }
  }

  /**
   * Sends entries, and has the server keep each as long as the settings say.
   *
   * @return for each entry why the server did not take it; null if it did
   */
  List<String> putAll(List<Entry> entries) throws IOException {
    UnifiedJedis current = client();
    SetParams params = new SetParams();
    if (!settings.ttl().isZero()) {
      params.px(settings.ttl().toMillis());
    }
    try {
      List<Response<String>> replies = new ArrayList<>(entries.size());
      try (AbstractPipeline pipeline = current.pipelined()) {
        for (Entry entry : entries) {
          replies.add(pipeline.set(entry.name(), entry.value(), params));
        }
        pipeline.sync();
      }
      return replies.stream().map(RedisServer::refusal).toList();
    } catch (RuntimeException e) {
      throw failure(e);
    }
  }

  @Nullable
  private static String refusal(Response<String> reply) {
    try {
      String unused = reply.get();
      return null;
    } catch (JedisDataException e) {
      return printable(e.getMessage());
    }
  }

  /** What the server says is shown on terminals. */
  private static String printable(String said) {
    return CharMatcher.javaIsoControl().replaceFrom(said, '?');
  }

  /** Sets a value unless there is one; returns the one that is there now. */
  byte[] putIfAbsent(byte[] name, byte[] value) throws IOException {
    try {
      String unused = client().set(name, value, new SetParams().nx());
      return client().get(name);
    } catch (RuntimeException e) {
      throw failure(e);
    }
  }

  /** Returns what the server says of itself, by names of its command INFO. */
  Map<String, String> info() throws IOException {
    Map<String, String> info = new HashMap<>();
    try {
      Object reply = client().executeCommand(new CommandArguments(Protocol.Command.INFO));
      String text = reply instanceof byte[] bytes ? new String(bytes, UTF_8) : reply.toString();
      for (String line : Splitter.on('\n').split(text)) {
        int colon = line.indexOf(':');
        if (colon > 0) {
          info.put(line.substring(0, colon), printable(line.substring(colon + 1).trim()));
        }
      }
      return info;
    } catch (RuntimeException e) {
      throw failure(e);
    }
  }

  /** Jedis' own exceptions say too little: the reason is in their causes. */
  private static IOException failure(Exception e) {
    Throwable cause = e;
    while (cause instanceof JedisException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    if (cause instanceof JedisException && cause.getSuppressed().length > 0) {
      cause = cause.getSuppressed()[0];
    }
    return new IOException(
        printable(cause.getMessage() == null ? cause.toString() : cause.getMessage()), cause);
  }

  private static void closeQuietly(@Nullable UnifiedJedis client) {
    try {
      if (client != null) {
        client.close();
      }
    } catch (RuntimeException e) {
      // The connections are of no use any more.
    }
  }

  @Override
  public void close() {
    UnifiedJedis last;
    synchronized (this) {
      isClosed = true;
      last = client;
      client = null;
    }
    closeQuietly(last);
  }
}
