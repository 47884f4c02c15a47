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
import com.google.gerrit.server.config.CanonicalWebUrl;
import com.google.gerrit.server.config.GerritRuntime;
import com.google.gerrit.server.config.SitePaths;
import com.google.gerrit.server.plugins.InvalidPluginException;
import com.google.gerrit.server.plugins.JarScanner;
import com.google.gerrit.server.plugins.PluginEntry;
import com.google.gerrit.server.plugins.PluginGuiceEnvironment;
import com.google.gerrit.server.plugins.ServerPlugin;
import com.google.inject.Inject;
import com.google.inject.Provider;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.Optional;

/**
 * A plugin that binds the SSH commands, the REST API and the page.
 *
 * <p>A module in {@code lib/} is bound before Gerrit's SSH server exists, so only a plugin can bind
 * commands. This class makes the module a plugin once the server starts, so that administrators
 * need no second jar in {@code plugins/}.
 */
final class AdminPlugin extends ServerPlugin {
  static final String NAME = "cache-chroniclemap";

  @Inject
  AdminPlugin(
      @CanonicalWebUrl Provider<String> webUrl,
      PluginUser.Factory users,
      SitePaths site,
      GerritRuntime runtime)
      throws InvalidPluginException {
    super(
        NAME,
        webUrl.get() + "plugins/" + NAME + "/",
        users.create(NAME),
        RunningJar.path(),
        /* snapshot= */ null,
        scanner(),
        site.data_dir.resolve(NAME),
        AdminPlugin.class.getClassLoader(),
        /* metricsPrefix= */ null,
        runtime);
    sshModule = AdminSshModule.class;
    sysModule = AdminRestModule.class;
    httpModule = AdminHttpModule.class;
  }

  /**
   * Reads a copy of the jar, from which Gerrit serves {@code Documentation/} and {@code static/}.
   * They stay the same if the jar is overwritten while Gerrit runs. The copy is a deleted file,
   * whose disk is freed when the process ends.
   */
  private static JarScanner scanner() throws InvalidPluginException {
    try {
      Path copy = Files.createTempFile(NAME, ".jar");
      try {
        return new PictureScanner(
            Files.copy(RunningJar.path(), copy, StandardCopyOption.REPLACE_EXISTING));
      } finally {
        Files.delete(copy);
      }
    } catch (IOException e) {
      throw new InvalidPluginException("Cannot read " + RunningJar.path(), e);
    }
  }

  /** Tells the type of the documentation's charts: Gerrit takes them for XML, not for pictures. */
  private static final class PictureScanner extends JarScanner {
    PictureScanner(Path jar) throws IOException {
      super(jar);
    }

    @Override
    public Optional<PluginEntry> getEntry(String path) throws IOException {
      Map<Object, String> picture = Map.of(PluginEntry.ATTR_CONTENT_TYPE, "image/svg+xml");
      Optional<PluginEntry> entry = super.getEntry(path);
      return path.endsWith(".svg")
          ? entry.map(e -> new PluginEntry(e.getName(), e.getTime(), e.getSize(), picture))
          : entry;
    }
  }

  /** Starts the plugin and registers its bindings. */
  void register(PluginGuiceEnvironment environment) throws Exception {
    start(environment);
    environment.onStartPlugin(this);
  }

  void unregister(PluginGuiceEnvironment environment) {
    environment.onStopPlugin(this);
    stop(environment);
  }

  @Override
  public String getVersion() {
    return RunningJar.version();
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
