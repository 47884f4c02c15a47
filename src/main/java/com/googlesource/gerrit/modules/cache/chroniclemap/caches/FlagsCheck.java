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

import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.inject.Inject;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.JvmFlags;

/**
 * Stops the server if the Java virtual machine lacks a flag that Chronicle-Map needs. An offline
 * program goes on with caches in memory, and says so: nobody minds but for the time it takes.
 *
 * <p>It does so when the server starts and not when modules are configured: only then is Gerrit's
 * error_log open, and it is the one place where an administrator can read what to do, because
 * {@code gerrit.sh start} drops what is printed.
 */
final class FlagsCheck implements LifecycleListener {
  private final CacheSettings settings;

  @Inject
  FlagsCheck(CacheSettings settings) {
    this.settings = settings;
  }

  @Override
  public void start() {
    if (settings.isOfflineProgram()) {
      return;
    }
    JvmFlags.missing()
        .ifPresent(
            message -> {
              throw new IllegalStateException(message);
            });
  }

  @Override
  public void stop() {}
}
