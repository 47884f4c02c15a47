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

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.reporter.ReporterModule;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.reporter.ReporterServlet;
import io.prometheus.client.Collector;
import io.prometheus.client.dropwizard.DropwizardExports;
import io.prometheus.client.exporter.MetricsServlet;
import io.prometheus.client.exporter.common.TextFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * A plugin that serves Gerrit's metrics as its plugin metrics-reporter-prometheus does, which is
 * not in Maven Central: by the same library, under the same URL, to those with the same token.
 */
final class ReporterPlugin {
  private static final String NAME = "metrics-reporter-prometheus";

  private ReporterPlugin() {}

  static void install(GerritSite site, String token) throws IOException {
    Path plugins = Files.createDirectories(site.path().resolve("plugins"));
    TestJar.write(
        plugins.resolve(NAME + ".jar"),
        Map.of(
            "Gerrit-PluginName",
            NAME,
            "Gerrit-ApiType",
            "plugin",
            "Gerrit-HttpModule",
            ReporterModule.class.getName()),
        List.of(ReporterModule.class, ReporterServlet.class),
        Stream.of(Collector.class, TextFormat.class, DropwizardExports.class, MetricsServlet.class)
            .map(BuildFolder::jarOf)
            .toList());
    site.edit(config -> config.setString("plugin", NAME, "prometheusBearerToken", token));
  }
}
