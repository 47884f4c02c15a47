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
import com.google.gerrit.extensions.common.Input;
import com.google.gerrit.extensions.restapi.ResourceNotFoundException;
import com.google.gerrit.extensions.restapi.Response;
import com.google.gerrit.extensions.restapi.RestApiException;
import com.google.gerrit.extensions.restapi.RestModifyView;
import com.google.gerrit.extensions.restapi.RestReadView;
import com.google.gerrit.extensions.restapi.RestResource;
import com.google.gerrit.extensions.restapi.RestView;
import com.google.gerrit.server.CurrentUser;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.inject.Inject;
import com.google.inject.Provider;
import com.google.inject.Singleton;
import com.google.inject.TypeLiteral;

/**
 * Long work that was started by REST: {@code /config/server/cache-chroniclemap~tasks[/ID]}. {@code
 * DELETE} cancels it.
 */
final class TasksApi {
  static final TypeLiteral<RestView<OneTask>> KIND = new TypeLiteral<>() {};

  private TasksApi() {}

  /** One task. */
  record OneTask(UpkeepTasks.Task task) implements RestResource {}

  /** All tasks that are known. */
  @Singleton
  static final class All extends RestCollection<OneTask> {
    @Inject private UpkeepTasks tasks;

    @Override
    JsonArray all() {
      JsonArray all = new JsonArray();
      tasks.all().forEach(task -> all.add(task.json()));
      return all;
    }

    @Override
    OneTask one(String id) throws RestApiException {
      return tasks
          .find(id)
          .map(OneTask::new)
          .orElseThrow(
              () -> new ResourceNotFoundException("no task " + id + ", or it has ended long ago"));
    }
  }

  /** {@code GET .../cache-chroniclemap~tasks/ID}. */
  @Singleton
  static final class Get implements RestReadView<OneTask> {
    @Override
    public Response<JsonObject> apply(OneTask resource) {
      return Response.ok(resource.task().json());
    }
  }

  /** {@code DELETE .../cache-chroniclemap~tasks/ID}, for who has started it and administrators. */
  @Singleton
  static final class Cancel implements RestModifyView<OneTask, Input> {
    @Inject private Provider<CurrentUser> user;
    @Inject private Rights rights;

    @Override
    public Response<?> apply(OneTask resource, @Nullable Input input) throws RestApiException {
      if (!resource.task().by.equals(user.get().getAccountId())) {
        rights.requireMaintain();
      }
      resource.task().cancel();
      return Response.none();
    }
  }
}
