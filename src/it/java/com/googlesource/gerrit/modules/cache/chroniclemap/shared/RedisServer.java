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

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.AtExit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Ports;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A real redis-server of a test, on a free port of the loopback interface, without persistence. */
public final class RedisServer implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final Path folder;
  private final List<String> options;
  private final int port;
  private final boolean isEncrypted;
  private Process process;

  private RedisServer(Path folder, int port, boolean isEncrypted, List<String> options) {
    this.folder = folder;
    this.port = port;
    this.isEncrypted = isEncrypted;
    this.options = options;
  }

  /** Starts a server with further options of its command line. */
  public static RedisServer start(Path folder, String... options) throws IOException {
    return new RedisServer(folder, Ports.free(), false, List.of(options)).start();
  }

  /** Starts a server that speaks TLS only. */
  static RedisServer startEncrypted(Path folder, String... options) throws IOException {
    return new RedisServer(folder, Ports.free(), true, List.of(options)).start();
  }

  /** Starts a server that was stopped, at the same port. */
  public RedisServer start() throws IOException {
    Files.createDirectories(folder);
    List<String> command =
        new ArrayList<>(
            List.of(
                "redis-server",
                isEncrypted ? "--tls-port" : "--port",
                "" + port,
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--dir",
                folder.toString()));
    if (isEncrypted) {
      command.addAll(List.of("--port", "0", "--tls-auth-clients", "no"));
    }
    command.addAll(options);
    launch(command);
    Deadline.in(PATIENCE)
        .await(
            () -> {
              try {
                return cli("ping").contains("PONG") || cli("ping").contains("NOAUTH");
              } catch (IOException e) {
                return false;
              }
            },
            "Redis answers, see " + folder.resolve("redis.log"));
    return this;
  }

  private void launch(List<String> command) throws IOException {
    process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("redis.log").toFile())
            .start();
    AtExit.add(this);
  }

  public int port() {
    return port;
  }

  /** Runs a command of Redis, and returns what redis-cli prints. */
  public String cli(String... command) throws IOException {
    List<String> all = new ArrayList<>(List.of("redis-cli", "-p", "" + port));
    if (isEncrypted) {
      all.addAll(List.of("--tls", "--insecure"));
    }
    all.addAll(List.of(command));
    Process cli = new ProcessBuilder(all).redirectErrorStream(true).start();
    return new String(cli.getInputStream().readAllBytes(), UTF_8);
  }

  public void freeze() throws IOException, InterruptedException {
    signal("-STOP");
  }

  public void thaw() throws IOException, InterruptedException {
    signal("-CONT");
  }

  private void signal(String name) throws IOException, InterruptedException {
    var unused = new ProcessBuilder("kill", name, "" + process.pid()).start().waitFor();
  }

  /** Kills the server, which loses all of its data. */
  public void kill() throws InterruptedException {
    var unused = process.destroyForcibly().waitFor();
  }

  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }
}
