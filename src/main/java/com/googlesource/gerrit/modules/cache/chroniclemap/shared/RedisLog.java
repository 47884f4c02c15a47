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

import static com.google.common.base.Strings.lenientFormat;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Throwables;
import com.google.gerrit.common.Nullable;
import java.io.IOException;
import java.io.StringReader;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.SslVerifyMode;
import redis.clients.jedis.exceptions.JedisAccessControlException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.XAddParams;

/**
 * A log that is a stream of Redis 7 or Valkey (<a
 * href="https://redis.io/docs/latest/develop/data-types/streams/">Redis Streams</a>). A record is
 * an entry with one field.
 *
 * <p>Redis bounds a stream by its number of entries. This class asks the server now and then how
 * many bytes the entries take on average, and trims by that.
 */
final class RedisLog implements RecordLog {
  private static final byte[] FIELD = {'b'};

  private static final int CONNECT_MILLIS = 3000;
  private static final int ANSWER_MILLIS = 5000;

  /** How long a read waits for a record if there is none. */
  private static final int PATIENCE_MILLIS = 250;

  /** The stream is measured again after records of 1/64 of its limit were appended. */
  private static final int MEASURED_PART = 64;

  /** It is measured before that if others may have appended. */
  private static final Duration MEASURE_INTERVAL = Duration.ofMinutes(1);

  private static final int FEW_SAMPLES = 5;
  private static final int MANY_SAMPLES = 500;

  /** A log to which nothing is appended for so long is deleted: that of an older Gerrit. */
  private static final Duration LIFE = Duration.ofDays(30);

  private static final Duration RENEWAL_INTERVAL = Duration.ofHours(1);

  /** What an entry is taken for if it may not be measured: the size of a full record. */
  private static final long ASSUMED_BYTES = Batch.FULL_BYTES;

  private final SharedSettings settings;
  private final String key;
  private final byte[] keyBytes;
  private final RedisClient client;

  /** Whether the server has answered on this connection. */
  private boolean hasAnswered;

  /** The number of entries that the stream may have. */
  private long maxRecords;

  /** How many bytes may be appended before the stream is measured. */
  private long untilMeasured;

  private long nextMeasure = System.nanoTime();
  private long nextRenewal = System.nanoTime();

  /**
   * Connects to a stream.
   *
   * @param key of the stream
   * @throws IOException if the server cannot be reached
   */
  RedisLog(SharedSettings settings, String key) throws IOException {
    this.settings = settings;
    this.key = key;
    this.keyBytes = key.getBytes(UTF_8);
    this.client = call(() -> client(settings));
  }

  private static RedisClient client(SharedSettings settings) {
    DefaultJedisClientConfig.Builder config =
        DefaultJedisClientConfig.builder()
            .connectionTimeoutMillis(CONNECT_MILLIS)
            .socketTimeoutMillis(ANSWER_MILLIS)
            .blockingSocketTimeoutMillis(ANSWER_MILLIS)
            .clientName("cache-chroniclemap")
            // Its lists are taken as they come: the client would take ids for signed numbers.
            .protocol(RedisProtocol.RESP2)
            .database(settings.database());
    if (!settings.user().isEmpty()) {
      config.user(settings.user());
    }
    if (!settings.password().isEmpty()) {
      config.password(settings.password());
    }
    ConnectionPoolConfig pool = new ConnectionPoolConfig();
    pool.setMaxTotal(1);
    pool.setTestWhileIdle(false);
    pool.setMaxWait(Duration.ofMillis(ANSWER_MILLIS));
    if (settings.isEncrypted()) {
      config.sslOptions(SslOptions.builder().sslVerifyMode(SslVerifyMode.FULL).build());
    }
    return RedisClient.builder()
        .hostAndPort(new HostAndPort(settings.address().getHost(), settings.address().getPort()))
        .clientConfig(config.build())
        .poolConfig(pool)
        .build();
  }

  private <T> T call(Callable<T> call) throws IOException {
    try {
      T answer = call.call();
      hasAnswered = client != null;
      return answer;
    } catch (IOException e) {
      throw e;
    } catch (Exception | LinkageError e) {
      // The client wraps the true reason, or adds it.
      Throwable reason = Throwables.getRootCause(e);
      if (reason.getSuppressed().length > 0) {
        reason = Throwables.getRootCause(reason.getSuppressed()[0]);
      }
      boolean tells = reason.getMessage() != null && !(reason instanceof UnknownHostException);
      String text = tells ? reason.getMessage() : reason.toString();
      String advice = "";
      if (reason instanceof CertificateException
          || reason instanceof CertPathBuilderException
          || reason instanceof CertPathValidatorException) {
        advice =
            " (the server's certificate has to be valid now, name this host, and be in or"
                + " vouched for by Java's trust store: see several.md of the documentation)";
      } else if (text.contains("last possible ID")) {
        advice = " (delete the key " + key + ")";
      } else if (text.startsWith("WRONGPASS")) {
        advice = " (set sharedUser and sharedPassword, and restart)";
      } else if (!hasAnswered
          && (text.equals("Connection reset") || text.equals("Read timed out"))) {
        advice =
            " (if this lasts: does sharedUrl begin with rediss:// for TLS, redis:// for none?)";
      }
      String message = lenientFormat("Redis at %s: %s%s", settings.server(), text, advice);
      // The server's words for want of memory.
      throw text.startsWith("OOM") ? new FullException(message, e) : new IOException(message, e);
    }
  }

