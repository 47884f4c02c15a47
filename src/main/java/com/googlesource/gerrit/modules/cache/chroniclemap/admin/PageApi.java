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

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Iterables;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.extensions.restapi.Response;
import com.google.gerrit.extensions.restapi.RestApiException;
import com.google.gerrit.extensions.restapi.RestReadView;
import com.google.gerrit.server.CurrentUser;
import com.google.gerrit.server.config.ConfigResource;
import com.google.gson.JsonObject;
import com.google.inject.Inject;
import com.google.inject.Provider;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.kohsuke.args4j.Option;

/** The REST endpoints below {@code /config/server/} from which the page is drawn. */
final class PageApi {
  private PageApi() {}

  /**
   * {@code GET /config/server/cache-chroniclemap~overview?minutes=N}: all that is shown but the
   * charts, and how the figures of caches were so many minutes ago.
   */
  static final class Overview implements RestReadView<ConfigResource> {
    @Option(name = "--minutes", usage = "how long ago the figures are to begin")
    private int minutes = 60;

    /** The projects with most lookups that are looked at, and told if the user may see them. */
    private static final int MAX_PROJECTS = 100;

    @Inject private Optional<CacheInventory> inventory;
    @Inject private Provider<VerifyQueue> queue;
    @Inject private VisibleRefs refs;
    @Inject private History history;
    @Inject private Rights rights;
    @Inject private CurrentUser user;

    @Override
    public Response<JsonObject> apply(ConfigResource server) throws RestApiException {
      rights.require(Rights.VIEW);
      // Before the figures and the events, which so have what came of the work that has ended.
      List<VerifyQueue.Run> tasks =
          inventory.isPresent() ? queue.get().queued() : ImmutableList.of();
      Optional<String> noRefs = refs.whyNone();
      @Nullable RefsTotals totals = noRefs.isPresent() ? null : refs.totals();
      @Nullable Figures figures = totals == null ? null : refs.figures(totals);
      List<CacheReport> caches = inventory.map(CacheInventory::reports).orElse(List.of());
      Problems problems = Problems.find(history, inventory, caches, totals, figures);
      JsonObject out = CachesJson.of(inventory, caches, problems);
      out.add("since", history.since(minutes));
      out.add("process", Sample.memory().addTo(new JsonObject(), Metric::shortName));
      out.add("tasks", CachesJson.array(tasks, VerifyQueue.Run::json));
      out.add("events", CachesJson.array(history.events(), Events.Event::json));
      if (totals == null) {
        out.addProperty("no_refs_reason", noRefs.orElseThrow());
      } else {
        out.add("refs", RefsJson.of(figures, totals, refs.busiest(user, MAX_PROJECTS)));
      }
      JsonObject meanings = new JsonObject();
      meanings.add("caches", meanings(CacheMetrics.WITH_HEAP, CachesJson::nameOf));
      meanings.add(
          "refs",
          meanings(Iterables.concat(RefsMetrics.ALL, RefsMetrics.TRANSPORT), RefsJson::nameOf));
      meanings.add("shared", meanings(SharedMetrics.ALL, Metric::shortName));
      out.add("meanings", meanings);
      return Response.ok(out);
    }

    private static JsonObject meanings(
        Iterable<? extends Metric<?>> metrics, Function<Metric<?>, String> name) {
      JsonObject out = new JsonObject();
      metrics.forEach(metric -> out.addProperty(name.apply(metric), metric.shortMeaning()));
      return out;
    }
  }

  /** {@code GET /config/server/cache-chroniclemap~history}. */
  @Singleton
  static final class GetHistory implements RestReadView<ConfigResource> {
    @Inject private History history;
    @Inject private Rights rights;

    @Override
    public Response<JsonObject> apply(ConfigResource server) throws RestApiException {
      rights.require(Rights.VIEW);
      return Response.ok(history.json());
    }
  }
}
