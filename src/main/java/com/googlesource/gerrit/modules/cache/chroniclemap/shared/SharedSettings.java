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

package com.googlesource.gerrit.modules.cache.chroniclemap.shared;

import static com.google.common.base.Strings.lenientFormat;
import static com.google.common.base.Strings.nullToEmpty;
import static java.util.Objects.requireNonNullElse;

import com.google.common.net.HostAndPort;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.jgit.lib.Config;

/**
 * How this server shares values with others.
 *
 * @param isEncrypted whether to use TLS, with a check of the host's name and by Java's trust store
 * @param address of the server
 * @param database the number of the database
 * @param user the name to sign in with; empty for the default user
 * @param password to sign in with; empty if the server asks for none
 * @param site distinguishes sites that use the same server
 * @param secret of the site, which seals the records
 * @param bytes that the log may take on the server
 * @param publishes whether this server's values go to the others
 */
record SharedSettings(
    boolean isEncrypted,
    HostAndPort address,
    int database,
    String user,
    String password,
    String site,
    String secret,
    long bytes,
    boolean publishes) {
  private static final String SECTION = "cache-chroniclemap";
  private static final String URL = "sharedUrl";
  private static final int PORT = 6379;
  private static final int MIN_SECRET = 16;
  private static final long DEFAULT_BYTES = 1L << 30;
  private static final long MIN_BYTES = 1 << 20;

  private static final Pattern FORM =
      Pattern.compile("redis(?<tls>s?)://(?<host>[^/?#,]+)(?:/(?<database>\\d{0,5}))?");

  private static final String ALLOWED =
      "redis://HOST:PORT, or rediss://HOST:PORT for TLS, with /DATABASE at its end if it is not 0";

  /** Whether values are to be shared. */
  static boolean areSet(Config config) {
    return !nullToEmpty(config.getString(SECTION, null, URL)).isEmpty();
  }

  /**
   * Reads the settings.
   *
   * @throws IllegalArgumentException if one is invalid; the message says what to set it to
   */
  static SharedSettings of(Config config) {
    if (text(config, URL).contains("@")) {
      throw invalid(
          URL,
          "an address without a password, and sharedUser and sharedPassword in etc/secure.config");
    }
    Matcher url = FORM.matcher(text(config, URL));
    if (!url.matches()) {
      throw invalid(URL, ALLOWED);
    }
    String database = nullToEmpty(url.group("database"));
    SharedSettings settings =
        new SharedSettings(
            !url.group("tls").isEmpty(),
            address(url.group("host")),
            database.isEmpty() ? 0 : Integer.parseInt(database),
            text(config, "sharedUser"),
            text(config, "sharedPassword"),
            requireNonNullElse(config.getString(SECTION, null, "sharedSite"), "gerrit"),
            text(config, "sharedSecret"),
            config.getLong(SECTION, null, "sharedBytes", DEFAULT_BYTES),
            config.getBoolean(SECTION, null, "sharedPublish", true));
    settings.check();
    return settings;
  }

  private void check() {
    if (secret.length() < MIN_SECRET) {
      throw new IllegalArgumentException(
          lenientFormat(
              "%s.sharedSecret in etc/secure.config has less than %s characters: set it, on all"
                  + " servers of the site, to what \"openssl rand -hex 32\" prints once",
              SECTION, MIN_SECRET));
    }
    if (!site.matches("[\\w.-]{1,64}")) {
      throw invalid("sharedSite", "up to 64 letters, digits, dots, dashes and underscores");
    }
    if (bytes < MIN_BYTES) {
      throw invalid("sharedBytes", "at least 1m");
    }
  }

  private static String text(Config config, String name) {
    return nullToEmpty(config.getString(SECTION, null, name));
  }

  private static HostAndPort address(String host) {
    try {
      return HostAndPort.fromString(host).withDefaultPort(PORT);
    } catch (IllegalArgumentException e) {
      throw invalid(URL, ALLOWED);
    }
  }

  private static IllegalArgumentException invalid(String name, String allowed) {
    return new IllegalArgumentException(
        lenientFormat(
            "%s.%s is invalid in etc/gerrit.config: set it to %s, or remove it",
            SECTION, name, allowed));
  }

  /** Without the secrets. */
  @Override
  public String toString() {
    return "shared values at " + server();
  }

  /** The server, for people. */
  String server() {
    return address + (database == 0 ? "" : "/" + database);
  }
}
