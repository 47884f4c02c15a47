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

import com.google.common.base.Strings;
import com.google.common.net.UrlEscapers;
import java.util.Map;
import javax.servlet.http.HttpServletRequest;

/**
 * What a request for the page asks for. Each choice is a part of the address, so that it works
 * without a script, survives a refresh, and can be sent to others.
 *
 * @param cache the cache whose page it is, or empty for all
 * @param sort the column by which the table of caches is sorted, with a dash in front for the
 *     highest first, or empty
 * @param filter a part of the names of caches, or empty
 * @param folded whether unused caches are left out
 * @param hours how much of the history is shown
 */
record PageQuery(String cache, String sort, String filter, boolean folded, int hours) {
  private static final int MAX_LENGTH = 200;
  static final int ALL_HOURS = 8;

  static PageQuery of(HttpServletRequest request) {
    return new PageQuery(
        get(request, "cache"),
        get(request, "sort"),
        get(request, "filter"),
        !get(request, "all").equals("1"),
        switch (get(request, "hours")) {
          case "1" -> 1;
          case "3" -> 3;
          default -> ALL_HOURS;
        });
  }

  private static String get(HttpServletRequest request, String name) {
    String value = Strings.nullToEmpty(request.getParameter(name));
    return value.length() > MAX_LENGTH ? "" : value;
  }

  /** Returns the address of the page of a cache, or of all caches, with the same history. */
  String ofCache(String name) {
    return new PageQuery(name, "", "", true, hours).address();
  }

  /** Returns the address of the same with more or less of the history. */
  String ofHours(int other) {
    return new PageQuery(cache, sort, filter, folded, other).address();
  }

  /** Returns the address of the table in another order. */
  String sortedBy(String other) {
    return new PageQuery(cache, other, filter, folded, hours).address();
  }

  /** Returns the address of the table with or without unused caches. */
  String folded(boolean other) {
    return new PageQuery(cache, sort, filter, other, hours).address();
  }

  /** Returns the address of the history in Gerrit's REST API. */
  String jsonOfHistory() {
    String path = cache.isEmpty() ? "" : "caches/" + escape(cache) + "/";
    return "../../config/server/" + AdminPlugin.NAME + "~" + path + "history";
  }

  /** In a path, too, as Gerrit takes a plus there for a space. */
  private static String escape(String text) {
    return UrlEscapers.urlFormParameterEscaper().escape(text);
  }

  private String address() {
    StringBuilder out = new StringBuilder("?");
    Map<String, String> given =
        Map.of(
            "cache", cache,
            "sort", sort,
            "filter", filter,
            "all", folded ? "" : "1",
            "hours", hours == ALL_HOURS ? "" : Integer.toString(hours));
    // In the same order each time, as links that differ are new ones for a refresh.
    for (String name : new String[] {"cache", "sort", "filter", "all", "hours"}) {
      String value = given.get(name);
      if (!value.isEmpty()) {
        out.append(out.length() > 1 ? "&" : "").append(name).append('=');
        out.append(escape(value));
      }
    }
    return out.length() == 1 ? "./" : out.toString();
  }
}
