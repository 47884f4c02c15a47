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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.tiny.GetCommand;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.tiny.TinyModule;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.tiny.TinySshModule;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.tiny.WordLoader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Packs the plugin {@code tiny} as a jar for {@code $GERRIT_SITE/plugins}. */
final class TinyPlugin {
  static final String NAME = "tiny";

  /** The name of its cache in {@code gerrit.config} and here. */
  static final String CACHE = "tiny.words";

  /** The name of its cache in Gerrit's own tables. */
  static final String CACHE_IN_GERRIT = "tiny-words";

  /** The name of its cache in metrics, Gerrit's own and ours. */
  static final String CACHE_IN_METRICS = "plugin/tiny/words";

  private TinyPlugin() {}

  static void install(GerritSite site) throws IOException {
    Path plugins = Files.createDirectories(site.path().resolve("plugins"));
    TestJar.write(
        plugins.resolve(NAME + ".jar"),
        Map.of(
            "Gerrit-PluginName",
            NAME,
            "Gerrit-ApiType",
            "plugin",
            "Gerrit-Module",
            TinyModule.class.getName(),
            "Gerrit-SshModule",
            TinySshModule.class.getName()),
        List.of(TinyModule.class, TinySshModule.class, GetCommand.class, WordLoader.class));
  }
}
