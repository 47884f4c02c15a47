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
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import org.eclipse.jgit.lib.ObjectId;

/**
 * One who works in a project, on changes and a branch of their own, and makes one request after the
 * other. Signed in once: a password would be hashed for each request, a quarter of its processor
 * time.
 */
final class RefsUser implements AutoCloseable {
  /** A change of this user. */
  private static final class Change {
    final int number;
    final String id;
    String commit;
    int patchSets = 1;

    Change(int number, String id, String commit) {
      this.number = number;
      this.id = id;
      this.commit = commit;
    }
  }

  private final RestClient rest;
  private final GitUser git;
  private final RefsProject project;
  private final String branch;
  private final ObjectId base;

  /** Not reviewed yet. */
  private final Deque<Change> open = new ArrayDeque<>();

  /** Approved. */
  private final Deque<Change> approved = new ArrayDeque<>();

  private int count;

  RefsUser(GerritSite site, String name, int account, RefsProject project) throws IOException {
    Gerrit gerrit = new Gerrit(site);
    String cookie = gerrit.signIn(account);
    this.rest = RestClient.withSession(site.url(), cookie, gerrit.token(cookie));
    this.git = GitUser.withCookie(site.url(), project.name(), name, cookie);
    this.project = project;
    this.branch = "refs/heads/work-" + name;
    var unused =
        rest.put(
            String.format(Locale.ROOT, "/projects/%s/branches/%s", project.name(), encode(branch)),
            "{\"revision\": \"refs/heads/master\"}");
    this.base = git.fetch(branch);
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  /** Whether there is something left to ask this for. */
  boolean can(RefsRequest request) {
    return switch (request) {
      case NEW_CHANGE -> true;
      case DELETE_BRANCH -> project.hasOldBranch();
      case PATCH_SET -> !open.isEmpty();
      case REVIEW -> !open.isEmpty() || !approved.isEmpty();
      case SUBMIT -> !approved.isEmpty();
    };
  }

  /** Asks for it once; fails if Gerrit refuses it. */
  void ask(RefsRequest request) throws IOException {
    count++;
    switch (request) {
      case NEW_CHANGE -> create();
      case PATCH_SET -> push();
      case REVIEW -> review();
      case SUBMIT -> submit();
      case DELETE_BRANCH -> delete();
    }
  }

  private void create() throws IOException {
    JsonObject input = new JsonObject();
    input.addProperty("project", project.name());
    input.addProperty("branch", branch);
    input.addProperty("subject", branch + " " + count);
    JsonObject made = rest.post("/changes/", input.toString()).json().getAsJsonObject();
    Change change =
        new Change(made.get("_number").getAsInt(), made.get("change_id").getAsString(), "");
    project.wasMade(RefsProject.changeRef(change.number, 1));
    project.wasMade(RefsProject.changeRef(change.number, "meta"));
    open.addLast(change);
  }

  private void push() throws IOException {
    Change change = open.removeFirst();
    // In any case: after a refusal it may be there or not.
    open.addLast(change);
    ObjectId commit =
        git.commit(
            base,
            "change " + change.number,
            change.id,
            List.of(
                new GitUser.Content(
                    "c" + change.number + ".txt", branch + ", text " + count + "\n")));
    var unused = git.push(commit, "refs/for/" + branch);
    change.patchSets++;
    change.commit = commit.name();
    project.wasMade(RefsProject.changeRef(change.number, change.patchSets));
  }

  /** Approves a change, or says once more that it was approved. */
  private void review() throws IOException {
    boolean first = !open.isEmpty();
    Change change = first ? open.removeFirst() : approved.removeFirst();
    try {
      var unused =
          rest.post(
              path(change) + "/revisions/current/review",
              String.format(
                  Locale.ROOT,
                  "{\"labels\": {\"Code-Review\": 2}, \"message\": \"fine %d\"}",
                  count));
    } catch (IOException e) {
      (first ? open : approved).addLast(change);
      throw e;
    }
    approved.addLast(change);
  }

  private void submit() throws IOException {
    Change change = approved.removeFirst();
    try {
      var unused = rest.post(path(change) + "/submit", "{}");
    } catch (IOException e) {
      approved.addLast(change);
      throw e;
    }
    if (!change.commit.isEmpty()) {
      project.wasMerged(branch, change.commit);
    }
  }

  private void delete() throws IOException {
    String old = project.takeOldBranch();
    if (old == null) {
      throw new IOException("another user has deleted the last branch");
    }
    RestClient.Reply reply =
        rest.tryDelete(
            String.format(Locale.ROOT, "/projects/%s/branches/%s", project.name(), encode(old)));
    if (!reply.isOk()) {
      throw new IOException("DELETE " + old + " -> " + reply.status() + " " + reply.body());
    }
    project.wasDeleted(old);
  }

  private String path(Change change) {
    return "/changes/" + project.name() + "~" + change.number;
  }

  @Override
  public void close() {
    git.close();
  }
}
