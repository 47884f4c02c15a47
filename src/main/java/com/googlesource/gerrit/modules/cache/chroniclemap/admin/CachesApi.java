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

import com.google.gerrit.common.Nullable;
import com.google.gerrit.extensions.restapi.ResourceConflictException;
import com.google.gerrit.extensions.restapi.ResourceNotFoundException;
import com.google.gerrit.extensions.restapi.Response;
import com.google.gerrit.extensions.restapi.RestApiException;
import com.google.gerrit.extensions.restapi.RestModifyView;
import com.google.gerrit.extensions.restapi.RestReadView;
import com.google.gerrit.extensions.restapi.RestView;
import com.google.gerrit.server.CurrentUser;
import com.google.gerrit.server.restapi.config.ListTasks.TaskInfo;
import com.google.gson.JsonObject;
import com.google.inject.Inject;
import com.google.inject.Provider;
import com.google.inject.Singleton;
import com.google.inject.TypeLiteral;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import java.util.List;
import java.util.Optional;

/**
 * The REST endpoints of the caches, {@code /config/server/cache-chroniclemap~caches[/NAME]}, with
 * the rights and the JSON of the SSH commands. Long work answers 202 with a task of Gerrit's.
 */
final class CachesApi {
  static final TypeLiteral<RestView<OneCache>> KIND = new TypeLiteral<>() {};

  private CachesApi() {}

  /** One cache. */
  record OneCache(CacheReport report) implements RestCollection.One {
    @Override
    public JsonObject json() {
      return CachesJson.cache(report);
    }
  }

  /** All caches. */
  @Singleton
  static final class All extends RestCollection<OneCache> {
    @Inject private CacheInventory inventory;
    @Inject private History history;

    @Override
    JsonObject all() {
      List<CacheReport> reports = inventory.reports();
      return CachesJson.of(
          Optional.of(inventory), reports, Problems.find(history, inventory, reports));
    }

    @Override
    OneCache one(String name) throws RestApiException {
      if (inventory.directory().isEmpty()) {
        throw new ResourceConflictException(
            "all caches are kept in memory only: "
                + inventory.memoryOnlyReason().orElse("unknown"));
      }
      return inventory.reports().stream()
          .filter(report -> report.isNamed(name))
          .findAny()
          .map(OneCache::new)
          .orElseThrow(() -> new ResourceNotFoundException("no cache \"" + name + "\" on disk"));
    }
  }

  /** {@code GET .../cache-chroniclemap~caches/NAME/history}. */
  @Singleton
  static final class GetHistory implements RestReadView<OneCache> {
    @Inject private History history;

    @Override
    public Response<JsonObject> apply(OneCache resource) {
      return Response.ok(history.json(resource.report().name()));
    }
  }

  /** {@code POST .../cache-chroniclemap~caches/NAME/verify}. */
  static final class Verify implements RestModifyView<OneCache, Verify.Options> {
    /** The body of the request, which may be missing. */
    static final class Options {
      boolean repair;
    }

    @Inject private Rights rights;
    @Inject private VerifyQueue queue;
    @Inject private Provider<CurrentUser> user;

    @Override
    public Response<TaskInfo> apply(OneCache resource, @Nullable Options input)
        throws RestApiException {
      boolean repair = input != null && input.repair;
      if (repair) {
        rights.require(Rights.MAINTAIN);
      }
      String by = user.get().getLoggableName();
      return Response.withStatusCode(202, queue.start(repair, resource.report().name(), by).info());
    }
  }
}