  @Override
  public void append(byte[] record) throws IOException {
    if (untilMeasured <= 0 || System.nanoTime() - nextMeasure >= 0) {
      measure();
    }
    untilMeasured -= record.length;
    XAddParams trimmed = XAddParams.xAddParams().maxLen(maxRecords).approximateTrimming();
    try {
      call(() -> client.xadd(keyBytes, trimmed, Map.of(FIELD, record)));
      call(this::postponeEnd);
    } catch (FullException e) {
      // An append that is refused does not trim either.
      try {
        measure();
        call(() -> client.xtrim(keyBytes, maxRecords, /* approximateLength= */ false));
      } catch (IOException again) {
        e.addSuppressed(again);
      }
      throw e;
    }
  }

  private void measure() throws IOException {
    long records = call(() -> client.xlen(keyBytes));
    long bytes = call(() -> bytes(MANY_SAMPLES));
    if (records == 0 || (bytes > 0 && bytes < settings.bytes() / 2)) {
      // The records may be of another size when it is full.
      maxRecords = Long.MAX_VALUE;
    } else {
      long average = bytes == 0 ? ASSUMED_BYTES : bytes / records;
      maxRecords = Math.max(1, settings.bytes() / Math.max(1, average));
    }
    untilMeasured = settings.bytes() / MEASURED_PART;
    nextMeasure = System.nanoTime() + MEASURE_INTERVAL.toNanos();
  }

  /** Has Redis delete the stream after {@link #LIFE}, unless that is postponed again. */
  private boolean postponeEnd() {
    if (System.nanoTime() - nextRenewal < 0) {
      return false;
    }
    nextRenewal = System.nanoTime() + RENEWAL_INTERVAL.toNanos();
    try {
      return client.expire(key, LIFE.toSeconds()) > 0;
    } catch (JedisAccessControlException e) {
      // Then the log of an older version of Gerrit stays until somebody deletes it.
      return false;
    }
  }

  @Override
  public List<Entry> read(StreamId after, int most) throws IOException {
    List<Object> arguments =
        List.of("COUNT", most, "BLOCK", PATIENCE_MILLIS, "STREAMS", key, after.toString());
    return entries(large(Protocol.Command.XREAD, arguments));
  }

  /**
   * Runs a command whose answer has whole records, which anybody may have made who may append.
   *
   * @throws TooLargeException if the answer did not come in time, or does not fit in memory
   */
  @Nullable
  private Object large(Protocol.Command command, List<Object> arguments) throws IOException {
    try {
      return call(() -> client.executeCommand(new CommandArguments(command).addObjects(arguments)));
    } catch (OutOfMemoryError e) {
      // The connection still has the rest of the answer.
      client.getPool().clear();
      throw new TooLargeException(
          lenientFormat("Redis at %s: an answer does not fit in memory", settings.server()), e);
    } catch (IOException e) {
      if (Throwables.getCausalChain(e).stream()
          .anyMatch(SocketTimeoutException.class::isInstance)) {
        throw new TooLargeException(e.getMessage(), e);
      }
      throw e;
    }
  }

  /** Reads the answer for one stream: its key and its entries, each with an id and its fields. */
  private static List<Entry> entries(@Nullable Object answer) {
    return answer == null
        ? List.of()
        : list(list(list(answer).get(0)).get(1)).stream()
            .map(RedisLog::list)
            .map(entry -> new Entry(idOf(entry.get(0)), recordOf(list(entry.get(1)))))
            .toList();
  }

  private static List<?> list(Object answer) {
    return (List<?>) answer;
  }

  private static StreamId idOf(Object id) {
    return StreamId.parse(new String((byte[]) id, UTF_8));
  }

  /** The record of an entry; no bytes, and so no valid record, if it is not one of ours. */
  private static byte[] recordOf(List<?> fields) {
    return fields.size() >= 2 && Arrays.equals((byte[]) fields.get(0), FIELD)
        ? (byte[]) fields.get(1)
        : new byte[0];
  }

