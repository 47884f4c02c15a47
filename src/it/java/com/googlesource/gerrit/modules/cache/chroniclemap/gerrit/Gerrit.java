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

import com.google.common.collect.ImmutableList;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

/** What tests and the demo do on a running Gerrit, in its own words. */
final class Gerrit {
  static final int ADMIN_ID = 1_000_000;

  private static final String ADMIN = "admin";
  private static final String ADMIN_PASSWORD = "secret";
  private static final String ADMIN_EMAIL = "admin@example.com";

  private final GerritSite site;
  private final RestClient admin;

  Gerrit(GerritSite site) {
    this.site = site;
    this.admin = RestClient.withPassword(site.url(), ADMIN, ADMIN_PASSWORD);
  }

  RestClient rest() {
    return admin;
  }

  SshUser ssh() {
    return new SshUser(site.sshPort(), ADMIN, site.adminKey());
  }

  /** The branches that the administrator sees by REST. */
  Set<String> branches(String project) throws IOException {
    Set<String> names = new TreeSet<>();
    for (JsonElement branch :
        admin.get("/projects/" + encode(project) + "/branches/").json().getAsJsonArray()) {
      names.add(branch.getAsJsonObject().get("ref").getAsString());
    }
    return names;
  }

  /** Creates a project with one commit on its branch master. */
  void createProject(String name) throws IOException {
    JsonObject input = new JsonObject();
    input.addProperty("create_empty_commit", true);
    input.add("branches", list(new JsonPrimitive("master")));
    admin.put("/projects/" + encode(name), input.toString());
  }

  /** Creates a user who is in no group, with an SSH key. */
  void createUser(String name, KeyPair key) throws IOException {
    JsonObject input = new JsonObject();
    input.addProperty("name", name);
    input.addProperty("email", name + "@example.com");
    input.addProperty("ssh_key", SshKeys.publicLine(key));
    admin.put("/accounts/" + encode(name), input.toString());
  }

  /** Gives a user a global capability, such as {@code viewCaches}. */
  void grant(String user, String capability) throws IOException {
    JsonObject group = new JsonObject();
    group.add("members", list(new JsonPrimitive(user)));
    String uuid =
        admin
            .put("/groups/" + encode(user + "-" + capability), group.toString())
            .json()
            .getAsJsonObject()
            .get("id")
            .getAsString();
    String access =
        String.format(
            Locale.ROOT,
            """
        {"add": {"GLOBAL_CAPABILITIES": {"permissions": {"%s": {"rules": {"%s": {"action": "ALLOW"}}}}}}}
        """,
            capability,
            uuid);
    admin.post("/projects/" + encode("All-Projects") + "/access", access);
  }

  GitUser git(String project) throws IOException {
    return new GitUser(site.url(), project, ADMIN, ADMIN_EMAIL, ADMIN_PASSWORD);
  }

  /** A user who may use Git with the password {@code secret}. */
  GitUser git(String project, String user) throws IOException {
    return new GitUser(site.url(), project, user, user + "@example.com", ADMIN_PASSWORD);
  }

  /** Creates a user who is in no group, with that password. */
  void createUserWithPassword(String name) throws IOException {
    JsonObject input = new JsonObject();
    input.addProperty("name", name);
    input.addProperty("email", name + "@example.com");
    input.addProperty("http_password", ADMIN_PASSWORD);
    admin.put("/accounts/" + encode(name), input.toString());
  }

  /** Creates a user who is an administrator; answers with the number of the account. */
  int createAdministrator(String name) throws IOException {
    createUserWithPassword(name);
    admin.put("/groups/Administrators/members/" + encode(name), "{}");
    return accountId(name);
  }

  /** The number of a user's account. */
  int accountId(String name) throws IOException {
    return admin
        .get("/accounts/" + encode(name))
        .json()
        .getAsJsonObject()
        .get("_account_id")
        .getAsInt();
  }

  /**
   * Lets administrators, and nobody else, do with some refs what a permission such as read says.
   */
  void grantToAdministratorsOnly(String project, String refs, String permission)
      throws IOException {
    String administrators =
        admin.get("/groups/Administrators").json().getAsJsonObject().get("id").getAsString();
    String access =
        String.format(
            Locale.ROOT,
            """
        {"add": {"%s": {"permissions": {"%s": {"exclusive": true, "rules": {"%s": {"action": "ALLOW"}}}}}}}
        """,
            refs,
            permission,
            administrators);
    admin.post("/projects/" + encode(project) + "/access", access);
  }

  void review(int change, int vote, String message) throws IOException {
    JsonObject labels = new JsonObject();
    labels.addProperty("Code-Review", vote);
    JsonObject input = new JsonObject();
    input.add("labels", labels);
    input.addProperty("message", message);
    postReview(change, input);
  }

  void comment(int change, String file, int line, String message) throws IOException {
    JsonObject comment = new JsonObject();
    comment.addProperty("line", line);
    comment.addProperty("message", message);
    comment.addProperty("unresolved", false);
    JsonObject comments = new JsonObject();
    comments.add(file, list(comment));
    JsonObject input = new JsonObject();
    input.add("comments", comments);
    postReview(change, input);
  }

  private void postReview(int change, JsonObject input) throws IOException {
    admin.post("/changes/" + change + "/revisions/current/review", input.toString());
  }

  void submit(int change) throws IOException {
    admin.post("/changes/" + change + "/submit", "{}");
  }

  /** The numbers of all changes of a project, the oldest first. */
  ImmutableList<Integer> changes(String project) throws IOException {
    return admin
        .get("/changes/?n=1000&q=" + encode("project:" + project))
        .json()
        .getAsJsonArray()
        .asList()
        .stream()
        .map(e -> e.getAsJsonObject().get("_number").getAsInt())
        .sorted()
        .collect(ImmutableList.toImmutableList());
  }

  /** Signs the admin in over the web page; answers with the cookie of the session. */
  String signIn() throws IOException {
    return signIn(ADMIN_ID);
  }

  /** Signs somebody in over the web page; answers with the cookie of the session. */
  String signIn(int account) throws IOException {
    return cookie(
        RestClient.anonymous(site.url()).tryGet("/login/?account_id=" + account), "GerritAccount");
  }

  /**
   * The token that a session needs to change things: Gerrit gives it to whoever asks for a page.
   */
  String token(String session) throws IOException {
    String cookie = cookie(RestClient.withCookie(site.url(), session).tryGet("/"), "XSRF_TOKEN");
    return cookie.substring(cookie.indexOf('=') + 1);
  }

  private static String cookie(RestClient.Reply reply, String name) throws IOException {
    for (String cookie : reply.setCookies()) {
      if (cookie.startsWith(name + "=")) {
        return cookie.substring(0, (cookie + ";").indexOf(';'));
      }
    }
    throw new IOException("no " + name + ": status=" + reply.status() + " " + reply.body());
  }

  void signOut(String cookie) throws IOException {
    RestClient.withCookie(site.url(), cookie).tryGet("/logout");
  }

  /** Whether Gerrit knows who is behind this cookie. */
  boolean isSignedIn(String cookie) throws IOException {
    return RestClient.withCookie(site.url(), cookie).tryGet("/accounts/self").isOk();
  }

  private static JsonArray list(JsonElement element) {
    JsonArray list = new JsonArray();
    list.add(element);
    return list;
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }
}
