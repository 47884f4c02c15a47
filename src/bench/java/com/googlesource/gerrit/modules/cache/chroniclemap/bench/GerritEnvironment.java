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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import com.google.common.cache.Cache;
import com.google.gerrit.extensions.registration.DynamicMap;
import com.google.gerrit.extensions.registration.DynamicSet;
import com.google.gerrit.metrics.DisabledMetricMaker;
import com.google.gerrit.metrics.MetricMaker;
import com.google.gerrit.server.cache.CacheRemovalListener;
import com.google.gerrit.server.cache.mem.DefaultMemoryCacheModule;
import com.google.gerrit.server.config.GerritServerConfig;
import com.google.gerrit.server.config.SitePath;
import com.google.gerrit.server.git.WorkQueue;
import com.google.inject.AbstractModule;
import com.google.inject.TypeLiteral;
import java.nio.file.Path;
import org.apache.log4j.BasicConfigurator;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.eclipse.jgit.lib.Config;

/** The part of Gerrit's server that persistent caches need, with all settings at their defaults. */
final class GerritEnvironment extends AbstractModule {
  private final Path site;

  GerritEnvironment(Path site) {
    this.site = site;
  }

  /** Gerrit logs at this level; at a finer one each get of H2 would write a line. */
  static void configureLog() {
    BasicConfigurator.resetConfiguration();
    BasicConfigurator.configure();
    Logger.getRootLogger().setLevel(Level.WARN);
  }

  @Override
  protected void configure() {
    Config config = new Config();
    config.setString("cache", null, "directory", "cache");
    bind(Config.class).annotatedWith(GerritServerConfig.class).toInstance(config);
    bind(Path.class).annotatedWith(SitePath.class).toInstance(site);
    bind(MetricMaker.class).to(DisabledMetricMaker.class);
    install(new WorkQueue.WorkQueueModule());
    DynamicMap.mapOf(binder(), new TypeLiteral<Cache<?, ?>>() {});
    DynamicSet.setOf(binder(), CacheRemovalListener.class);
    install(new DefaultMemoryCacheModule());
  }
}
