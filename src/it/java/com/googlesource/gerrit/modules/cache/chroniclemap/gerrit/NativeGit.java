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

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Splitter;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.KeyPair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.annotations.Nullable;

/**
 * Native git as one user of one Gerrit, over HTTP or SSH, in a repository of its own. Its password
 * is that of all users of tests. Nothing of the machine's settings reaches it.
 */
final class NativeGit {
  private static final Duration LIMIT = Duration.ofMinutes(10);

  /** Null for one who knows where to push to by itself. */
  @Nullable private final GerritSite site;

  private final String user;
  private final Path folder;
  private final Path work;
  private final Path err;
  private final Map<String, String> environment;

  /** What a command printed, both streams together, and its exit status. */
  record Result(int status, String out) {
    boolean isOk() {
      return status == 0;
    }
  }

  /** Makes a repository in a new folder. */
  NativeGit(GerritSite site, String user, KeyPair key, Path folder) throws IOException {
    this(site, user, folder, Map.of("GIT_SSH_COMMAND", ssh(folder.resolve("ssh/id_rsa"))));
    SshKeys.write(key, folder.resolve("ssh"));
  }

  /**
   * Makes a repository in a new folder.
   *
   * @param environment what git needs to know for its remotes
   */
  NativeGit(String user, Path folder, Map<String, String> environment) throws IOException {
    this(null, user, folder, environment);
  }

  private NativeGit(
      @Nullable GerritSite site, String user, Path folder, Map<String, String> environment)
      throws IOException {
    this.site = site;
    this.user = user;
    this.folder = folder;
    this.work = Files.createDirectories(folder.resolve("work"));
    this.err = folder.resolve("err");
    this.environment = environment;
    run("init", "-q");
    // By a file rather than by two processes.
    Files.writeString(
        gitFolder().resolve("config"),
        "[user]\n\tname = " + user + "\n\temail = " + user + "@example.com\n",
        StandardOpenOption.APPEND);
  }

  /** The command that git is to use for SSH with a key. */
  static String ssh(Path keyFile) {
    return "ssh -F /dev/null -i "
        + keyFile
        + " -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no"
        + " -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR";
  }

  String http(String project) {
    return site.url().replace("http://", "http://" + user + ":secret@") + "a/" + project;
  }

  String ssh(String project) {
    return site.sshUrl(user, project);
  }

  String user() {
    return user;
  }

  Path folder() {
    return work;
  }

  Path gitFolder() {
    return work.resolve(".git");
  }

  /** Runs git, and fails if it fails. Returns its output without the last line end. */
  String run(String... args) throws IOException {
    return runWith("", args);
  }

  /** Runs git on an input, and fails if it fails. Returns its output without the last line end. */
  String runWith(String input, String... args) throws IOException {
    Result result = tryRun(input, List.of(args));
    if (!result.isOk()) {
      throw new IOException("git " + String.join(" ", args) + " -> " + result);
    }
    return result.out().strip();
  }

  /** Runs git, which may fail. */
  Result tryRun(String... args) throws IOException {
    return tryRun("", List.of(args));
  }

  private Result tryRun(String input, List<String> args) throws IOException {
    Process process = start(command(args).redirectErrorStream(true), input);
    String out = new String(process.getInputStream().readAllBytes(), UTF_8);
    return new Result(status(process), out);
  }

  /** Sends requests of protocol 2 over one connection of SSH, and returns all answers. */
  String uploadPack(String project, String requests) throws IOException {
    List<String> command =
        new ArrayList<>(Splitter.on(' ').splitToList(environment.get("GIT_SSH_COMMAND")));
    command.addAll(List.of("-p", "" + site.sshPort(), "-o", "SendEnv=GIT_PROTOCOL"));
    command.addAll(List.of(user + "@127.0.0.1", "git-upload-pack " + project));
    ProcessBuilder ssh = new ProcessBuilder(command).redirectErrorStream(true);
    ssh.environment().put("GIT_PROTOCOL", "version=2");
    Process process = start(ssh, requests);
    String answers = new String(process.getInputStream().readAllBytes(), ISO_8859_1);
    var unused = status(process);
    return answers;
  }

  /** Runs git without a look at what it prints. Returns how long it took, from start to end. */
  Duration time(List<String> args) throws IOException {
    ProcessBuilder command =
        command(args).redirectOutput(Redirect.DISCARD).redirectError(err.toFile());
    Deadline clock = Deadline.in(LIMIT);
    int status = status(start(command, ""));
    Duration elapsed = clock.elapsed();
    if (status != 0) {
      throw new IOException("git " + String.join(" ", args) + " -> " + status + " " + messages());
    }
    return elapsed;
  }

  /** What git has told its user when it was timed last. */
  String messages() throws IOException {
    return Files.readString(err);
  }

  /** Returns a pack with the objects of a commit that another commit lacks. */
  byte[] pack(String commit, String without) throws IOException {
    List<String> args = List.of("pack-objects", "-q", "--revs", "--stdout");
    Process process =
        start(command(args).redirectErrorStream(true), commit + "\n^" + without + "\n");
    byte[] pack = process.getInputStream().readAllBytes();
    if (status(process) != 0) {
      throw new IOException("git pack-objects: " + new String(pack, UTF_8));
    }
    return pack;
  }

  private ProcessBuilder command(List<String> args) {
    List<String> command = new ArrayList<>(List.of("git"));
    command.addAll(args);
    ProcessBuilder git = new ProcessBuilder(command).directory(work.toFile());
    String path = git.environment().get("PATH");
    git.environment().clear();
    git.environment()
        .putAll(
            Map.of(
                "PATH", path,
                "HOME", folder.toString(),
                "LC_ALL", "C",
                "GIT_CONFIG_NOSYSTEM", "1",
                "GIT_TERMINAL_PROMPT", "0"));
    git.environment().putAll(environment);
    return git;
  }

  private static Process start(ProcessBuilder command, String input) throws IOException {
    Process process = command.start();
    try (OutputStream to = process.getOutputStream()) {
      to.write(input.getBytes(UTF_8));
    }
    return process;
  }

  private static int status(Process process) throws IOException {
    try {
      if (!process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)) {
        throw new IOException("git has not ended in " + LIMIT.toMinutes() + " minutes");
      }
      return process.exitValue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    } finally {
      process.destroyForcibly();
    }
  }

  /** Makes a commit with a Change-Id on top of others, and returns its id. */
  String commit(String subject, String... parents) throws IOException {
    String tree = run("write-tree");
    List<String> args = new ArrayList<>(List.of("commit-tree", tree, "-m", subject));
    args.addAll(
        List.of("-m", "Change-Id: I" + String.format(Locale.ROOT, "%040x", subject.hashCode())));
    for (String parent : parents) {
      args.addAll(List.of("-p", parent));
    }
    return run(args.toArray(String[]::new));
  }

  /** The lines of an output. */
  static List<String> lines(String output) {
    return Splitter.on('\n').omitEmptyStrings().splitToList(output);
  }
}
