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

package com.googlesource.gerrit.modules.cache.chroniclemap;

import com.google.gerrit.server.config.SitePaths;
import com.google.inject.ProvisionException;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.StartLog;

/**
 * Why a server must not start. It is found while Gerrit makes its modules, when its error_log is
 * not open yet, and {@code gerrit.sh start} drops what is printed: so it is written there from
 * here.
 */
final class Refusal {
  private Refusal() {}

  /**
   * Does some checks, and has a refusal in the site's error_log too.
   *
   * @throws ProvisionException if a check does; names of classes in its message are in quotes, or
   *     else Guice would shorten them
   */
  static void logging(SitePaths site, Runnable checks) {
    try {
      checks.run();
    } catch (ProvisionException e) {
      e.getErrorMessages()
          .forEach(message -> StartLog.writeNow(site, "ERROR", message.getMessage()));
      throw e;
    } catch (RuntimeException e) {
      // A setting that makes no sense, say.
      StartLog.writeNow(site, "ERROR", e.toString());
      throw e;
    }
  }
}
