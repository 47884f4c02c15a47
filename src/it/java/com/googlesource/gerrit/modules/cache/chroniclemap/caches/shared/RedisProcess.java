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

import com.google.common.collect.ImmutableList;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import redis.clients.jedis.RedisClient;

/** A real {@code redis-server} on a free port of this machine, which ends with this object. */
public final class RedisProcess implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(30);

  private final Path folder;
  private final int port;
  private final ImmutableList<String> options;
  private Process process;

  private RedisProcess(Path folder, int port, ImmutableList<String> options) {
    this.folder = folder;
    this.port = port;
    this.options = options;
  }

  /** Starts a server that keeps nothing on disk, with options of its configuration file. */
  public static RedisProcess start(Path folder, String... options) throws IOException {
    RedisProcess server = new RedisProcess(folder, freePort(), ImmutableList.copyOf(options));
    server.start();
    return server;
  }

  /** Starts a server that only answers by TLS, with a certificate for localhost. */
  public static RedisProcess startWithTls(Path folder, Path ca) throws IOException {
    Path key = folder.resolve("key.pem");
    run(
        List.of(
            ("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
                    + " -addext subjectAltName=DNS:localhost -keyout %s -out %s")
                .formatted(key, ca)
                .split(" ")));
    int port = freePort();
    RedisProcess server =
        new RedisProcess(
            folder,
            port,
            ImmutableList.of(
                "--port", "0",
                "--tls-port", Integer.toString(port),
                "--tls-cert-file", ca.toString(),
                "--tls-key-file", key.toString(),
                "--tls-auth-clients", "no"));
    server.start();
    return server;
  }

  /** Makes a cluster of servers that were started with {@code --cluster-enabled yes}. */
  public static void join(List<RedisProcess> nodes) throws IOException {
    List<String> command = new ArrayList<>(List.of("redis-cli", "--cluster", "create"));
    nodes.forEach(node -> command.add("127.0.0.1:" + node.port));
    command.add("--cluster-yes");
    String unused = run(command);
    for (RedisProcess node : nodes) {
      await(() -> node.says("cluster", "info").contains("cluster_state:ok"));
    }
  }

  private String says(String... command) {
    List<String> line = new ArrayList<>(List.of("redis-cli", "-p", Integer.toString(port)));
    line.addAll(List.of(command));
    try {
      return run(line);
    } catch (IOException e) {
      return "";
    }
  }

  /** Starts a replica of this server, which has all that this one has. */
  public RedisProcess startReplica() throws IOException {
    RedisProcess replica =
        start(folder, "--replicaof", "127.0.0.1 " + port, "--repl-diskless-sync-delay", "0");
    await(() -> replica.says("info", "replication").contains("master_link_status:up"));
    return replica;
  }

  /** Waits until sentinels have made a replica the server. */
  public void awaitPromoted() {
    await(() -> says("info", "replication").contains("role:master"));
  }

  /** Starts a sentinel that knows this server by a name, and has a replica take its place. */
  public RedisProcess sentinel(String name) throws IOException {
    RedisProcess sentinel = new RedisProcess(folder, freePort(), ImmutableList.of());
    Path config = folder.resolve("sentinel-" + sentinel.port + ".conf");
    Files.writeString(
        config,
        """
        port %d
        bind 127.0.0.1
        dir %s
        sentinel monitor %4$s 127.0.0.1 %3$d 1
        sentinel down-after-milliseconds %4$s 500
        """
            .formatted(sentinel.port, folder, port, name));
    sentinel.process =
        new ProcessBuilder("redis-server", config.toString(), "--sentinel")
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("sentinel-" + sentinel.port + ".log").toFile())
            .start();
    await(() -> sentinel.says("sentinel", "masters").contains(name));
    return sentinel;
  }

  /** Finds a port, to which a node of a cluster adds 10,000 for a second one. */
  static int freePort() throws IOException {
    int port = anyPort();
    while (port > 55_000) {
      port = anyPort();
    }
    return port;
  }

  private static int anyPort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  /** Runs a command; fails if it fails. */
  static String run(List<String> command) throws IOException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), UTF_8);
    try {
      if (process.waitFor() != 0) {
        throw new IOException(String.join(" ", command) + ": " + output);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
    return output;
  }

  /** Starts the server again, on the same port and empty. */
  public void start() throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                "redis-server",
                "--port",
                Integer.toString(port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
                folder.toString()));
    command.addAll(options);
    Path log = folder.resolve("redis-" + port + ".log");
    process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
    await(
        () -> {
          try {
            return Files.readString(log).contains("Ready to accept connections");
          } catch (IOException e) {
            return false;
          }
        });
  }

  /** Waits until something has happened in another thread or process. */
  public static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + LIMIT.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("not within " + LIMIT);
      }
      LockSupport.parkNanos(1_000_000);
    }
  }

  public int port() {
    return port;
  }

  public String url() {
    return "redis://127.0.0.1:" + port;
  }

  /** Returns a client, to be closed by the caller. */
  public RedisClient client() {
    return RedisClient.builder().hostAndPort("127.0.0.1", port).build();
  }

  /** Keeps the process from running, while its connections stay. */
  public void freeze() throws IOException {
    String unused = run(List.of("kill", "-STOP", Long.toString(process.pid())));
  }

  public void thaw() throws IOException {
    String unused = run(List.of("kill", "-CONT", Long.toString(process.pid())));
  }

  /** Kills the server, as a crash would. */
  public void kill() {
    process.destroyForcibly();
    try {
      if (!process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)) {
        throw new AssertionError("the server does not end");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    kill();
  }
}
