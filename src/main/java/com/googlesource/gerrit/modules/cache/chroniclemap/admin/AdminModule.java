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

import com.google.gerrit.lifecycle.LifecycleModule;
import com.google.gerrit.sshd.PluginCommandModule;
import com.google.inject.TypeLiteral;

/** Starts the metrics of the caches and the SSH commands with the server. */
public final class AdminModule extends LifecycleModule {
  private final boolean caches;

  private AdminModule(boolean caches) {
    this.caches = caches;
  }

  /** For caches, and for parsed ref lists if they are installed. */
  public static AdminModule forCaches() {
    return new AdminModule(true);
  }

  /** For parsed ref lists alone. */
  public static AdminModule forRefs() {
    return new AdminModule(false);
  }

  @Override
  protected void configure() {
    bind(RefsAccess.class);
    bind(new TypeLiteral<Class<? extends PluginCommandModule>>() {})
        .toInstance(caches ? AdminSshModule.class : RefsSshModule.class);
    if (caches) {
      listener().to(CacheMetrics.class);
    }
    listener().to(AdminLifecycle.class);
  }
}
