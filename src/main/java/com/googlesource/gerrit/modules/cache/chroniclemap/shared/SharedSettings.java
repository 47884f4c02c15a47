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

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.net.HostAndPort;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.jgit.lib.Config;

/**
 * How this server shares values with others.
 *
 * @param kind what listens at the addresses
 * @param isEncrypted whether to use TLS, with a check of the host's name
 * @param addresses of servers; a single one unless there is a cluster or there are sentinels
 * @param master the name that sentinels know the server by; empty without sentinels
 * @param database the number of the database, 0 for a cluster
 * @param user the name to sign in with; empty for the default user
 * @param password to sign in with; empty if the server asks for none
 * @param certificates a PEM file of those that vouch for the server; empty for those of Java
 * @param site distinguishes sites that use the same server
 * @param secret of the site, which seals the records
 * @param bytes that the log may take on the server
 * @param publishes whether this server's values go to the others
 */
record SharedSettings(
    Kind kind,
    boolean isEncrypted,
    ImmutableList<HostAndPort> addresses,
    String master,
    int database,
    String user,
    String password,
    Optional<Path> certificates,
    String site,
    String secret,
    long bytes,
    boolean publishes) {
  /** What listens at an address. */
  enum Kind {
    SINGLE,
    CLUSTER,
    SENTINELS
  }

  private static final String SECTION = "cache-chroniclemap";
  private static final String URL = "sharedUrl";
  private static final int PORT = 6379;
  private static final int SENTINEL_PORT = 26379;
  private static final int MIN_SECRET = 16;
  private static final long DEFAULT_BYTES = 1L << 30;
  private static final long MIN_BYTES = 1 << 20;

  private static final Pattern FORM =
      Pattern.compile(
          "redis(?<tls>s?)(?<kind>|-cluster|-sentinel)://(?<hosts>[^/?#]+)(?:/(?<path>[^/?#]*))?");

  private static final String ALLOWED =
      "redis://HOST:PORT, rediss://HOST:PORT for TLS, redis-cluster://HOST:PORT,HOST:PORT or"
          + " redis-sentinel://HOST:PORT,HOST:PORT/MASTER, the last two with rediss as well";

  /** Whether values are to be shared. */
  static boolean areSet(Config config) {
    return !nullToEmpty(config.getString(SECTION, null, URL)).isEmpty();
  }

  /**
   * Reads the settings.
   *
   * @param etc the folder that a relative path of a file is resolved against
   * @throws IllegalArgumentException if one is invalid; the message says what to set it to
   */
  static SharedSettings of(Config config, Path etc) {
    if (text(config, URL).contains("@")) {
      throw invalid(
          URL,
          "an address without a password, and sharedUser and sharedPassword in etc/secure.config");
    }
    Matcher url = FORM.matcher(text(config, URL));
    if (!url.matches()) {
      throw invalid(URL, ALLOWED);
    }
    Kind kind =
        switch (url.group("kind")) {
          case "" -> Kind.SINGLE;
          case "-cluster" -> Kind.CLUSTER;
          default -> Kind.SENTINELS;
        };
    String path = nullToEmpty(url.group("path"));
    if (kind == Kind.SENTINELS && path.isEmpty()) {
      throw invalid(URL, "an address that ends with the name of the master: " + ALLOWED);
    }
    if (kind == Kind.CLUSTER && !path.isEmpty()) {
      throw invalid(URL, "an address without a database, as a cluster has only one: " + ALLOWED);
    }
    if (kind == Kind.SINGLE && !path.matches("\\d{0,5}")) {
      throw invalid(URL, "an address that ends with the number of a database, or with none");
    }
    String file = text(config, "sharedCertificates");
    SharedSettings settings =
        new SharedSettings(
            kind,
            !url.group("tls").isEmpty(),
            addresses(url.group("hosts"), kind),
            kind == Kind.SENTINELS ? path : "",
            kind == Kind.SINGLE && !path.isEmpty() ? Integer.parseInt(path) : 0,
            text(config, "sharedUser"),
            text(config, "sharedPassword"),
            file.isEmpty() ? Optional.empty() : Optional.of(etc.resolve(file)),
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
    if (certificates.isPresent() && !Files.isReadable(certificates.get())) {
      throw invalid(
          "sharedCertificates",
          "a PEM file that can be read, which " + certificates.get() + " is not");
    }
    if (bytes < MIN_BYTES) {
      throw invalid("sharedBytes", "at least 1m");
    }
  }

  private static String text(Config config, String name) {
    return nullToEmpty(config.getString(SECTION, null, name));
  }

  private static ImmutableList<HostAndPort> addresses(String authority, Kind kind) {
    List<String> all = Splitter.on(',').omitEmptyStrings().trimResults().splitToList(authority);
    if (all.isEmpty() || (kind == Kind.SINGLE && all.size() > 1)) {
      throw invalid(URL, ALLOWED);
    }
    int port = kind == Kind.SENTINELS ? SENTINEL_PORT : PORT;
    try {
      return all.stream()
          .map(one -> HostAndPort.fromString(one).withDefaultPort(port))
          .collect(ImmutableList.toImmutableList());
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

  /** The servers, for people. */
  String server() {
    return addresses.stream().map(HostAndPort::toString).reduce((a, b) -> a + "," + b).get()
        + (master.isEmpty() ? "" : " (" + master + ")")
        + (database == 0 ? "" : "/" + database);
  }
}
