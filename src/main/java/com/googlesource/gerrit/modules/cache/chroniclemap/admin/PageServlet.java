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

import com.google.common.base.Strings;
import com.google.common.base.Suppliers;
import com.google.common.collect.ImmutableMap;
import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import com.google.common.io.Resources;
import com.google.gerrit.extensions.registration.DynamicItem;
import com.google.gerrit.httpd.WebSession;
import com.google.gerrit.server.CurrentUser;
import com.google.inject.Inject;
import com.google.inject.Provider;
import com.google.inject.Singleton;
import com.google.template.soy.SoyFileSet;
import com.google.template.soy.jbcsrc.api.SoySauce;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URLEncoder;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;

/**
 * The servlet of the page at {@code /plugins/cache-chroniclemap/}. It only reads. The page's
 * buttons use the REST API, which checks Gerrit's XSRF token.
 */
@Singleton
@SuppressWarnings("deprecation") // Gerrit's own pages make the same calls of Soy.
final class PageServlet extends HttpServlet {
  private static final long serialVersionUID = 1L;

  /** Forbids content of other hosts, and scripts within the page. */
  private static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
          + " connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

  private static final String FILES = filesHash();

  /** Read at the start, as the jar may be overwritten later. */
  private static final String PAGE = new String(read("page.soy"), UTF_8);

  @Inject private transient Provider<PageData> data;
  @Inject private transient Provider<CurrentUser> user;
  @Inject private transient Rights rights;
  @Inject private transient DynamicItem<WebSession> session;

  /** Compiled at the first request, which takes about a second. */
  private final transient Supplier<SoySauce> templates = Suppliers.memoize(PageServlet::compile);

  @Override
  protected void doGet(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    if (!request.getRequestURI().endsWith("/")) {
      response.sendRedirect(request.getRequestURI() + "/");
    } else if (!rights.has(Rights.VIEW)) {
      boolean known = user.get().isIdentifiedUser();
      String way = known ? " An administrator can grant it in the rights of All-Projects." : "";
      String text = "This page needs the global capability View Caches or Maintain Server." + way;
      String title = known ? "Not permitted" : "Sign in";
      refuse(response, HttpServletResponse.SC_FORBIDDEN, title, text, known ? "" : signIn(request));
    } else {
      PageData shown = data.get();
      PageQuery query = PageQuery.of(request);
      if (!query.cache().isEmpty() && !shown.has(query.cache())) {
        String text = "There is no cache \"" + query.cache() + "\" on disk.";
        refuse(response, HttpServletResponse.SC_NOT_FOUND, "No such cache", text, "");
      } else if ("csv".equals(request.getParameter("format"))) {
        sendCsv(response, shown.csv(query));
      } else {
        send(response, HttpServletResponse.SC_OK, "page", shown.of(query, token()));
      }
    }
  }

  /** The address where Gerrit lets somebody sign in, and then leads back to what was asked for. */
  private static String signIn(HttpServletRequest request) {
    String query = request.getQueryString();
    String back = "plugins/" + AdminPlugin.NAME + "/" + (query == null ? "" : "?" + query);
    return "../../login/" + URLEncoder.encode(back, UTF_8);
  }

  private void refuse(
      HttpServletResponse response, int status, String title, String text, String signIn)
      throws IOException {
    boolean back = status == HttpServletResponse.SC_NOT_FOUND;
    Map<String, ?> shown = Map.of("title", title, "text", text, "signIn", signIn, "back", back);
    send(response, status, "refusal", shown);
  }

  /**
   * The token that Gerrit requires in addition to the session's cookie. Gerrit puts it into a
   * cookie too, but only when somebody opens a page of Gerrit's.
   */
  private String token() {
    return Strings.nullToEmpty(session.get().getXGerritAuth());
  }

  private void send(
      HttpServletResponse response, int status, String template, Map<String, ?> parameters)
      throws IOException {
    String html = html(templates.get(), template, parameters);
    response.setStatus(status);
    response.setHeader("Content-Security-Policy", POLICY);
    response.setHeader("Referrer-Policy", "same-origin");
    write(response, "text/html", html);
  }

  private static void sendCsv(HttpServletResponse response, String csv) throws IOException {
    response.setHeader(
        "Content-Disposition", "attachment; filename=\"" + AdminPlugin.NAME + ".csv\"");
    write(response, "text/csv", csv);
  }

  private static void write(HttpServletResponse response, String type, String text)
      throws IOException {
    response.setContentType(type);
    response.setCharacterEncoding(UTF_8.name());
    response.setHeader("Cache-Control", "private, no-store");
    response.setHeader("X-Content-Type-Options", "nosniff");
    response.getOutputStream().write(text.getBytes(UTF_8));
  }

  static SoySauce compile() {
    return SoyFileSet.builder().add(PAGE, "page.soy").build().compileTemplates();
  }

  static String html(SoySauce templates, String template, Map<String, ?> parameters) {
    return templates
        .renderTemplate("cachechroniclemap.page." + template)
        .setData(
            ImmutableMap.<String, Object>builder()
                .putAll(parameters)
                .put("files", FILES)
                .buildOrThrow())
        .renderHtml()
        .get()
        .getContent();
  }

  /**
   * Returns a hash of the page's files, for their addresses. Their times are the same in each
   * version, so browsers would use outdated ones from their cache.
   */
  private static String filesHash() {
    Hasher hasher = Hashing.murmur3_128().newHasher();
    for (String file : List.of("page.js", "page.css", "uplot/uPlot.iife.min.js")) {
      hasher.putBytes(read("/static/" + file));
    }
    return hasher.hash().toString();
  }

  private static byte[] read(String resource) {
    try {
      return Resources.toByteArray(Resources.getResource(PageServlet.class, resource));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
