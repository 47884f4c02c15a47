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

import static com.google.common.base.Strings.lenientFormat;

import com.google.common.flogger.FluentLogger;
import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.gerrit.server.config.GerritRuntime;
import com.google.gerrit.server.git.GitRepositoryManager;
import com.google.inject.Inject;
import java.io.IOException;

/**
 * A check at the start that repositories are opened through this module. They are not if another
 * module creates Gerrit's manager itself, or has a manager that does not ask Gerrit's. A server
 * does not start then, since only slow pushes would show the fault. An offline program logs it and
 * continues.
 */
final class ManagerCheck implements LifecycleListener {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  @Inject private GitRepositoryManager manager;
  @Inject private ParsedRefsRepositories repositories;
  @Inject private PackedRefsConfig config;

  /** Optional, as the injectors of tests do not bind it. */
  @Inject(optional = true)
  private GerritRuntime runtime = GerritRuntime.DAEMON;

  @Override
  public void start() {
    try {
      if (!config.isEnabled() || repositories.isBehind(manager, config.allProjects())) {
        return;
      }
    } catch (IOException | RuntimeException e) {
      // The manager may not be ready yet, which is no reason to stop the server.
      logger.atWarning().withCause(e).log(
          "Cannot determine whether %s asks Gerrit's LocalDiskRepositoryManager; if it does not, parsed"
              + " ref lists are not used",
          manager.getClass().getName());
      return;
    }
    String message =
        lenientFormat(
            "Repositories are opened by %s, which does not ask Gerrit's LocalDiskRepositoryManager"
                + " as Guice makes it, so parsed ref lists cannot be used. Remove the line"
                + " gerrit.installDbModule of PackedRefsModule from etc/gerrit.config, or the line"
                + " of the module that brings %s",
            manager.getClass().getName(), manager.getClass().getSimpleName());
    if (runtime == GerritRuntime.DAEMON) {
      throw new IllegalStateException(message);
    }
    logger.atWarning().log("%s", message);
  }

  @Override
  public void stop() {}
}
