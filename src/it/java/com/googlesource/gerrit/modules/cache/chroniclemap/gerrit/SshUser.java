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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.time.Duration;
import java.util.EnumSet;
import org.apache.sshd.client.SshClient;
import org.apache.sshd.client.channel.ChannelExec;
import org.apache.sshd.client.channel.ClientChannelEvent;
import org.apache.sshd.client.config.hosts.HostConfigEntryResolver;
import org.apache.sshd.client.session.ClientSession;
import org.apache.sshd.common.keyprovider.KeyIdentityProvider;

/**
 * Runs Gerrit's SSH commands as one user. It reads nothing of the home folder, and needs no {@code
 * ssh} program.
 */
final class SshUser {
  private static final Duration LIMIT = Duration.ofMinutes(1);

  private final int port;
  private final String user;
  private final KeyPair key;

  SshUser(int port, String user, KeyPair key) {
    this.port = port;
    this.user = user;
    this.key = key;
  }

  /** What a command printed, and its exit status. */
  record Result(int status, String out, String err) {
    boolean isOk() {
      return status == 0;
    }
  }

  /** Runs a command; its exit status may be any. */
  Result tryRun(String command) throws IOException {
    return tryRun(command, /* terminal= */ false);
  }

  /** Runs a command as {@code ssh -t} does, for one who looks at a terminal of 80 columns. */
  Result runOnTerminal(String command) throws IOException {
    return tryRun(command, /* terminal= */ true);
  }

  private Result tryRun(String command, boolean terminal) throws IOException {
    try (SshClient client = SshClient.setUpDefaultClient()) {
      client.setServerKeyVerifier((session, address, serverKey) -> true);
      client.setHostConfigEntryResolver(HostConfigEntryResolver.EMPTY);
      client.setKeyIdentityProvider(KeyIdentityProvider.EMPTY_KEYS_PROVIDER);
      client.start();
      try (ClientSession session =
          client.connect(user, "127.0.0.1", port).verify(LIMIT).getSession()) {
        session.addPublicKeyIdentity(key);
        session.auth().verify(LIMIT);
        return run(session, command, terminal);
      }
    }
  }

  /** Runs a command, and fails if that one fails. */
  String run(String command) throws IOException {
    Result result = tryRun(command);
    if (!result.isOk()) {
      throw new IOException(
          "ssh " + command + " -> " + result.status() + "\n" + result.err() + result.out());
    }
    return result.out();
  }

  /** Runs a command of this module that answers with JSON, and fails if that one fails. */
  JsonObject json(String command) throws IOException {
    return JsonParser.parseString(run("cache-chroniclemap " + command + " --json"))
        .getAsJsonObject();
  }

  private static Result run(ClientSession session, String command, boolean terminal)
      throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    try (ChannelExec channel = session.createExecChannel(command)) {
      channel.setOut(out);
      channel.setErr(err);
      if (terminal) {
        channel.setUsePty(true);
        channel.setPtyType("xterm");
        channel.setPtyColumns(80);
      }
      channel.open().verify(LIMIT);
      if (channel
          .waitFor(EnumSet.of(ClientChannelEvent.CLOSED), LIMIT)
          .contains(ClientChannelEvent.TIMEOUT)) {
        throw new IOException("ssh " + command + ": not in " + LIMIT.toSeconds() + " s");
      }
      Integer status = channel.getExitStatus();
      return new Result(
          status == null ? -1 : status,
          out.toString(StandardCharsets.UTF_8),
          err.toString(StandardCharsets.UTF_8));
    }
  }
}
