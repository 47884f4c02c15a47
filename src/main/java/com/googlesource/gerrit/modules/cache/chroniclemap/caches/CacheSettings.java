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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import static java.util.concurrent.TimeUnit.SECONDS;

import com.google.common.base.Strings;
import com.google.gerrit.common.Version;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.config.ConfigUtil;
import com.google.gerrit.server.config.GerritRuntime;
import com.google.gerrit.server.config.GerritServerConfig;
import com.google.gerrit.server.config.SitePaths;
import com.google.inject.Inject;
import com.google.inject.ProvisionException;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedValues;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.jgit.lib.Config;

/** The settings of the caches in {@code gerrit.config}. No other class reads them. */
final class CacheSettings {
  private static final String SECTION = "cache";

  /** Gerrit's own default for a persistent cache. */
  private static final long DEFAULT_DISK_LIMIT = 128 << 20;

  /**
   * The cache that Gerrit keeps in memory only by default, because H2's compaction took a site
   * down. Its values are the most expensive to compute, and no store needs such a compaction.
   */
  private static final String CHANGE_NOTES = "change_notes";

  /** The folder of the stores within {@code cache.directory}, beside the files of H2. */
  private static final String FOLDER = "cache-chroniclemap";

  private static final String IMPORT = "importFromH2";

  private final Config config;
  final SitePaths site;

  /** Optional, as the injectors of Gerrit's own tests do not bind it. */
  @Inject(optional = true)
  private GerritRuntime runtime = GerritRuntime.DAEMON;

  @Inject
  CacheSettings(@GerritServerConfig Config config, SitePaths site) {
    this.config = config;
    this.site = site;
  }

  /**
   * Checks the settings of a cache, those of its memory tier too. At the start this was done for
   * all but the caches of plugins, of which each fails alone.
   *
   * @throws ProvisionException if one has an invalid value
   */
  void check(PersistentCacheDef<?, ?> def) {
    Setting.check(config, SECTION + "." + def.configKey(), Setting.OF_EACH_CACHE);
  }

  /** Whether this process is a program such as {@code reindex}, and no server. */
  boolean isOfflineProgram() {
    return runtime == GerritRuntime.BATCH;
  }

  /** The folder for the stores; empty if {@code cache.directory} is not set. */
  Optional<Path> directory() {
    return h2Directory().map(directory -> directory.resolve(FOLDER));
  }

  /** The folder of Gerrit's H2 files; empty if {@code cache.directory} is not set. */
  Optional<Path> h2Directory() {
    return Optional.ofNullable(site.resolve(config.getString(SECTION, null, "directory")));
  }

  /** Whether values are imported from H2 without a command. */
  boolean importFromH2() {
    return config.getBoolean(FOLDER, null, IMPORT, config.getBoolean(SECTION, null, IMPORT, true));
  }

  /** Whether that is set under its name of version 1.0, which the next version drops. */
  boolean namesImportAsBefore() {
    return config.getString(SECTION, null, IMPORT) != null;
  }

  /**
   * Begins to share values with other servers, if that is configured.
   *
   * @param folder of the stores
   * @throws IllegalArgumentException if a setting is invalid
   */
  Optional<SharedValues> shareValues(Path folder) {
    return SharedValues.begin(config, folder, minorVersion());
  }

  /** Gerrit's version without what changes within a minor one, such as 3.13. */
  private static String minorVersion() {
    String version = Strings.nullToEmpty(Version.getVersion());
    Matcher minor = Pattern.compile("v?(\\d+\\.\\d+)\\b.*").matcher(version);
    return minor.matches() ? minor.group(1) : version;
  }

  /** The limit of a cache's file in bytes; 0 or less for a cache in memory only. */
  long diskLimit(PersistentCacheDef<?, ?> def) {
    long byDefault = def.diskLimit();
    if (byDefault <= 0 && def.name().equals(CHANGE_NOTES)) {
      byDefault = DEFAULT_DISK_LIMIT;
    }
    return config.getLong(SECTION, def.configKey(), "diskLimit", byDefault);
  }

  /** The limit of a cache's memory tier, as Gerrit reads it: entries or what the cache weighs. */
  long memoryLimit(PersistentCacheDef<?, ?> def) {
    return config.getLong(SECTION, def.configKey(), "memoryLimit", def.maximumWeight());
  }

  /** The age at which a value expires. */
  Optional<Duration> maxAge(PersistentCacheDef<?, ?> def) {
    return duration(def.configKey(), "maxAge", def.expireAfterWrite());
  }

  /** The age from which a read of a value has the value recomputed in the background. */
  Optional<Duration> refreshAfterWrite(PersistentCacheDef<?, ?> def) {
    return duration(def.configKey(), "refreshAfterWrite", def.refreshAfterWrite());
  }

  private Optional<Duration> duration(String cache, String name, Duration byDefault) {
    long seconds = ConfigUtil.getTimeUnit(config, SECTION, cache, name, 0, SECONDS);
    return Optional.ofNullable(seconds > 0 ? Duration.ofSeconds(seconds) : byDefault);
  }
}
