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
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/**
 * Why a server must not start. It is found while Gerrit makes its modules, when its error_log is
 * not open yet, and {@code gerrit.sh start} drops what is printed: so it is written there from
 * here.
 */
final class Refusal {
  /** As Gerrit writes it. */
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", Locale.ROOT);

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
      e.getErrorMessages().forEach(message -> log(site, message.getMessage()));
      throw e;
    } catch (RuntimeException e) {
      // A setting that makes no sense, say.
      log(site, e.toString());
      throw e;
    }
  }

  private static void log(SitePaths site, String message) {
    Path file = site.logs_dir.resolve("error_log");
    String line =
        "[%s] [%s] ERROR %s : %s%n"
            .formatted(
                TIME.format(ZonedDateTime.now(ZoneId.systemDefault())),
                Thread.currentThread().getName(),
                Refusal.class.getPackageName(),
                message);
    try {
      // Not a new one as another user than Gerrit's, who could not write to it then.
      if (Files.exists(file) || isOwner(site.logs_dir)) {
        Files.writeString(file, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
      }
    } catch (IOException e) {
      // It is printed as well.
      System.err.print(line);
    }
  }

  private static boolean isOwner(Path folder) throws IOException {
    return Files.getOwner(folder).getName().equals(System.getProperty("user.name"));
  }
}
