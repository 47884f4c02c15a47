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

import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.GitWorker.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.GitWorker.Operation;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RestClient;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One who works in a project by REST, on changes and a branch of their own. Signed in once: a
 * password would be hashed for each request, a quarter of its processor time.
 */
final class RestUser {
  private final RestClient rest;
  private final String project;
  private final String branch;
  private final AtomicInteger nextOld;
  private int count;

  /**
   * Begins to work.
   *
   * @param nextOld number of the next branch to be deleted
   */
  RestUser(RestClient rest, String project, String name, AtomicInteger nextOld) {
    this.rest = rest;
    this.project = project;
    this.branch = "refs/heads/work-" + name;
    this.nextOld = nextOld;
  }

  /** Does what is not to be measured; answers with what is. */
  Call prepare(Operation operation) throws IOException {
    if (count++ == 0) {
      var unused = rest.put(path(branch), "{\"revision\": \"refs/heads/master\"}");
    }
    return switch (operation) {
      case REST_CHANGE -> this::create;
      case REST_REVIEW -> {
        String change = create();
        yield () -> approve(change);
      }
      case REST_SUBMIT -> {
        String change = create();
        approve(change);
        yield () -> rest.post(change + "/submit", "{}");
      }
      case REST_DELETION -> {
        String old = path(GitContents.oldBranch(nextOld.getAndIncrement()));
        yield () -> delete(old);
      }
      default -> throw new AssertionError(operation);
    };
  }

  private String path(String ofBranch) {
    return String.format(
        Locale.ROOT,
        "/projects/%s/branches/%s",
        project,
        URLEncoder.encode(ofBranch, StandardCharsets.UTF_8));
  }

  /** Makes a change; returns its path. */
  private String create() throws IOException {
    JsonObject input = new JsonObject();
    input.addProperty("project", project);
    input.addProperty("branch", branch);
    input.addProperty("subject", branch + " " + count);
    JsonObject made = rest.post("/changes/", input.toString()).json().getAsJsonObject();
    return "/changes/" + project + "~" + made.get("_number").getAsInt();
  }

  private void approve(String change) throws IOException {
    var unused =
        rest.post(
            change + "/revisions/current/review",
            "{\"labels\": {\"Code-Review\": 2}, \"message\": \"fine\"}");
  }

  private void delete(String path) throws IOException {
    RestClient.Reply reply = rest.tryDelete(path);
    if (!reply.isOk()) {
      throw new IOException("DELETE " + path + " -> " + reply.status() + " " + reply.body());
    }
  }
}
