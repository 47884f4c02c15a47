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

import com.google.common.collect.ImmutableList;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The order and the rows of the page's table of caches, as its address asks for them. */
class PageCachesTest {
  private final List<CacheReport> caches =
      List.of(cache("diff", 5, 2), cache("Accounts", 7, 1), cache("web_sessions", 1, 3));

  private static CacheReport cache(String name, long hits, long evicted) {
    return TestCaches.report(name, StoreState.READY, StartReport.Kind.CLEAN, hits, evicted, 0);
  }

  private static PageQuery query(String sort, String filter) {
    return new PageQuery("", sort, filter, true, PageQuery.ALL_HOURS);
  }

  private PageCaches table(PageQuery query) {
    return new PageCaches(
        query,
        new PageHistory(ImmutableList.of()),
        caches,
        new Problems(0, ImmutableList.of(), Duration.ZERO, List.of()));
  }

  private List<?> names(PageQuery query) {
    List<?> rows = (List<?>) table(query).table().data().get("rows");
    return rows.stream().map(row -> ((Map<?, ?>) ((List<?>) row).get(0)).get("text")).toList();
  }

  @Test
  void order() {
    assertThat(names(query("", ""))).containsExactly("Accounts", "diff", "web_sessions").inOrder();
    assertThat(names(query("evicted", "")))
        .containsExactly("Accounts", "diff", "web_sessions")
        .inOrder();
    assertThat(names(query("-evicted", "")))
        .containsExactly("web_sessions", "diff", "Accounts")
        .inOrder();
    assertThat(names(query("-cache", "")))
        .containsExactly("web_sessions", "diff", "Accounts")
        .inOrder();
    // What nobody knows changes nothing.
    assertThat(names(query("<b>", ""))).hasSize(3);
  }

  @Test
  void aHeadingLeadsToTheOtherOrder() {
    assertThat(heads(query("", ""), "evicted")).isEqualTo("?sort=-evicted");
    assertThat(heads(query("-evicted", ""), "evicted")).isEqualTo("?sort=evicted");
    assertThat(heads(query("evicted", ""), "evicted")).isEqualTo("?sort=-evicted");
    assertThat(heads(query("", "a&b"), "cache")).isEqualTo("?sort=-cache&filter=a%26b");
  }

  private Object heads(PageQuery query, String title) {
    List<?> heads = (List<?>) table(query).table().data().get("head");
    return heads.stream()
        .map(head -> (Map<?, ?>) head)
        .filter(head -> String.valueOf(head.get("text")).equalsIgnoreCase(title))
        .findAny()
        .orElseThrow()
        .get("href");
  }

  @Test
  void filter() {
    assertThat(names(query("", "s"))).containsExactly("Accounts", "web_sessions");
    assertThat(table(query("", "s")).folding().get("filtered")).isEqualTo(1);
    assertThat(names(query("", "SESS"))).containsExactly("web_sessions");
  }
}
