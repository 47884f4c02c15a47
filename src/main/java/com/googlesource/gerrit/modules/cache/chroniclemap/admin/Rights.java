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

import com.google.gerrit.extensions.api.access.GlobalOrPluginPermission;
import com.google.gerrit.extensions.restapi.RestApiException;
import com.google.gerrit.server.permissions.GlobalPermission;
import com.google.gerrit.server.permissions.PermissionBackend;
import com.google.gerrit.server.permissions.PermissionBackendException;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import java.util.Set;

/** The rights of the REST API and the page, which are those of the SSH commands. */
@Singleton
final class Rights {
  private static final Set<GlobalOrPluginPermission> VIEW =
      Set.of(GlobalPermission.VIEW_CACHES, GlobalPermission.MAINTAIN_SERVER);
  private static final Set<GlobalOrPluginPermission> MAINTAIN =
      Set.of(GlobalPermission.MAINTAIN_SERVER);
  private static final Set<GlobalOrPluginPermission> FLUSH =
      Set.of(GlobalPermission.FLUSH_CACHES, GlobalPermission.MAINTAIN_SERVER);

  @Inject private PermissionBackend permissions;

  /** Requires View Caches or Maintain Server. */
  void requireView() throws RestApiException {
    require(VIEW);
  }

  /** Requires Maintain Server. */
  void requireMaintain() throws RestApiException {
    require(MAINTAIN);
  }

  private void require(Set<GlobalOrPluginPermission> any) throws RestApiException {
    try {
      permissions.currentUser().checkAny(any);
    } catch (PermissionBackendException e) {
      throw RestApiException.wrap("Permission check unavailable", e);
    }
  }

  /** Whether the user has View Caches or Maintain Server. */
  boolean mayView() {
    return has(VIEW);
  }

  /** Whether the user has Maintain Server. */
  boolean mayMaintain() {
    return has(MAINTAIN);
  }

  /**
   * Whether the user has Kill Task and View Queue, as Gerrit requires for a task. Maintain Server
   * implies both.
   */
  boolean mayKill() {
    return has(Set.of(GlobalPermission.KILL_TASK)) && has(Set.of(GlobalPermission.VIEW_QUEUE));
  }

  /** Whether the user has Flush Caches or Maintain Server, as Gerrit's own flush requires. */
  boolean mayFlush() {
    return has(FLUSH);
  }

  private boolean has(Set<GlobalOrPluginPermission> any) {
    return any.stream().anyMatch(permissions.currentUser()::testOrFalse);
  }
}
