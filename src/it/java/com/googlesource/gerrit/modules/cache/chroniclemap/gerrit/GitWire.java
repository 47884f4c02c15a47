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

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;

/**
 * Git's protocol over HTTP by hand, for requests that native git does not make: it looks at the
 * list of refs first and does not ask for what is not there.
 */
final class GitWire {
  /** The request for the list of refs of a push. */
  static final String RECEIVE = "info/refs?service=git-receive-pack";

  /** The request for the capabilities of a fetch, and by protocol 0 for its list of refs. */
  static final String UPLOAD = "info/refs?service=git-upload-pack";

  private GitWire() {}

  /** A line of the protocol. */
  static String packet(String line) {
    return String.format(Locale.ROOT, "%04x%s", 4 + line.length(), line);
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Asks as a user with the password of all users of tests. A request with a body is a POST. */
  static HttpResponse<byte[]> exchange(
      GerritSite site, String project, String user, String what, String protocol, byte[] body)
      throws IOException {
    return exchange(site, project, user, what, body, "Git-Protocol", protocol);
  }

  /** The same with other headers. */
  static HttpResponse<byte[]> exchange(
      GerritSite site, String project, String user, String what, byte[] body, String... headers)
      throws IOException {
    String pair = Base64.getEncoder().encodeToString(bytes(user + ":secret"));
    List<String> all = new ArrayList<>(List.of(headers));
    all.addAll(List.of("Authorization", "Basic " + pair));
    return exchange(
        site.url() + "a/" + project + "/" + what, what, body, all.toArray(String[]::new));
  }

  static HttpResponse<byte[]> exchange(String url, String what, byte[] body, String... headers)
      throws IOException {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url)).headers(headers);
    if (body != null) {
      request
          .header("Content-Type", "application/x-" + what + "-request")
          .POST(BodyPublishers.ofByteArray(body));
    }
    try (HttpClient http = HttpClient.newHttpClient()) {
      return http.send(request.build(), BodyHandlers.ofByteArray());
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  /** Pushes a pack for one ref; returns what the server reports, or its refusal. */
  static String report(
      GerritSite site, String project, String user, String old, String tip, String ref, byte[] pack)
      throws IOException {
    ByteArrayOutputStream request = new ByteArrayOutputStream();
    request.write(bytes(packet(old + " " + tip + " " + ref + "\0 report-status")));
    request.write(bytes("0000"));
    request.write(pack);
    HttpResponse<byte[]> reply =
        exchange(site, project, user, "git-receive-pack", "", request.toByteArray());
    return reply.statusCode() + " " + new String(reply.body(), StandardCharsets.UTF_8);
  }
}
