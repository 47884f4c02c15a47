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

import com.google.gerrit.server.ModuleImpl;
import com.google.gerrit.server.cache.CacheModule;
import com.google.inject.ProvisionException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import org.eclipse.jgit.lib.Config;

/**
 * A check of the lines of {@code gerrit.config} that install modules. Gerrit silently ignores a
 * module in a line of the wrong kind, or after another module that replaces the same part. The
 * server does not start then.
 *
 * <p>Class names in messages are in quotes, as Guice would shorten them otherwise.
 */
record ConfigLinesCheck(Config config) {
  private static final String FOR_SERVER = "installModule";
  private static final String FOR_PROGRAMS = "installBatchModule";
  private static final String FOR_DATABASE = "installDbModule";

  /**
   * Checks that the lines of the caches' module take effect.
   *
   * @throws ProvisionException if not; the message names the lines to change
   */
  void checkCacheModule(Class<?> module) {
    checkIsNotIn(FOR_DATABASE, module, FOR_SERVER);
    checkIsFirst(FOR_SERVER, module);
    checkIsFirst(FOR_PROGRAMS, module);
  }

  /**
   * Checks that the line of the ref lists' module takes effect.
   *
   * @throws ProvisionException if not; the message names the lines to change
   */
  void checkDbModule(Class<?> module) {
    checkIsNotIn(FOR_SERVER, module, FOR_DATABASE);
    checkIsNotIn(FOR_PROGRAMS, module, FOR_DATABASE);
    if (Collections.frequency(modules(FOR_DATABASE), module.getName()) > 1) {
      throw new ProvisionException(
          lenientFormat(
              "etc/gerrit.config has the line \"%s = %s\" more than once: leave one",
              FOR_DATABASE, module.getName()));
    }
  }

  boolean hasDbModule(Class<?> module) {
    return modules(FOR_DATABASE).contains(module.getName());
  }

  private void checkIsNotIn(String key, Class<?> module, String right) {
    if (modules(key).contains(module.getName())) {
      throw new ProvisionException(
          lenientFormat(
              "%s has no effect in gerrit.%s: make that line of etc/gerrit.config \"%s = %s\"",
              module.getSimpleName(), key, right, module.getName()));
    }
  }

  private void checkIsFirst(String key, Class<?> module) {
    List<String> modules = modules(key);
    int ours = modules.indexOf(module.getName());
    for (String other : modules.subList(0, Math.max(ours, 0))) {
      if (replacesCaches(other)) {
        throw new ProvisionException(
            lenientFormat(
                "gerrit.%s has two modules for disk caches, and Gerrit takes only the first,"
                    + " \"%s\": remove its line from etc/gerrit.config, or that of \"%s\"",
                key, other, module.getName()));
      }
    }
  }

  private List<String> modules(String key) {
    // An empty value is null.
    return Arrays.stream(config.getStringList("gerrit", null, key))
        .filter(Objects::nonNull)
        .toList();
  }

  private static boolean replacesCaches(String module) {
    try {
      ModuleImpl kind =
          Class.forName(module, false, ConfigLinesCheck.class.getClassLoader())
              .getAnnotation(ModuleImpl.class);
      return kind != null && kind.name().equalsIgnoreCase(CacheModule.PERSISTENT_MODULE);
    } catch (ClassNotFoundException | LinkageError e) {
      // Gerrit itself reports a class that does not exist.
      return false;
    }
  }
}
