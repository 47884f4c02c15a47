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

import com.google.gerrit.extensions.registration.DynamicMap;
import com.google.gerrit.extensions.restapi.ChildCollection;
import com.google.gerrit.extensions.restapi.IdString;
import com.google.gerrit.extensions.restapi.ResourceConflictException;
import com.google.gerrit.extensions.restapi.ResourceNotFoundException;
import com.google.gerrit.extensions.restapi.Response;
import com.google.gerrit.extensions.restapi.RestApiException;
import com.google.gerrit.extensions.restapi.RestReadView;
import com.google.gerrit.extensions.restapi.RestResource;
import com.google.gerrit.extensions.restapi.RestView;
import com.google.gerrit.server.CurrentUser;
import com.google.gerrit.server.config.ConfigResource;
import com.google.gson.JsonObject;
import com.google.inject.Inject;
import com.google.inject.Provider;
import com.google.inject.Singleton;
import com.google.inject.TypeLiteral;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.ProjectRefs;
import java.util.Optional;

/**
 * The parsed ref lists by REST: {@code /config/server/cache-chroniclemap~refs[/PROJECT]}, with the
 * rights and the JSON of the SSH command {@code refs}.
 */
final class RefsApi {
  static final TypeLiteral<RestView<OneProject>> KIND = new TypeLiteral<>() {};

  private RefsApi() {}

  /** The refs of one project. */
  record OneProject(ProjectRefs refs) implements RestResource {}

  /** All projects. */
  @Singleton
  static final class All implements ChildCollection<ConfigResource, OneProject> {
    private final DynamicMap<RestView<OneProject>> views;
    private final Provider<GetAll> list;
    private final Provider<VisibleRefs> refs;
    private final Provider<CurrentUser> user;
    private final Rights rights;

    @Inject
    All(
        DynamicMap<RestView<OneProject>> views,
        Provider<GetAll> list,
        Provider<VisibleRefs> refs,
        Provider<CurrentUser> user,
        Rights rights) {
      this.views = views;
      this.list = list;
      this.refs = refs;
      this.user = user;
      this.rights = rights;
    }

    @Override
    public RestView<ConfigResource> list() {
      return list.get();
    }

    @Override
    public OneProject parse(ConfigResource parent, IdString id) throws RestApiException {
      rights.requireView();
      requireAny(refs.get());
      return new OneProject(
          refs.get()
              .of(user.get(), id.get())
              .orElseThrow(() -> new ResourceNotFoundException(VisibleRefs.whyNot(id.get()))));
    }

    @Override
    public DynamicMap<RestView<OneProject>> views() {
      return views;
    }
  }

  private static void requireAny(VisibleRefs refs) throws ResourceConflictException {
    Optional<String> whyNone = refs.whyNone();
    if (whyNone.isPresent()) {
      throw new ResourceConflictException(whyNone.get());
    }
  }

  /** {@code GET .../cache-chroniclemap~refs}. */
  static final class GetAll implements RestReadView<ConfigResource> {
    private final VisibleRefs refs;
    private final CurrentUser user;
    private final Rights rights;

    @Inject
    GetAll(VisibleRefs refs, CurrentUser user, Rights rights) {
      this.refs = refs;
      this.user = user;
      this.rights = rights;
    }

    @Override
    public Response<JsonObject> apply(ConfigResource resource) throws RestApiException {
      rights.requireView();
      requireAny(refs);
      return Response.ok(RefsJson.of(refs.totals(), refs.transport(), refs.of(user)));
    }
  }

  /** {@code GET .../cache-chroniclemap~refs/PROJECT}. */
  @Singleton
  static final class GetOne implements RestReadView<OneProject> {
    @Override
    public Response<JsonObject> apply(OneProject resource) {
      return Response.ok(RefsJson.project(resource.refs()));
    }
  }
}
