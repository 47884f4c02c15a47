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
import com.google.gerrit.extensions.restapi.Response;
import com.google.gerrit.extensions.restapi.RestApiException;
import com.google.gerrit.extensions.restapi.RestReadView;
import com.google.gerrit.extensions.restapi.RestResource;
import com.google.gerrit.extensions.restapi.RestView;
import com.google.gerrit.server.config.ConfigResource;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.inject.Inject;

/**
 * A REST collection below {@code /config/server/} that can be read as a whole or one by one, by
 * users who may view the caches. The collection is its own view of the whole.
 */
abstract class RestCollection<R extends RestCollection.One>
    implements ChildCollection<ConfigResource, R>, RestReadView<ConfigResource> {
  /** One resource of a collection, which is read as JSON. */
  interface One extends RestResource {
    JsonObject json();
  }

  /** The view of one resource. */
  static final class GetOne<R extends One> implements RestReadView<R> {
    @Override
    public Response<JsonObject> apply(R resource) {
      return Response.ok(resource.json());
    }
  }

  @Inject private DynamicMap<RestView<R>> views;
  @Inject private Rights rights;

  /** Returns all as JSON. */
  abstract JsonElement all() throws RestApiException;

  /** Returns one by its name, or throws the error that Gerrit is to answer. */
  abstract R one(String id) throws RestApiException;

  @Override
  public final RestView<ConfigResource> list() {
    return this;
  }

  @Override
  public final Response<JsonElement> apply(ConfigResource server) throws RestApiException {
    rights.require(Rights.VIEW);
    return Response.ok(all());
  }

  @Override
  public final R parse(ConfigResource server, IdString id) throws RestApiException {
    rights.require(Rights.VIEW);
    return one(id.get());
  }

  @Override
  public final DynamicMap<RestView<R>> views() {
    return views;
  }
}
