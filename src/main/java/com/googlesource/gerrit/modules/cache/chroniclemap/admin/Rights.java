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

import com.google.common.collect.ImmutableSet;
import com.google.gerrit.extensions.api.access.GlobalOrPluginPermission;
import com.google.gerrit.extensions.restapi.RestApiException;
import com.google.gerrit.server.permissions.GlobalPermission;
import com.google.gerrit.server.permissions.PermissionBackend;
import com.google.gerrit.server.permissions.PermissionBackendException;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import java.util.Set;

/** A check of rights for the REST API and the page: those of the SSH commands. */
@Singleton
final class Rights {
  /** To view figures. A refusal names the last one, so the lesser comes last. */
  static final Set<GlobalOrPluginPermission> VIEW =
      ImmutableSet.of(GlobalPermission.MAINTAIN_SERVER, GlobalPermission.VIEW_CACHES);

  /** To change something. */
  static final Set<GlobalOrPluginPermission> MAINTAIN = Set.of(GlobalPermission.MAINTAIN_SERVER);

  @Inject private PermissionBackend permissions;

  /** Requires one of some permissions. */
  void require(Set<GlobalOrPluginPermission> any) throws RestApiException {
    try {
      permissions.currentUser().checkAny(any);
    } catch (PermissionBackendException e) {
      throw RestApiException.wrap("Permission check unavailable", e);
    }
  }

  /** Whether the user has one of some permissions. */
  boolean has(Set<GlobalOrPluginPermission> any) {
    return any.stream().anyMatch(permissions.currentUser()::testOrFalse);
  }
}
