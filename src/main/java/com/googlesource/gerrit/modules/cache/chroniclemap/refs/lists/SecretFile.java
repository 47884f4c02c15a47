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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.AtomicFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.SecureRandom;

/**
 * The file with the site's secret, which only its owner can read. If the secret is lost, all lists
 * are only parsed again.
 */
final class SecretFile {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();
  private static final String NAME = "secret";

  private SecretFile() {}

  /** Makes a secret that is not stored. */
  static byte[] random() {
    byte[] secret = new byte[SiteKey.SECRET_BYTES];
    new SecureRandom().nextBytes(secret);
    return secret;
  }

  /**
   * Reads the secret of a folder that this process has locked, or makes a new one.
   *
   * @throws IOException if a new secret cannot be written
   */
  static byte[] readOrMake(Path folder) throws IOException {
    Path file = folder.resolve(NAME);
    try {
      byte[] secret = Files.readAllBytes(file);
      if (secret.length == SiteKey.SECRET_BYTES) {
        return secret;
      }
      logger.atWarning().log("%s has a wrong length; a new secret is made", file);
    } catch (NoSuchFileException e) {
      logger.atFine().log("%s is made", file);
    } catch (IOException e) {
      logger.atWarning().withCause(e).log("%s cannot be read; a new secret is made", file);
    }
    byte[] secret = random();
    AtomicFile.replace(file, secret);
    return secret;
  }
}
