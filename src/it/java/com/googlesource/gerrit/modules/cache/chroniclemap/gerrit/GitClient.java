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

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/**
 * A repository of native git with a remote {@code origin}, from which one account pushes and
 * fetches. The settings of the machine and of its user don't count.
 */
final class GitClient {
  private static final Duration LIMIT = Duration.ofMinutes(10);

  private final Path folder;
  private final String url;
  private final String account;
  private final Map<String, String> environment;
  private final Path out;
  private final Path err;

  /**
   * Makes the repository, with the branch master of the remote.
   *
   * @param environment what git needs to know for this remote
   */
  GitClient(Path folder, String url, String account, Map<String, String> environment)
      throws IOException {
    this.folder = Files.createDirectories(folder);
    this.url = url;
    this.account = account;
    this.environment = environment;
    this.out = folder.resolve("out");
    this.err = folder.resolve("err");
    run("", "init", "--quiet");
    run("", "remote", "add", "origin", url);
    run("", "fetch", "--quiet", "--no-tags", "origin", "refs/heads/master:refs/heads/base");
  }

  Path folder() {
    return folder;
  }

  String url() {
    return url;
  }

  /** Runs git, and fails if that fails. */
  void run(String input, String... args) throws IOException {
    run(input, List.of(args), out);
  }

  /** Runs git; answers with what it prints. */
  String output(String... args) throws IOException {
    run("", args);
    return Files.readString(out);
  }

  /** Runs git without looking at what it prints; answers with how long it took. */
  Duration time(List<String> args) throws IOException {
    return run("", args, Path.of("/dev/null"));
  }

  /** What the last run printed to its user. */
  String messages() throws IOException {
    return Files.readString(err);
  }

  private Duration run(String input, List<String> args, Path output) throws IOException {
    List<String> command = new ArrayList<>(List.of("git"));
    command.addAll(args);
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(folder.toFile())
            .redirectOutput(output.toFile())
            .redirectError(err.toFile());
    Map<String, String> all = builder.environment();
    all.keySet().removeIf(name -> name.startsWith("GIT_") || name.endsWith("_proxy"));
    all.putAll(
        Map.of(
            "HOME", folder.toString(),
            "LC_ALL", "C",
            "GIT_CONFIG_NOSYSTEM", "1",
            "GIT_TERMINAL_PROMPT", "0"));
    all.putAll(environment);
    Deadline clock = Deadline.in(LIMIT);
    Process process = builder.start();
    try (OutputStream stdin = process.getOutputStream()) {
      stdin.write(input.getBytes(UTF_8));
    }
    try {
      if (!process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS) || process.exitValue() != 0) {
        throw new IOException(String.join(" ", command) + ": " + messages());
      }
      return clock.elapsed();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    } finally {
      process.destroyForcibly();
    }
  }

  /** A commit for Gerrit. */
  record Commit(String id, String changeId) {}

  /** Makes a commit with a file of its own on top of another one. */
  Commit commit(String parent) throws IOException {
    return commit(parent, "I" + UUID.randomUUID().toString().replace("-", "") + "00000000");
  }

  /** Makes a commit for a change that there may be already. */
  Commit commit(String parent, String changeId) throws IOException {
    String text = UUID.randomUUID().toString();
    String message = "Add " + text + "\n\nChange-Id: " + changeId + "\n";
    run(
        """
        reset refs/heads/next
        from %s

        commit refs/heads/next
        mark :1
        committer %s <%s@example.com> now
        data %d
        %s
        M 100644 inline %s.txt
        data %d
        %s

        get-mark :1
        """
            .formatted(
                parent, account, account, message.length(), message, text, text.length(), text),
        "fast-import",
        "--quiet",
        "--force",
        "--date-format=now");
    return new Commit(Files.readString(out).trim(), changeId);
  }
}