  @Override
  public State state() throws IOException {
    List<?> answer;
    try {
      answer = list(large(Protocol.Command.XINFO, List.of("STREAM", key)));
    } catch (TooLargeException e) {
      // It has the first and the last record, too. No record is newer than the server's clock.
      Properties server = call(() -> info("server"));
      long millis = Long.parseLong(server.getProperty("server_time_usec")) / 1000;
      return new State(new StreamId(millis, -1), 0, -1, call(() -> bytes(FEW_SAMPLES)));
    } catch (IOException e) {
      if (e.getCause() instanceof JedisDataException
          && e.getCause().getMessage().startsWith("ERR no such key")) {
        return new State(StreamId.START, 0, 0, 0);
      }
      throw e;
    }
    Map<String, Object> info = new HashMap<>();
    for (int i = 0; i + 1 < answer.size(); i += 2) {
      info.put(new String((byte[]) answer.get(i), UTF_8), answer.get(i + 1));
    }
    return new State(
        idOf(info.get("last-generated-id")),
        (Long) info.get("length"),
        info.get("entries-added") instanceof Long count ? count : -1,
        call(() -> bytes(FEW_SAMPLES)));
  }

  /**
   * The size of the stream; 0 if this user may not ask.
   *
   * @param samples how many of its parts are measured, from whose average the rest is estimated
   */
  private long bytes(int samples) {
    try {
      Long bytes = client.memoryUsage(key, samples);
      return bytes == null ? 0 : bytes;
    } catch (JedisAccessControlException e) {
      // Then the number of entries is bounded as if each were full.
      return 0;
    }
  }

  @Override
  public void check(CheckReport report) throws IOException {
    long begun = System.nanoTime();
    State state = state();
    long micros = (System.nanoTime() - begun) / 2000;
    report.good("round trip", "%s us to %s", micros, settings.server());
    if (!state.isCounted()) {
      report.bad(
          "version", "the server is older than Redis 7, so what is missed is not known: update it");
    }
    report.good(
        "TLS",
        settings.isEncrypted()
            ? "the certificate is valid for the host"
            : "none: records are sealed, but the password of the server can be read on the way");
    checkRights(report);
    checkMemory(report);
    report.good(
        "log",
        "%s has %s records in %s bytes, of which sharedBytes allows %s",
        key,
        state.records(),
        state.bytes(),
        settings.bytes());
  }

  private void checkRights(CheckReport report) throws IOException {
    byte[] trial = (key + ":check").getBytes(UTF_8);
    try {
      call(
          () -> {
            if (settings.publishes()) {
              XAddParams one = XAddParams.xAddParams().maxLen(1);
              var unusedId = client.xadd(trial, one, Map.of(FIELD, new byte[1]));
              var unusedExpiry = client.expire(trial, LIFE.toSeconds());
              var unusedBytes = client.memoryUsage(trial);
            }
            return large(Protocol.Command.XREAD, List.of("COUNT", 1, "STREAMS", trial, "0"));
          });
      report.good(
          "rights",
          settings.publishes()
              ? "this user may append to streams, read and measure them"
              : "this user may read streams");
    } catch (FullException e) {
      report.bad("memory", "%s", e.getMessage());
    } catch (IOException e) {
      report.bad(
          "rights",
          "%s. The user needs: ~cache-chroniclemap:* +xread +xinfo|stream +info +ping +client, and on servers that"
              + " publish +xadd +xlen +xtrim +expire +memory|usage; for another database"
              + " +select",
          e.getMessage());
    }
  }

  private void checkMemory(CheckReport report) {
    try {
      Properties memory = info("memory");
      long limit = Long.parseLong(memory.getProperty("maxmemory", "0"));
      String policy = memory.getProperty("maxmemory_policy", "unknown");
      if (limit > 0 && limit < settings.bytes() + settings.bytes() / 4) {
        report.bad(
            "memory",
            "the server's maxmemory is %s bytes: set it to a quarter above sharedBytes (%s) or more",
            limit,
            settings.bytes());
      } else if (limit > 0 && !policy.equals("noeviction")) {
        report.bad(
            "memory",
            "maxmemory-policy is %s, by which the server may delete the whole log: set it to"
                + " noeviction",
            policy);
      } else {
        report.good("memory", "maxmemory is %s, maxmemory-policy is %s", limit, policy);
      }
    } catch (IOException | RuntimeException e) {
      report.good("memory", "not known: %s", e.getMessage());
    }
  }

  private Properties info(String section) throws IOException {
    Properties properties = new Properties();
    properties.load(new StringReader(client.info(section)));
    return properties;
  }

  @Override
  public void close() {
    try {
      client.close();
    } catch (RuntimeException e) {
      // There is nothing left to do with the connection.
    }
  }
}
