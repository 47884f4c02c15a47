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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.reporter;

import com.codahale.metrics.MetricRegistry;
import com.google.gerrit.extensions.annotations.PluginName;
import com.google.gerrit.server.config.PluginConfigFactory;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.google.inject.servlet.ServletModule;
import io.prometheus.client.CollectorRegistry;
import io.prometheus.client.dropwizard.DropwizardExports;
import io.prometheus.client.exporter.MetricsServlet;
import java.io.IOException;
import javax.servlet.ServletException;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;

/**
 * Serves Gerrit's metrics as its plugin metrics-reporter-prometheus does, which is not in Maven
 * Central: by the same library, under the same URL, to those with the same token.
 */
public final class ReporterModule extends ServletModule {
  @Override
  protected void configureServlets() {
    serve("/metrics").with(ReporterServlet.class);
  }

  /** Serves all metrics of the server to those who have the token of the configuration. */
  @Singleton
  public static final class ReporterServlet extends MetricsServlet {
    private static final long serialVersionUID = 1L;

    private final String expected;

    @Inject
    ReporterServlet(
        MetricRegistry metrics, PluginConfigFactory configs, @PluginName String pluginName) {
      super(collectors(metrics));
      String token = configs.getFromGerritConfig(pluginName).getString("prometheusBearerToken");
      expected = "Bearer " + token;
    }

    private static CollectorRegistry collectors(MetricRegistry metrics) {
      CollectorRegistry collectors = new CollectorRegistry();
      collectors.register(new DropwizardExports(metrics));
      return collectors;
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
        throws ServletException, IOException {
      if (expected.equals(request.getHeader("Authorization"))) {
        super.doGet(request, response);
      } else {
        response.sendError(HttpServletResponse.SC_FORBIDDEN);
      }
    }
  }
}
