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

import static com.google.common.base.Preconditions.checkArgument;
import static com.google.common.base.Strings.lenientFormat;
import static java.util.concurrent.TimeUnit.SECONDS;
import static java.util.stream.Collectors.joining;

import com.google.common.base.Strings;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.config.ConfigUtil;
import com.google.inject.ProvisionException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.eclipse.jgit.lib.Config;

/**
 * A setting in {@code gerrit.config}, whose value can be checked before Gerrit opens its log. The
 * class that uses the value reads it again.
 *
 * <p>Sections are named as in documentation: {@code cache.web_sessions} is {@code [cache
 * "web_sessions"]}.
 *
 * @param name its key
 * @param allowed what its value may be, in the words of a message
 * @param reader reads the value
 * @param now its name in this version, if this is an earlier one, which the next version drops
 */
public record Setting(String name, String allowed, Reader reader, Optional<String> now) {
  /** Those of the section of each cache. */
  public static final List<Setting> OF_EACH_CACHE =
      List.of(
          number("diskLimit"),
          number("memoryLimit"),
          time("maxAge"),
          time("refreshAfterWrite"),
          time("expireFromMemoryAfterAccess"));

  /** Reads a value, and throws an exception if the value is invalid. */
  public interface Reader {
    Object read(Config config, String section, @Nullable String subsection, String name);
  }

  public Setting(String name, String allowed, Reader reader) {
    this(name, allowed, reader, Optional.empty());
  }

  /** This setting under the earlier name that it has here. */
  public Setting nowNamed(String current) {
    return new Setting(name, allowed, reader, Optional.of(current));
  }

  /** This setting, whatever its value is. */
  public Setting ofAnyValue() {
    return new Setting(name, allowed, (c, s, sub, n) -> true, now);
  }

  /** A setting that is either true or false. */
  public static Setting truth(String name) {
    return new Setting(name, "true or false", (c, s, sub, n) -> c.getBoolean(s, sub, n, true));
  }

  /** Any text; an empty one is not set. */
  public static Setting text(String name) {
    return new Setting(
        name, "any text", (c, s, sub, n) -> Strings.nullToEmpty(c.getString(s, sub, n)));
  }

  /** A number without a unit, or with {@code k}, {@code m} or {@code g}. */
  public static Setting number(String name) {
    return new Setting(
        name, "a number, such as 1000 or 256m", (c, s, sub, n) -> c.getLong(s, sub, n, 0));
  }

  /** A time with its unit. An empty one is not set. */
  static Setting time(String name) {
    Reader reader =
        (c, s, sub, n) -> {
          boolean isSet = !Strings.isNullOrEmpty(c.getString(s, sub, n));
          // Gerrit 3.12 takes the default in place of what does not begin with a digit.
          checkArgument(!isSet || ConfigUtil.getTimeUnit(c, s, sub, n, -1, SECONDS) >= 0);
          return isSet;
        };
    return new Setting(name, "a time, such as 90 s or 5 days", reader);
  }

  /**
   * Checks the settings of a section.
   *
   * @throws ProvisionException if a value is invalid; the message says what is allowed
   */
  public static void check(Config config, String section, List<Setting> settings) {
    String[] parts = parts(section);
    for (Setting setting : settings) {
      try {
        setting.reader.read(config, parts[0], parts[1], setting.name);
      } catch (RuntimeException e) {
        throw new ProvisionException(
            lenientFormat(
                "%s.%s is \"%s\" in etc/gerrit.config: set it to %s, or remove it",
                section,
                setting.name,
                config.getString(parts[0], parts[1], setting.name),
                setting.allowed),
            e);
      }
    }
  }

  /** A warning for each key of a section that is not among its settings, or is an earlier name. */
  public static List<String> warnings(Config config, String section, List<Setting> settings) {
    String[] parts = parts(section);
    // Gerrit reads its file into a base of the configuration that modules get.
    return config.getNames(parts[0], parts[1], /* recursive= */ true).stream()
        .flatMap(key -> warning(section, key, settings).stream())
        .toList();
  }

  private static Optional<String> warning(String section, String key, List<Setting> settings) {
    for (Setting known : settings) {
      if (known.name.equalsIgnoreCase(key)) {
        return known.now.map(
            now ->
                lenientFormat(
                    "%s.%s in etc/gerrit.config is %s now: rename it, as the next version reads"
                        + " only the new name, which wins already if both are set",
                    section, key, now));
      }
    }
    return Optional.of(
        lenientFormat(
            "%s.%s in etc/gerrit.config has no effect: the settings of [%s] are %s",
            section, key, section, settings.stream().map(Setting::name).collect(joining(", "))));
  }

  /** The section and the subsection, which may be null. */
  private static String[] parts(String section) {
    return Arrays.copyOf(section.split("\\.", 2), 2);
  }
}
