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

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/** A Gerrit, plain or with the module, with a large and a small project and its users. */
final class RefsServer implements AutoCloseable {
  /** Above the numbers of the changes that the large project has. */
  static final int FIRST_CHANGE = 10_000_000;

  private static final String HEAP = "3g";

  private final Map<String, RefsProject> projects = new HashMap<>();
  private final Map<String, List<RefsUser>> users = new HashMap<>();
  private GerritDaemon daemon;

  /**
   * Prepares and starts it.
   *
   * @param site a new one, with its modules
   * @param refs by name of a project, how many refs it has
   * @param isReftable whether refs are in reftables
   * @param userCount how many users work at once at most
   */
  static RefsServer start(
      GerritSite site, Map<String, Integer> refs, boolean isReftable, int userCount)
      throws IOException {
    RefsServer server = new RefsServer();
    site.edit(config -> config.setString("container", null, "heapLimit", HEAP));
    server.daemon = GerritDaemon.start(site);
    Gerrit gerrit = new Gerrit(site);
    for (String name : refs.keySet()) {
      gerrit.createProject(name);
      server.projects.put(name, new RefsProject(name, site));
    }
    List<Integer> accounts = new ArrayList<>();
    for (int i = 0; i < userCount; i++) {
      accounts.add(gerrit.createAdministrator("user" + i));
    }
    var unused = gerrit.ssh().run("gerrit sequence set changes " + FIRST_CHANGE);
    server.daemon.stop();
    for (RefsProject project : server.projects.values()) {
      project.fill(refs.get(project.name()));
      if (isReftable) {
        Reftables.convert(site.repository(project.name()));
      }
    }
    server.daemon = GerritDaemon.start(site);
    for (RefsProject project : server.projects.values()) {
      List<RefsUser> all = new ArrayList<>();
      for (int i = 0; i < userCount; i++) {
        all.add(new RefsUser(site, "user" + i, accounts.get(i), project));
      }
      server.users.put(project.name(), all);
    }
    return server;
  }

  RefsProject project(String name) {
    return projects.get(name);
  }

  /** Has the first so many users ask for one thing, again and again, for a time. */
  RequestFigures measure(String project, RefsRequest request, int count, Duration time)
      throws IOException {
    List<Callable<RequestFigures>> tasks = new ArrayList<>();
    Deadline clock = Deadline.in(time);
    for (RefsUser user : users.get(project).subList(0, count)) {
      tasks.add(() -> askUntil(user, request, clock, time));
    }
    Duration cpuBefore = daemon.cpu();
    List<RequestFigures> figures = AtOnce.run(tasks);
    double seconds = clock.elapsed().toNanos() / 1e9;
    return RequestFigures.of(figures, seconds, daemon.cpu().minus(cpuBefore).toNanos() / 1e9);
  }

  /** Once in any case. */
  private static RequestFigures askUntil(
      RefsUser user, RefsRequest request, Deadline clock, Duration time) {
    List<Double> millis = new ArrayList<>();
    int refused = 0;
    String lastRefusal = "";
    while (user.can(request)) {
      long begun = System.nanoTime();
      try {
        user.ask(request);
        millis.add((System.nanoTime() - begun) / 1e6);
      } catch (IOException e) {
        refused++;
        lastRefusal = e.toString();
      }
      if (clock.elapsed().compareTo(time) > 0) {
        break;
      }
    }
    return new RequestFigures(millis, refused, 0, 0, lastRefusal);
  }

  @Override
  public void close() throws IOException {
    users.values().forEach(all -> all.forEach(RefsUser::close));
    daemon.stop();
  }
}
