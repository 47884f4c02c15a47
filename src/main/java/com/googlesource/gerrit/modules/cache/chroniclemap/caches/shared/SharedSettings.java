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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared;

import static com.google.common.base.Preconditions.checkArgument;
import static com.google.common.collect.ImmutableSet.toImmutableSet;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;

import com.google.common.base.Splitter;
import com.google.common.base.Strings;
import com.google.common.collect.ImmutableSet;
import com.google.common.net.HostAndPort;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.config.ConfigUtil;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.jgit.lib.Config;

/**
 * The settings of the shared server, in the section {@code cache-chroniclemap} of {@code
 * gerrit.config} and {@code secure.config}.
 *
 * @param hosts one server, or some of the nodes of a cluster, or the sentinels of {@code master}
 * @param isTls whether connections are encrypted and the server's name is verified
 * @param database the number of the server's database
 * @param ca a PEM file with the certificates of the authorities that are trusted; null for those of
 *     the JVM
 * @param user name for the server's ACL; null for its default user
 * @param password null for a server without one
 * @param master the name by which sentinels know the server; null without sentinels
 * @param secret the secret of the site, from which all keys are derived
 * @param encrypts whether values are encrypted, and not only protected from changes
 * @param isReadOnly whether this node adds no values
 * @param prefix the start of all keys on the server
 * @param timeout how long a request waits for the server at most
 * @param diffTimeout how long Gerrit computes a diff at most, before it takes a poor one
 * @param ttl how long the server keeps a value; zero to leave that to its own eviction
 */
record SharedSettings(
    ImmutableSet<HostAndPort> hosts,
    boolean isTls,
    int database,
    @Nullable Path ca,
    @Nullable String user,
    @Nullable String password,
    @Nullable String master,
    String secret,
    boolean encrypts,
    boolean isReadOnly,
    String prefix,
    Duration timeout,
    Duration diffTimeout,
    Duration ttl) {
  static final String SECTION = "cache-chroniclemap";
  static final String URL = "sharedUrl";
  private static final String SECRET = "sharedSecret";

  private static final int DEFAULT_PORT = 6379;
  private static final int SECRET_CHARS = 32;
  private static final int DEFAULT_TIMEOUT_MILLIS = 100;
  private static final Pattern FORM =
      Pattern.compile("(redis|rediss)://([^/@]+)(?:/([0-9]{1,4})?)?");

  static boolean isSet(Config config) {
    return !Strings.isNullOrEmpty(config.getString(SECTION, null, URL));
  }

  /**
   * Reads the settings.
   *
   * @param resolve resolves paths relative to the site
   * @throws IllegalArgumentException if a setting is missing or wrong; the message names the
   *     setting and the remedy
   */
  static SharedSettings read(Config config, Function<String, Path> resolve) {
    String url = config.getString(SECTION, null, URL);
    Matcher form = FORM.matcher(url);
    if (!form.matches()) {
      throw wrongUrl();
    }
    String secret = Strings.nullToEmpty(config.getString(SECTION, null, SECRET));
    if (secret.length() < SECRET_CHARS) {
      throw new IllegalArgumentException(
          "%s in secure.config must be the same random string of at least %d characters on all nodes."
                  .formatted(name(SECRET), SECRET_CHARS)
              + " This makes one: openssl rand -hex 32");
    }
    ImmutableSet<HostAndPort> hosts = hosts(form.group(2));
    String master = config.getString(SECTION, null, "sharedMaster");
    int database = form.group(3) == null ? 0 : Integer.parseInt(form.group(3));
    if (database != 0 && master == null && hosts.size() > 1) {
      throw new IllegalArgumentException(
          name(URL) + ": a cluster has no databases; remove /" + database);
    }
    String ca = config.getString(SECTION, null, "sharedCa");
    return new SharedSettings(
        hosts,
        form.group(1).equals("rediss"),
        database,
        ca == null ? null : resolve.apply(ca),
        config.getString(SECTION, null, "sharedUser"),
        config.getString(SECTION, null, "sharedPassword"),
        master,
        secret,
        config.getBoolean(SECTION, null, "sharedEncrypt", false),
        config.getBoolean(SECTION, null, "sharedReadOnly", false),
        Strings.nullToEmpty(config.getString(SECTION, null, "sharedPrefix")),
        Duration.ofMillis(
            Math.clamp(
                ConfigUtil.getTimeUnit(
                    config, SECTION, null, "sharedTimeout", DEFAULT_TIMEOUT_MILLIS, MILLISECONDS),
                1,
                60_000)),
        Duration.ofMillis(
            ConfigUtil.getTimeUnit(
                config, "cache", "git_file_diff", "timeout", 5000, MILLISECONDS)),
        Duration.ofSeconds(ConfigUtil.getTimeUnit(config, SECTION, null, "sharedTtl", 0, SECONDS)));
  }

  private static String name(String setting) {
    return SECTION + "." + setting;
  }

  private static IllegalArgumentException wrongUrl() {
    // The URL is not repeated, as it may hold a password.
    return new IllegalArgumentException(
        name(URL)
            + " must have the form redis://HOST:PORT or rediss://HOST:PORT, with more hosts of a"
            + " cluster after commas and optionally /DATABASE at the end. User and password belong"
            + " into sharedUser and sharedPassword of secure.config");
  }

  private static ImmutableSet<HostAndPort> hosts(String list) {
    try {
      return Splitter.on(',')
          .trimResults()
          .splitToStream(list)
          .map(host -> HostAndPort.fromString(host).withDefaultPort(DEFAULT_PORT))
          .peek(host -> checkArgument(!host.getHost().isEmpty()))
          .collect(toImmutableSet());
    } catch (IllegalArgumentException e) {
      throw wrongUrl();
    }
  }

  boolean isCluster() {
    return master == null && hosts.size() > 1;
  }

  /** The server for people, without secrets. */
  String shownUrl() {
    return (isTls ? "rediss://" : "redis://")
        + String.join(",", hosts.stream().map(HostAndPort::toString).toList())
        + (database == 0 ? "" : "/" + database)
        + (master == null ? "" : " (sentinels of " + master + ")");
  }

  /** Contains no secret. */
  @Override
  public String toString() {
    return shownUrl();
  }
}
