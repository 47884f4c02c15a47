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

import com.google.gerrit.extensions.restapi.ResourceConflictException;
import com.google.gerrit.extensions.restapi.ResourceNotFoundException;
import com.google.gerrit.extensions.restapi.RestApiException;
import com.google.gerrit.extensions.restapi.RestView;
import com.google.gerrit.server.CurrentUser;
import com.google.gson.JsonObject;
import com.google.inject.Inject;
import com.google.inject.Provider;
import com.google.inject.Singleton;
import com.google.inject.TypeLiteral;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.ProjectRefs;
import java.util.Optional;

/**
 * The REST endpoints of the parsed ref lists, {@code
 * /config/server/cache-chroniclemap~refs[/PROJECT]}, with the rights and the JSON of the SSH
 * command {@code refs}.
 */
final class RefsApi {
  static final TypeLiteral<RestView<OneProject>> KIND = new TypeLiteral<>() {};

  private RefsApi() {}

  /** The refs of one project. */
  record OneProject(ProjectRefs refs) implements RestCollection.One {
    @Override
    public JsonObject json() {
      return RefsJson.project(refs);
    }
  }

  /** All projects that the user may see. */
  @Singleton
  static final class All extends RestCollection<OneProject> {
    @Inject private Provider<VisibleRefs> refs;
    @Inject private Provider<CurrentUser> user;

    @Override
    JsonObject all() throws RestApiException {
      VisibleRefs installed = installed();
      RefsTotals totals = installed.totals();
      return RefsJson.of(installed.figures(totals), totals, installed.of(user.get()));
    }

    @Override
    OneProject one(String project) throws RestApiException {
      return new OneProject(
          installed()
              .of(user.get(), project)
              .orElseThrow(() -> new ResourceNotFoundException(VisibleRefs.whyNot(project))));
    }

    private VisibleRefs installed() throws ResourceConflictException {
      VisibleRefs installed = refs.get();
      Optional<String> whyNone = installed.whyNone();
      if (whyNone.isPresent()) {
        throw new ResourceConflictException(whyNone.get());
      }
      return installed;
    }
  }
}
