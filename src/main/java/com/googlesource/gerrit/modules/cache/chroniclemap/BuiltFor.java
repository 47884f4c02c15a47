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

import static com.google.common.base.Strings.lenientFormat;

import com.google.gerrit.common.Nullable;
import com.google.gerrit.common.Version;
import com.google.inject.ProvisionException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.jgit.lib.Config;

/**
 * A check that this jar was built for the running version of Gerrit. Gerrit's classes change
 * between minor versions, so a jar for another one would fail at an unforeseeable time. It is
 * refused at the start instead.
 */
final class BuiltFor {
  private static final String RESOURCE = "built-for.properties";
  private static final Pattern MINOR = Pattern.compile("v?(\\d+\\.\\d+)\\b.*");

  private BuiltFor() {}

  /**
   * Checks that this jar was built for the version of this server.
   *
   * @throws ProvisionException if not; the message names the jar to use
   */
  static void check(Config config) {
    if (config.getBoolean("cache-chroniclemap", null, "checkGerritVersion", true)) {
      check(version(), Version.getVersion());
    }
  }

  /**
   * Compares two versions. Nothing is checked if one of them has no number.
   *
   * @param built the version for which the jar was built
   * @param running the version of this server; null if it is unknown
   */
  static void check(String built, @Nullable String running) {
    Optional<String> jar = minor(built);
    Optional<String> server = minor(running);
    if (jar.isPresent() && server.isPresent() && !jar.equals(server)) {
      throw new ProvisionException(
          lenientFormat(
              "this cache-chroniclemap.jar was built for Gerrit %s, and this is Gerrit %s: put the"
                  + " jar for %s into lib/ (cache-chroniclemap-VERSION-gerrit-%s.N.jar of a release)."
                  + " If this Gerrit has a version number of its own and is a %s, set"
                  + " cache-chroniclemap.checkGerritVersion = false",
              jar.get(), running, server.get(), server.get(), jar.get()));
    }
  }

  private static Optional<String> minor(@Nullable String version) {
    Matcher matcher = MINOR.matcher(version == null ? "" : version);
    return matcher.matches() ? Optional.of(matcher.group(1)) : Optional.empty();
  }

  /** The version, such as 3.13.5; empty or a name in braces unless the jar was built by Maven. */
  static String version() {
    Properties properties = new Properties();
    try (InputStream in = BuiltFor.class.getResourceAsStream(RESOURCE)) {
      if (in != null) {
        properties.load(in);
      }
    } catch (IOException e) {
      // An unknown version is no reason not to start.
      return "";
    }
    return properties.getProperty("gerrit", "");
  }
}
