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
 * The Gerrit that this jar was built for. Gerrit's classes change between its minors so that a jar
 * for another one breaks somewhere, at some time; so it is refused at the start.
 */
final class BuiltFor {
  private static final String RESOURCE = "built-for.properties";
  private static final Pattern MINOR = Pattern.compile("v?(\\d+\\.\\d+)\\b.*");

  private BuiltFor() {}

  /**
   * Checks that this server is one for which this jar was built.
   *
   * @throws ProvisionException if not, with the jar to take
   */
  static void check(Config config) {
    if (config.getBoolean("cache-chroniclemap", null, "checkGerritVersion", true)) {
      check(version(), Version.getVersion());
    }
  }

  /**
   * As above; nothing is checked where one of both has no number.
   *
   * @param built the version that the jar was built for
   * @param running the version of this server; null if it does not know
   */
  static void check(String built, @Nullable String running) {
    Optional<String> jar = minor(built);
    Optional<String> server = minor(running);
    if (jar.isPresent() && server.isPresent() && !jar.equals(server)) {
      throw new ProvisionException(
          String.format(
              "this cache-chroniclemap.jar was built for Gerrit %s, and this is Gerrit %s: put the"
                  + " jar for %s into lib/ (cache-chroniclemap-VERSION-gerrit-%s.N.jar of a release)."
                  + " If this Gerrit has a number of its own, and is a %s, set"
                  + " cache-chroniclemap.checkGerritVersion = false",
              jar.get(), running, server.get(), server.get(), jar.get()));
    }
  }

  private static Optional<String> minor(@Nullable String version) {
    Matcher matcher = MINOR.matcher(version == null ? "" : version);
    return matcher.matches() ? Optional.of(matcher.group(1)) : Optional.empty();
  }

  /** The version, as 3.13.5; empty or a name in braces if not built by Maven. */
  static String version() {
    Properties properties = new Properties();
    try (InputStream in = BuiltFor.class.getResourceAsStream(RESOURCE)) {
      if (in != null) {
        properties.load(in);
      }
    } catch (IOException e) {
      // As if nobody knew: that is no reason not to start.
      return "";
    }
    return properties.getProperty("gerrit", "");
  }
}
