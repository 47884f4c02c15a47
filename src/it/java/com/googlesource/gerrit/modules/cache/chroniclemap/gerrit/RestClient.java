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

import com.google.common.base.CharMatcher;
import com.google.common.collect.ImmutableList;
import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;

/** Gerrit's REST API as one user: with a password, with the cookie of a web session, or nobody. */
final class RestClient {
  private static final String GUARD = ")]}'";

  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(10))
          .build();

  private final String base;
  private final String[] headers;

  private RestClient(String base, String... headers) {
    this.base = base;
    this.headers = headers;
  }

  static RestClient withPassword(String url, String user, String password) {
    byte[] pair = (user + ":" + password).getBytes(StandardCharsets.UTF_8);
    return new RestClient(
        url + "a", "Authorization", "Basic " + Base64.getEncoder().encodeToString(pair));
  }

  static RestClient withCookie(String url, String cookie) {
    return new RestClient(CharMatcher.is('/').trimTrailingFrom(url), "Cookie", cookie);
  }

  /** One who may also change things: the token is what Gerrit sets beside the cookie. */
  static RestClient withSession(String url, String cookie, String token) {
    return new RestClient(
        CharMatcher.is('/').trimTrailingFrom(url), "Cookie", cookie, "X-Gerrit-Auth", token);
  }

  static RestClient anonymous(String url) {
    return new RestClient(CharMatcher.is('/').trimTrailingFrom(url), "X-Nobody", "1");
  }

  /** An answer. The body is without the line that guards Gerrit's JSON. */
  record Reply(int status, String body, ImmutableList<String> setCookies) {
    JsonElement json() {
      return JsonParser.parseString(body);
    }

    boolean isOk() {
      return status >= 200 && status < 300;
    }
  }

  /** Asks, and fails if the answer is not a good one. */
  Reply get(String path) throws IOException {
    return good("GET " + path, send(request(path).GET()));
  }

  Reply put(String path, String json) throws IOException {
    return good("PUT " + path, send(withBody(path).PUT(BodyPublishers.ofString(json))));
  }

  Reply post(String path, String json) throws IOException {
    return good("POST " + path, send(withBody(path).POST(BodyPublishers.ofString(json))));
  }

  /** Asks; the answer may be a refusal. */
  Reply tryGet(String path) throws IOException {
    return send(request(path).GET());
  }

  /** Posts; the answer may be a refusal. */
  Reply tryPost(String path, String json) throws IOException {
    return send(withBody(path).POST(BodyPublishers.ofString(json)));
  }

  /** Deletes; the answer may be a refusal. */
  Reply tryDelete(String path) throws IOException {
    return send(request(path).DELETE());
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create(base + path))
        .timeout(Duration.ofMinutes(1))
        .headers(headers)
        .header("Accept", "application/json");
  }

  private HttpRequest.Builder withBody(String path) {
    return request(path).header("Content-Type", "application/json; charset=UTF-8");
  }

  private Reply send(HttpRequest.Builder request) throws IOException {
    try {
      HttpResponse<String> response =
          http.send(request.build(), BodyHandlers.ofString(StandardCharsets.UTF_8));
      String body = response.body();
      return new Reply(
          response.statusCode(),
          body.startsWith(GUARD) ? body.substring(GUARD.length()).trim() : body,
          ImmutableList.copyOf(response.headers().allValues("Set-Cookie")));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw (IOException) new InterruptedIOException().initCause(e);
    }
  }

  private static Reply good(String what, Reply reply) throws IOException {
    if (!reply.isOk()) {
      throw new IOException(what + " -> " + reply.status() + " " + reply.body());
    }
    return reply;
  }
}
