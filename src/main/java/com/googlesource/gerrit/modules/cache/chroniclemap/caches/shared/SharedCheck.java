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

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import javax.net.ssl.SSLException;

/** Tries, step by step, all that a node needs from the shared server. */
public final class SharedCheck {
  /**
   * A line of the result.
   *
   * @param what was tried
   * @param verdict of it
   * @param detail what was found, and what to do if something is wrong
   */
  public record Line(String what, Verdict verdict, String detail) {}

  /** Whether something works. */
  public enum Verdict {
    /** It does. */
    OK,
    /** It does, but should be set otherwise. */
    WARNING,
    /** It does not. */
    FAILED
  }

  /** What the user of the server must be allowed, as its command ACL SETUSER takes it. */
  private static final String RIGHTS =
      "+get +set +info ~PREFIX*, for a cluster +cluster, and for another database +select";

  private static final int TIMEOUT_MILLIS = 2000;
  private static final int ROUND_TRIPS = 20;

  private final SharedSettings settings;
  private final RedisServer server;
  private final List<Line> lines = new ArrayList<>();

  private SharedCheck(SharedSettings settings, RedisServer server) {
    this.settings = settings;
    this.server = server;
  }

  /** Tries everything, up to the first step without which the next ones are of no use. */
  static List<Line> run(SharedSettings settings) {
    try (RedisServer server = new RedisServer(settings, TIMEOUT_MILLIS, /* connections= */ 1)) {
      SharedCheck check = new SharedCheck(settings, server);
      if (check.connects()) {
        check.measureRoundTrip();
        check.tryWriting();
        check.compareSecrets();
        check.readMemoryPolicy();
      }
      return check.lines;
    }
  }

  private void add(String what, Verdict verdict, String detail) {
    lines.add(new Line(what, verdict, detail));
  }

  private boolean connects() {
    try {
      server.connect();
    } catch (IOException e) {
      add("connection", Verdict.FAILED, "%s: %s".formatted(settings, remedied(e)));
      return false;
    }
    add("connection", Verdict.OK, settings.shownUrl());
    if (settings.isTls()) {
      add("encryption", Verdict.OK, "TLS, and the name of the server was verified");
    } else {
      add(
          "encryption",
          Verdict.WARNING,
          "none: whoever sees the network can read the values%s. Use rediss:// in sharedUrl"
              .formatted(settings.password() == null ? "" : " and the password"));
    }
    return true;
  }

  /** Adds what an administrator can do about a failure. */
  private static String remedied(IOException e) {
    Throwable cause = e.getCause() == null ? e : e.getCause();
    String message = String.valueOf(e.getMessage());
    String remedy;
    if (cause instanceof UnknownHostException) {
      message = "unknown host " + message;
      remedy = "Check the name in sharedUrl";
    } else if (cause instanceof ConnectException) {
      remedy = "Check the host and port in sharedUrl, and that the server runs";
    } else if (cause instanceof SocketTimeoutException) {
      remedy =
          "The server or a firewall does not answer. A server with TLS needs rediss:// in sharedUrl";
    } else if (cause instanceof SSLException) {
      remedy =
          "Set sharedCa to a PEM file with the authority that signed the server's certificate, and"
              + " use a name in sharedUrl that the certificate has. A server without TLS needs redis://";
    } else if (message.startsWith("NOAUTH") || message.startsWith("WRONGPASS")) {
      remedy = "Set sharedPassword, and sharedUser if the server has ACLs, in secure.config";
    } else if (message.startsWith("NOPERM")) {
      remedy = "Grant the user at least: %s".formatted(RIGHTS);
    } else {
      return message;
    }
    return message + ". " + remedy;
  }

