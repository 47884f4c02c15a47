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

package com.googlesource.gerrit.modules.cache.chroniclemap.repositories;

import com.google.gerrit.entities.Project;
import com.google.gerrit.server.config.GerritServerConfig;
import com.google.gerrit.server.config.SitePaths;
import com.google.inject.Inject;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Optional;
import org.eclipse.jgit.lib.Config;

/** The settings of parsed ref lists, in {@code gerrit.config} and in a repository's own config. */
final class PackedRefsConfig {
  private static final String CACHE = "cache";
  private static final String NAME = "packed_refs";
  static final String SECTION = "cache-chroniclemap";

  /** The section of version 1.0, which is read where nothing is set in the other one. */
  static final String EARLIER = "packedRefs";

  private static final long LEAST_MEMORY_LIMIT = 256 << 20;

  /** Of one process, so that all its users have the same settings and share the lists. */
  private static final long DEFAULT_MEMORY_LIMIT =
      defaultMemoryLimit(memory(), Runtime.getRuntime().maxMemory(), directMemory());

  private static final long DEFAULT_DISK_LIMIT = 1 << 30;

  /**
   * The folder of the lists. It is not the folder of the caches and has its own lock, as the two
   * modules do not depend on each other.
   */
  private static final String FOLDER = "cache-chroniclemap-refs";

  private final Config config;
  private final SitePaths site;

  @Inject
  PackedRefsConfig(@GerritServerConfig Config config, SitePaths site) {
    this.config = config;
    this.site = site;
  }

  /** The name of the project that exists on every server. */
  Project.NameKey allProjects() {
    String name = config.getString("gerrit", null, "allProjects");
    return Project.nameKey(name == null || name.isEmpty() ? "All-Projects" : name);
  }

  /** Whether parsed ref lists are enabled at all. */
  boolean isEnabled() {
    return RepositoriesModule.isEnabled(config);
  }

  /** Whether parsed ref lists are enabled for a repository. */
  static boolean isEnabled(Config repository) {
    return repository.getBoolean(SECTION, null, "packedRefs", true);
  }

  /** Whether each request has a ref database of its own; see {@link RequestDatabases}. */
  boolean isPerRequest() {
    return config.getBoolean("core", null, "usePerRequestRefCache", true);
  }

  /**
   * The memory for all lists if no limit is set. A ref takes 31 bytes: 10 million take 310 MB, and
   * five such repositories 1.6 GB.
   *
   * <p>It is an eighth of what is left beside the heap, as the page cache and other processes need
   * most of that: lists with their indexes take up to one and a half times the limit, and two
   * lists, one larger than the limit and one that is evicted and still to be written. It is a
   * quarter of all direct memory at most, so that these fit. If there is little of either, it is
   * what any server can spare.
   *
   * @param memory of the machine or its container, bytes
   * @param heap the largest size of the heap, bytes
   * @param direct the largest direct memory, bytes
   */
  static long defaultMemoryLimit(long memory, long heap, long direct) {
    return Math.max(LEAST_MEMORY_LIMIT, Math.min((memory - heap) / 8, direct / 4));
  }

  /** The memory of the machine, or of the container if that has less. */
  private static long memory() {
    return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getTotalMemorySize();
  }

  /**
   * The value of {@code -XX:MaxDirectMemorySize}, or the size of the heap, which is its default.
   */
  private static long directMemory() {
    long set = 0;
    try {
      var machine = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
      set = Long.parseLong(machine.getVMOption("MaxDirectMemorySize").getValue());
    } catch (IllegalArgumentException e) {
      // Another virtual machine than that of OpenJDK need not have the option.
    }
    return set > 0 ? set : Runtime.getRuntime().maxMemory();
  }

  RefsSettings settings() {
    return new RefsSettings(
        config.getLong(CACHE, NAME, "memoryLimit", DEFAULT_MEMORY_LIMIT),
        config.getLong(CACHE, NAME, "diskLimit", DEFAULT_DISK_LIMIT),
        Optional.ofNullable(site.resolve(config.getString(CACHE, null, "directory")))
            .map(directory -> directory.resolve(FOLDER)));
  }

  /** How refs are updated. The module has refused invalid values. */
  UpdateSettings updates() {
    return new UpdateSettings(
        config.getEnum(
            SECTION,
            null,
            "refUpdates",
            config.getEnum(EARLIER, null, "updates", UpdateSettings.DEFAULT.by())),
        UpdateSettings.DEFAULT.maxLooseBatch(),
        config.getInt(
            SECTION,
            "maxLooseRefs",
            config.getInt(EARLIER, "maxLoose", UpdateSettings.DEFAULT.maxLoose())));
  }
}
