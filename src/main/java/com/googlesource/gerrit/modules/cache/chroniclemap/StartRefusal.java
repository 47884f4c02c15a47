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
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.Setting;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.StartLog;
import java.util.List;
import java.util.Map;
import org.eclipse.jgit.lib.Config;

/**
 * The refusal to start the server if a check fails. Modules are checked before Gerrit opens its
 * error_log, and {@code gerrit.sh start} drops all output, so this class writes the reason into the
 * error_log itself.
 */
final class StartRefusal {
  private StartRefusal() {}

  /**
   * Checks the jar, settings and the version of Gerrit, runs other checks, and writes a refusal to
   * standard error and into the site's error_log. Warns of keys that are no settings.
   *
   * @throws ProvisionException if a check throws one. Class names in its message must be in quotes,
   *     as Guice would shorten them otherwise
   */
  static void unlessValid(
      SitePaths site, Config config, Map<String, List<Setting>> settings, Runnable checks) {
    try {
      JarCheck.check(StartRefusal.class.getClassLoader());
      settings.forEach((section, own) -> Setting.check(config, section, own));
      BuiltFor.check(config);
      checks.run();
    } catch (ProvisionException e) {
      e.getErrorMessages()
          .forEach(message -> StartLog.writeNow(site, "ERROR", message.getMessage()));
      throw e;
    } catch (RuntimeException e) {
      // The jars of lib/ may be unreadable, for example.
      StartLog.writeNow(site, "ERROR", e.toString());
      throw e;
    }
    settings.forEach(
        (section, own) ->
            Setting.warnings(config, section, own)
                .forEach(warning -> StartLog.writeNow(site, "WARN ", warning)));
  }
}
