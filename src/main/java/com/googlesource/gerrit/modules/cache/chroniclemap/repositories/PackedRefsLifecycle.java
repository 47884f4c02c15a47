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

import com.google.common.flogger.FluentLogger;
import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.members.Member;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;

/**
 * The starter of the parsed ref lists, which opens and closes their store with the server. Without
 * a start, the first use opens the store.
 */
@Singleton
final class PackedRefsLifecycle implements LifecycleListener {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  @Inject private PackedRefsCache cache;
  @Inject private PackedRefsConfig config;
  private boolean started;

  @Override
  public void start() {
    if (!config.isEnabled()) {
      logger.atInfo().log(
          "Parsed ref lists are switched off: cache-chroniclemap.packedRefs is false");
      return;
    }
    started = true;
    Member.missing().forEach(each -> logger.atWarning().log("%s", each.warning()));
    RefPaths.limitsOfNames().ifPresent(limits -> logger.atWarning().log("%s", limits));
    try {
      cache.start();
    } catch (RuntimeException | LinkageError e) {
      logger.atSevere().withCause(e).log(
          "Cannot open the store of parsed ref lists; its first use tries again");
    }
  }

  @Override
  public void stop() {
    if (!started) {
      return;
    }
    started = false;
    try {
      cache.close();
    } catch (RuntimeException e) {
      logger.atSevere().withCause(e).log(
          "Cannot close the store of parsed ref lists; the next start recovers it");
    }
  }
}
