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

package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import com.google.common.io.Resources;
import com.google.inject.Singleton;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;

/**
 * The servlet of the page at {@code /plugins/cache-chroniclemap/}, which is the same file for
 * everybody. Its scripts ask the REST API, which checks rights and Gerrit's XSRF token.
 */
@Singleton
final class PageServlet extends HttpServlet {
  private static final long serialVersionUID = 1L;

  /** Forbids content of other hosts, and scripts within the page. */
  private static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
          + " connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

  /** Read at the start, as the jar may be overwritten later. */
  private static final byte[] PAGE = page();

  @Override
  protected void doGet(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    if (!request.getRequestURI().endsWith("/")) {
      response.sendRedirect(request.getRequestURI() + "/");
      return;
    }
    response.setContentType("text/html");
    response.setCharacterEncoding(UTF_8.name());
    response.setHeader("Content-Security-Policy", POLICY);
    response.setHeader("Referrer-Policy", "same-origin");
    response.setHeader("X-Content-Type-Options", "nosniff");
    response.setHeader("Cache-Control", "no-cache");
    response.getOutputStream().write(PAGE);
  }

  /**
   * Returns the page with a hash of its files in their addresses. Their times are the same in each
   * version, so browsers would use outdated ones from their cache.
   */
  private static byte[] page() {
    Hasher hasher = Hashing.murmur3_128().newHasher();
    for (String file : List.of("page.js", "charts.js", "page.css", "uplot/uPlot.iife.min.js")) {
      hasher.putBytes(read(file));
    }
    String page = new String(read("page.html"), UTF_8);
    return page.replace("?hash", "?" + hasher.hash()).getBytes(UTF_8);
  }

  private static byte[] read(String file) {
    try {
      return Resources.toByteArray(Resources.getResource(PageServlet.class, "/static/" + file));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