  private void measureRoundTrip() {
    byte[] name = (settings.prefix() + "probe").getBytes(UTF_8);
    long[] nanos = new long[ROUND_TRIPS];
    try {
      for (int i = 0; i < ROUND_TRIPS; i++) {
        long begun = System.nanoTime();
        var unused = server.getAll(List.of(name));
        nanos[i] = System.nanoTime() - begun;
      }
    } catch (IOException e) {
      add("round trip", Verdict.FAILED, remedied(e));
      return;
    }
    Arrays.sort(nanos);
    long median = TimeUnit.NANOSECONDS.toMicros(nanos[ROUND_TRIPS / 2]);
    long slowest = TimeUnit.NANOSECONDS.toMicros(LongStream.of(nanos).max().orElseThrow());
    boolean isSlow = slowest > TimeUnit.MILLISECONDS.toMicros(settings.timeout().toMillis());
    add(
        "round trip",
        isSlow ? Verdict.WARNING : Verdict.OK,
        "median %.2f ms, slowest of %d: %.2f ms; requests wait for %d ms at most%s"
            .formatted(
                median / 1000.0,
                ROUND_TRIPS,
                slowest / 1000.0,
                settings.timeout().toMillis(),
                isSlow ? ". Raise sharedTimeout, or use a nearer server" : ""));
  }

  private void tryWriting() {
    if (settings.isReadOnly()) {
      add("rights", Verdict.OK, "may read; sharedReadOnly is set, so this node adds nothing");
      return;
    }
    byte[] name = (settings.prefix() + "probe").getBytes(UTF_8);
    try {
      String refusal = server.putAll(List.of(new RedisServer.Entry(name, name))).get(0);
      if (refusal == null) {
        add("rights", Verdict.OK, "may read and write");
      } else {
        add("rights", Verdict.FAILED, remedied(new IOException(refusal)));
      }
    } catch (IOException e) {
      add("rights", Verdict.FAILED, remedied(e));
    }
  }

  /** The first node that is checked leaves a digest of its secret, which tells nothing else. */
  private void compareSecrets() {
    byte[] name = (settings.prefix() + "cache-chroniclemap-secret").getBytes(UTF_8);
    byte[] mine = Seal.fingerprint(settings);
    try {
      byte[] others =
          settings.isReadOnly()
              ? server.getAll(List.of(name)).get(0)
              : server.putIfAbsent(name, mine);
      if (others == null) {
        add("secret", Verdict.OK, "no other node was checked yet");
      } else if (Arrays.equals(mine, others)) {
        add("secret", Verdict.OK, "the same as that of the node that was checked first");
      } else {
        add(
            "secret",
            Verdict.FAILED,
            "another one than that of the node that was checked first, or sharedEncrypt differs, so"
                + " the nodes share nothing. Copy sharedSecret to all nodes of this site; give other"
                + " sites on this server another sharedPrefix. If the secret was changed on all nodes,"
                + " delete the key %scache-chroniclemap-secret on the server"
                    .formatted(settings.prefix()));
      }
    } catch (IOException e) {
      add("secret", Verdict.WARNING, "cannot be compared with other nodes: " + remedied(e));
    }
  }

  private void readMemoryPolicy() {
    Map<String, String> info;
    try {
      info = server.info();
    } catch (IOException e) {
      add("memory", Verdict.WARNING, "the server does not tell its limit: " + remedied(e));
      return;
    }
    String policy = info.getOrDefault("maxmemory_policy", "unknown");
    String text =
        "%s used, maxmemory %s, policy %s"
            .formatted(
                info.getOrDefault("used_memory_human", "unknown"),
                info.getOrDefault("maxmemory_human", "unknown"),
                policy);
    if (info.getOrDefault("maxmemory", "0").equals("0")) {
      add(
          "memory",
          Verdict.WARNING,
          text + ". It grows without limit: set maxmemory, and maxmemory-policy allkeys-lfu");
    } else if (!policy.startsWith("allkeys-")) {
      add(
          "memory",
          Verdict.WARNING,
          text + ". Once it is full, no value is added: set maxmemory-policy allkeys-lfu");
    } else {
      add("memory", Verdict.OK, text);
    }
  }
}
