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

import com.google.common.base.Splitter;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Native git as one user of one Gerrit, over HTTP or SSH, in a repository of its own. Its password
 * is that of all users of tests. Nothing of the machine's settings reaches it.
 */
final class NativeGit {
  private final GerritSite site;
  private final String user;
  private final Path folder;
  private final Path keyFile;

  /** What a command printed, both streams together, and its exit status. */
  record Result(int status, String out) {
    boolean isOk() {
      return status == 0;
    }
  }

  /** Makes a repository in a new folder. */
  NativeGit(GerritSite site, String user, KeyPair key, Path folder) throws IOException {
    this.site = site;
    this.user = user;
    this.folder = folder;
    SshKeys.write(key, folder.resolve("ssh"));
    keyFile = folder.resolve("ssh/id_rsa");
    run("init", "-q", folder.resolve("work").toString());
    run("config", "user.name", user);
    run("config", "user.email", user + "@example.com");
  }

  String http(String project) {
    return site.url().replace("http://", "http://" + user + ":secret@") + "a/" + project;
  }

  String ssh(String project) {
    return "ssh://" + user + "@127.0.0.1:" + site.sshPort() + "/" + project;
  }

  /** Runs git, and fails if it fails. Returns its output without the last line end. */
  String run(String... args) throws IOException {
    Result result = tryRun(args);
    if (!result.isOk()) {
      throw new IOException("git " + String.join(" ", args) + " -> " + result);
    }
    return result.out().strip();
  }

  /** Runs git, which may fail. */
  Result tryRun(String... args) throws IOException {
    Process process = start("", args);
    String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    return new Result(status(process), out);
  }

  /** Sends requests of protocol 2 over one connection of SSH, and returns all answers. */
  String uploadPack(String project, String requests) throws IOException {
    List<String> command = new ArrayList<>(ssh());
    command.addAll(List.of("-p", "" + site.sshPort(), "-o", "SendEnv=GIT_PROTOCOL"));
    command.addAll(List.of(user + "@127.0.0.1", "git-upload-pack " + project));
    ProcessBuilder ssh = new ProcessBuilder(command).redirectErrorStream(true);
    ssh.environment().put("GIT_PROTOCOL", "version=2");
    Process process = ssh.start();
    try (OutputStream to = process.getOutputStream()) {
      to.write(requests.getBytes(StandardCharsets.UTF_8));
    }
    String answers =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    var unused = status(process);
    return answers;
  }

  private List<String> ssh() {
    List<String> command = new ArrayList<>(List.of("ssh", "-F", "/dev/null", "-i", "" + keyFile));
    for (String option :
        List.of(
            "IdentitiesOnly=yes",
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "LogLevel=ERROR")) {
      command.addAll(List.of("-o", option));
    }
    return command;
  }

  /** Returns a pack with the objects of a commit that another commit lacks. */
  byte[] pack(String commit, String without) throws IOException {
    Process process =
        start(commit + "\n^" + without + "\n", "pack-objects", "-q", "--revs", "--stdout");
    byte[] pack = process.getInputStream().readAllBytes();
    if (status(process) != 0) {
      throw new IOException("git pack-objects: " + new String(pack, StandardCharsets.UTF_8));
    }
    return pack;
  }

  private static int status(Process process) throws IOException {
    try {
      return process.waitFor();
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  Path gitFolder() {
    return folder.resolve("work/.git");
  }

  private Process start(String input, String... args) throws IOException {
    List<String> command = new ArrayList<>(List.of("git"));
    command.addAll(List.of(args));
    Path work = folder.resolve("work");
    ProcessBuilder git =
        new ProcessBuilder(command)
            .directory((Files.isDirectory(work) ? work : folder).toFile())
            .redirectErrorStream(true);
    String path = git.environment().get("PATH");
    git.environment().clear();
    git.environment()
        .putAll(
            Map.of(
                "PATH",
                path,
                "HOME",
                folder.toString(),
                "LC_ALL",
                "C",
                "GIT_CONFIG_NOSYSTEM",
                "1",
                "GIT_TERMINAL_PROMPT",
                "0",
                "GIT_SSH_COMMAND",
                String.join(" ", ssh())));
    Process process = git.start();
    try (OutputStream to = process.getOutputStream()) {
      to.write(input.getBytes(StandardCharsets.UTF_8));
    }
    return process;
  }

  /** Makes a commit with a Change-Id on top of others, and returns its id. */
  String commit(String subject, String... parents) throws IOException {
    String tree = run("write-tree");
    List<String> args = new ArrayList<>(List.of("commit-tree", tree, "-m", subject));
    args.addAll(List.of("-m", "Change-Id: I" + "%040x".formatted(subject.hashCode())));
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
