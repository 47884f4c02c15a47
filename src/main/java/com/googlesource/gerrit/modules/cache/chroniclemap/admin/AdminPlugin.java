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
import com.google.gerrit.common.Version;
import com.google.gerrit.server.PluginUser;
import com.google.gerrit.server.config.GerritRuntime;
import com.google.gerrit.server.config.SitePaths;
import com.google.gerrit.server.plugins.InvalidPluginException;
import com.google.gerrit.server.plugins.PluginGuiceEnvironment;
import com.google.gerrit.server.plugins.ServerPlugin;
import com.google.gerrit.sshd.PluginCommandModule;

/**
 * A plugin without a jar of its own.
 *
 * <p>A libModule is bound before Gerrit's SSH server exists and can't bind commands for it; plugins
 * can. So that an administrator installs one jar in {@code lib/} and none in {@code plugins/}, this
 * module makes itself a plugin once the server starts.
 */
final class AdminPlugin extends ServerPlugin {
  static final String NAME = "cache-chroniclemap";

  AdminPlugin(
      String webUrl,
      PluginUser user,
      SitePaths site,
      GerritRuntime runtime,
      Class<? extends PluginCommandModule> commands)
      throws InvalidPluginException {
    super(
        NAME,
        webUrl + "plugins/" + NAME + "/",
        user,
        /* srcJar= */ null,
        /* snapshot= */ null,
        /* scanner= */ null,
        site.data_dir.resolve(NAME),
        AdminPlugin.class.getClassLoader(),
        /* metricsPrefix= */ null,
        runtime);
    // Set so that Gerrit does not look for modules in the jar that is not there.
    sysModule = AdminSysModule.class;
    sshModule = commands;
  }

  void begin(PluginGuiceEnvironment environment) throws Exception {
    start(environment);
    environment.onStartPlugin(this);
  }

  void end(PluginGuiceEnvironment environment) {
    environment.onStopPlugin(this);
    stop(environment);
  }

  @Override
  @Nullable
  public String getVersion() {
    return AdminPlugin.class.getPackage().getImplementationVersion();
  }

  @Override
  @Nullable
  public String getApiVersion() {
    return Version.getVersion();
  }

  @Override
  protected boolean canReload() {
    return false;
  }
}
