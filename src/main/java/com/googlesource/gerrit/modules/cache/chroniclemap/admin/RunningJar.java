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
package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import static com.google.common.base.Strings.nullToEmpty;
import static java.util.concurrent.TimeUnit.SECONDS;

import com.google.common.flogger.FluentLogger;
import com.google.gerrit.extensions.events.LifecycleListener;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * This module's jar while the server runs. Java reads a class when the class is first used, at the
 * place in the jar where it was when the server started. If the jar was overwritten (rather than
 * renamed over), that fails. So all classes are loaded some seconds after Gerrit begins to start
 * its services.
 */
public final class RunningJar implements LifecycleListener {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();
  private static final AtomicBoolean begun = new AtomicBoolean();

  /** The pause before the classes are loaded, so as not to delay the start. */
  private static final long PAUSE_SECONDS = 10;

  /** Returns the version of the jar; empty where tests run from a folder with the classes. */
  static String version() {
    return nullToEmpty(RunningJar.class.getPackage().getImplementationVersion());
  }

  /** Returns the path of the jar, or of the folder with the classes where tests run. */
  static Path path() {
    return Path.of(
        URI.create(
            RunningJar.class.getProtectionDomain().getCodeSource().getLocation().toString()));
  }

  /**
   * Has the classes loaded, once per process, on another thread. Not before Gerrit begins to start
   * its services: it opens its log late.
   */
  @Override
  public void start() {
    if (Files.isRegularFile(path()) && begun.compareAndSet(false, true)) {
      logger.atInfo().log("%s %s of %s", AdminPlugin.NAME, version(), path());
      CompletableFuture.delayedExecutor(PAUSE_SECONDS, SECONDS)
          .execute(() -> loadAll(path(), RunningJar.class.getClassLoader()));
    }
  }

  @Override
  public void stop() {}

  /** Loads all classes of a jar but those for other systems, which are never used. */
  static void loadAll(Path jar, ClassLoader loader) {
    try (JarFile file = new JarFile(jar.toFile())) {
      file.stream()
          .map(JarEntry::getName)
          .filter(name -> name.endsWith(".class") && !name.matches("META-INF/.*|.*/platform/.*"))
          .forEach(name -> load(name.replace(".class", "").replace('/', '.'), loader));
      logger.atInfo().log("All classes of %s are loaded", jar);
    } catch (IOException | RuntimeException e) {
      logger.atWarning().withCause(e).log(
          "Cannot load all classes of %s in advance; do not overwrite it while the server runs",
          jar);
    }
  }

  private static void load(String name, ClassLoader loader) {
    try {
      var unused = Class.forName(name, /* initialize= */ false, loader);
    } catch (ClassNotFoundException | LinkageError e) {
      logger.atFine().withCause(e).log(
          "Class %s is not loaded; it needs a library that is not installed", name);
    }
  }
}
