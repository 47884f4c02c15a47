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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit;

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.ManyRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.NativeGit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RestClient;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SshKeys;
import java.io.IOException;
import java.nio.file.Path;
import java.security.KeyPair;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jgit.annotations.Nullable;

/** A Gerrit, or the folders of its repositories alone, to which native git connects. */
final class GitServer {
  static final String ADMIN = "admin";

  /** One who may push, but may not see each branch and each change. */
  static final String READER = "reader";

  /**
   * A project.
   *
   * @param real number of its real changes
   * @param firstChange number of its first change
   */
  record Project(String name, GitContents.Kind kind, int refs, int real, int firstChange) {}

  /** Null for folders alone. */
  @Nullable private final GerritSite site;

  private final Path folder;
  private final Map<String, AtomicInteger> nextOld = new HashMap<>();
  private final Map<String, NativeGit> authors = new HashMap<>();
  private final Map<String, String> cookies = new HashMap<>();

  private GitServer(@Nullable GerritSite site, Path folder) {
    this.site = site;
    this.folder = folder;
  }

  /**
   * Prepares a new site: its projects, who may do what, and the index of the changes.
   *
   * @param old so many branches there are in each project, to be deleted
   */
  static void prepare(GerritSite site, List<Project> projects, int old)
      throws IOException, InterruptedException {
    site.edit(
        config -> {
          config.setString("container", null, "heapLimit", "3g");
          // All clients are two users.
          config.setInt("sshd", null, "maxConnectionsPerUser", 0);
          // As Gerrit's documentation advises: the changes of all projects shall fit in.
          config.setString("cache", "changes_by_project", "memoryLimit", "200m");
        });
    int owner;
    GerritDaemon empty = GerritDaemon.start(site);
    try (empty) {
      Gerrit gerrit = empty.gerrit();
      KeyPair key = SshKeys.generate();
      gerrit.createUser(READER, key);
      SshKeys.write(key, site.home().resolve(READER));
      owner = gerrit.accountId(READER);
      gerrit
          .rest()
          .post(
              "/projects/All-Projects/access",
              """
              {"add": {"refs/heads/*": {"permissions": {
                "push": {"rules": {"global:Registered-Users": {"action": "ALLOW"}}},
                "create": {"rules": {"global:Registered-Users": {"action": "ALLOW"}}},
                "delete": {"rules": {"global:Registered-Users": {"action": "ALLOW"}}}}},
                "refs/for/refs/heads/*": {"permissions": {
                "submit": {"rules": {"global:Registered-Users": {"action": "ALLOW"}}}}}}}
              """);
      for (Project project : projects) {
        gerrit.createProject(project.name);
        gerrit.grantToAdministratorsOnly(project.name, "refs/heads/hidden", "read");
      }
      var unused = gerrit.ssh().run("gerrit sequence set changes " + ManyRefs.FIRST_CHANGE);
    }
    String serverId = site.config().getString("gerrit", null, "serverId");
    for (Project project : projects) {
      GitContents.fill(site.repository(project.name), serverId, project, old, owner);
    }
    var unusedOutput = site.runProgram("reindex", "--index", "changes");
  }

  /**
   * A Gerrit that runs in a site that was prepared.
   *
   * @param clients folder for the repositories of its clients
   */
  static GitServer of(GerritsBench.RunningGerrit running, Path clients) throws IOException {
    GitServer server = new GitServer(running.daemon().site(), clients);
    for (String name : List.of(ADMIN, READER)) {
      server.cookies.put(name, running.gerrit().signIn(running.gerrit().accountId(name)));
    }
    return server;
  }

  /** Native git's own server for folders of that folder. */
  static GitServer ofFolders(Path folder) {
    return new GitServer(null, folder);
  }

  /** How many refs somebody is shown. */
  long refsSeen(String project, String account) throws IOException {
    return client(project, account, false, false, "refs-" + project + "-" + account)
        .run("ls-remote", "--quiet", "origin")
        .lines()
        .count();
  }

  /**
   * One more client.
   *
   * @param clone whether it has a clone of all, or no more than one branch
   */
  GitWorker worker(String project, String account, boolean ssh, boolean clone, int number)
      throws IOException {
    if (!authors.containsKey(project)) {
      authors.put(project, client(project, ADMIN, false, false, "author-" + project));
    }
    String name =
        String.join("-", account, ssh ? "ssh" : "http", clone ? "clone" : "branch", "" + number);
    AtomicInteger old = nextOld.computeIfAbsent(project, unused -> new AtomicInteger());
    return new GitWorker(
        name,
        client(project, account, ssh, clone, project + "-" + name),
        authors.get(project),
        repository(project),
        // A server that is no Gerrit makes a ref of it.
        site == null ? "refs/for/" + name + "-" : null,
        old,
        site == null ? null : new RestUser(rest(cookies.get(account)), project, name, old));
  }

  private RestClient rest(String cookie) throws IOException {
    return RestClient.withSession(site.url(), cookie, new Gerrit(site).token(cookie));
  }

  private Path repository(String project) {
    return site == null ? folder.resolve(project + ".git") : site.repository(project);
  }

  private NativeGit client(String project, String account, boolean ssh, boolean clone, String name)
      throws IOException {
    Map<String, String> environment = new LinkedHashMap<>();
    // Nothing runs in the background after a fetch.
    Map<String, String> settings = new LinkedHashMap<>(Map.of("gc.auto", "0"));
    String url;
    if (site == null) {
      url = "file://" + repository(project);
    } else if (ssh) {
      url = site.sshUrl(account, project);
      Path keys = site.home().resolve(account.equals(ADMIN) ? ".ssh" : account);
      environment.put("GIT_SSH_COMMAND", NativeGit.ssh(keys.resolve("id_rsa")));
    } else {
      url = site.url() + "a/" + project;
      settings.put("http.extraHeader", "Cookie: " + cookies.get(account));
    }
    environment.put("GIT_EDITOR", "true");
    int count = 0;
    for (Map.Entry<String, String> setting : settings.entrySet()) {
      environment.put("GIT_CONFIG_KEY_" + count, setting.getKey());
      environment.put("GIT_CONFIG_VALUE_" + count, setting.getValue());
      count++;
    }
    environment.put("GIT_CONFIG_COUNT", Integer.toString(count));
    NativeGit git = new NativeGit(account, folder.resolve("clients").resolve(name), environment);
    git.run("remote", "add", "origin", url);
    if (clone) {
      git.run("fetch", "-q", "origin");
      git.run("pack-refs", "--all");
    } else {
      git.run("fetch", "-q", "--no-tags", "origin", "refs/heads/master:refs/heads/base");
    }
    return git;
  }
}
