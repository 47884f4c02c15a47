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

import com.google.common.flogger.FluentLogger;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.gerrit.server.plugins.PluginGuiceEnvironment;
import com.google.inject.Inject;
import com.google.inject.Provider;
import com.google.inject.Singleton;

/**
 * The starter of {@link AdminPlugin}, which starts and stops it with the server. The caches work
 * without the plugin.
 */
@Singleton
final class AdminLifecycle implements LifecycleListener {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  // Providers, since Gerrit can make neither of them while its modules are configured.
  @Inject private Provider<PluginGuiceEnvironment> environment;
  @Inject private Provider<AdminPlugin> plugins;

  @Nullable private AdminPlugin plugin;

  @Override
  public void start() {
    try {
      AdminPlugin starting = plugins.get();
      starting.register(environment.get());
      plugin = starting;
    } catch (Exception | LinkageError e) {
      // A Gerrit that brings another servlet API, for example.
      logger.atSevere().withCause(e).log(
          "The admin plugin of %s failed to start, so its SSH commands, REST API and page are missing;"
              + " caches and refs are unaffected",
          AdminPlugin.NAME);
    }
  }

  @Override
  public void stop() {
    if (plugin != null) {
      plugin.unregister(environment.get());
      plugin = null;
    }
  }
}
