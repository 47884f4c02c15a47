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

import static com.google.common.truth.Truth.assertThat;

import com.google.template.soy.jbcsrc.api.SoySauce;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The template of the page, with names that are markup. */
class PageTemplateTest {
  private static final String MARKUP = "<img src=x onerror=alert(1)>\"'&";
  private static final SoySauce TEMPLATES = PageServlet.compile();

  private static void assertEscaped(String html) {
    assertThat(html).doesNotContain("<img");
    assertThat(html).doesNotContain("\"'&");
    assertThat(html).contains("&lt;img src=x onerror=alert(1)&gt;");
  }

  private static Map<String, ?> table() {
    PageTable table = new PageTable(MARKUP + "|#n");
    table.row(PageTable.link(MARKUP, "?cache=x"), PageTable.cell(7, MARKUP));
    table.row(PageTable.cell(MARKUP), PageTable.time(1));
    return table.data();
  }

  private static PageTable tasks(String cancel) {
    PageTable table = new PageTable("Work|Result");
    table.row(
        PageTable.cell(MARKUP),
        new PageTable.Cell(
            Map.of("text", MARKUP, "task", MARKUP, "cancel", cancel, "what", MARKUP)));
    return table;
  }

  private static Map<String, ?> problem() {
    return Map.of(
        "level",
        "now",
        "shown",
        MARKUP,
        "subject",
        MARKUP,
        "href",
        "?cache=x",
        "text",
        MARKUP,
        "meaning",
        MARKUP,
        "paragraph",
        "state",
        "repair",
        true,
        "last",
        PageTable.time(1).data());
  }

  /** The parameters of a page in which each text is markup. */
  private static Map<String, Object> page(String selected) {
    Map<String, Object> all = new HashMap<>();
    all.put("version", MARKUP);
    all.put("selected", selected);
    all.put("token", MARKUP);
    all.put("mayMaintain", true);
    all.put("mayFlush", true);
    all.put("sessions", false);
    all.put("verdict", "now");
    all.put("home", "./");
    all.put("json", MARKUP);
    all.put("hours", 8);
    all.put("ranges", List.of(Map.of("text", MARKUP, "href", "?hours=1", "current", true)));
    all.put("problems", List.of(problem()));
    all.put("directory", MARKUP);
    all.put("filter", MARKUP);
    all.put("sort", MARKUP);
    all.put("folding", Map.of("unused", 1, "filtered", 1, "href", "?all=1", "open", true));
    all.put("cacheNote", MARKUP);
    all.put("noRefs", "");
    all.put("refsNotes", List.of(MARKUP));
    all.put("tasks", tasks(MARKUP).data());
    for (String name : List.of("caches", "summary", "figures", "events", "projects", "shared")) {
      all.put(name, table());
    }
    return all;
  }

  @Test
  void allTextsAreEscaped() {
    assertEscaped(PageServlet.html(TEMPLATES, "page", page("")));
    assertEscaped(PageServlet.html(TEMPLATES, "page", page(MARKUP)));
    assertEscaped(
        PageServlet.html(
            TEMPLATES,
            "refusal",
            Map.of("title", MARKUP, "text", MARKUP, "signIn", "../../login/x", "back", true)));
  }

  @Test
  void buttonsAreThoseThatTheUserMayUse() {
    Map<String, Object> page = page("change_notes");
    assertThat(PageServlet.html(TEMPLATES, "page", page)).contains("data-action=\"import\"");
    assertThat(PageServlet.html(TEMPLATES, "page", page)).contains("data-cancel=");
    page.put("tasks", tasks("").data());
    page.put("mayMaintain", false);
    page.put("mayFlush", false);
    String html = PageServlet.html(TEMPLATES, "page", page);
    assertThat(html).contains("data-action=\"verify\"");
    assertThat(html).doesNotContain("data-action=\"import\"");
    assertThat(html).doesNotContain("data-action=\"flush\"");
    assertThat(html).doesNotContain("data-cancel=");
  }

  @Test
  void flushOfSessionsSaysWhatItDoes() {
    Map<String, Object> page = page("web_sessions");
    page.put("sessions", true);
    assertThat(PageServlet.html(TEMPLATES, "page", page)).contains("Sign everybody out");
  }

  /** A server whose refs module alone is installed. */
  @Test
  void worksWithoutCaches() {
    Map<String, Object> page = page("");
    for (String name : List.of("caches", "cacheNote", "figures", "tasks", "directory", "folding")) {
      page.remove(name);
    }
    String html = PageServlet.html(TEMPLATES, "page", page);
    assertThat(html).contains("Parsed ref lists");
    assertThat(html).doesNotContain("Files in");
    assertThat(html).doesNotContain("Verify");
  }
}
