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

import static com.google.common.truth.Truth.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.gerrit.server.ModuleImpl;
import com.google.gerrit.server.cache.CacheModule;
import com.google.gerrit.server.config.SitePaths;
import com.google.inject.AbstractModule;
import com.google.inject.ProvisionException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Modules in lines where Gerrit would drop them without a word. */
class ConfigLinesCheckTest {
  private static final String CACHES = ChronicleMapCacheModule.class.getName();
  private static final String REFS = PackedRefsModule.class.getName();

  @ModuleImpl(name = CacheModule.PERSISTENT_MODULE)
  private static final class OtherCaches extends AbstractModule {}

  private static final class Neighbour extends AbstractModule {}

  private final Config config = new Config();

  private void set(String key, String... modules) {
    config.setStringList("gerrit", null, key, List.of(modules));
  }

  private String refused(Class<?> module) {
    return assertThrows(
            ProvisionException.class,
            () -> {
              if (module == PackedRefsModule.class) {
                new ConfigLinesCheck(config).checkDbModule(module);
              } else {
                new ConfigLinesCheck(config).checkCacheModule(module);
              }
            })
        .getMessage();
  }

  @Test
  void whatTheDocumentationTellsIsTaken() {
    set("installModule", CACHES);
    set("installBatchModule", CACHES);
    set("installDbModule", REFS);
    new ConfigLinesCheck(config).checkCacheModule(ChronicleMapCacheModule.class);
    new ConfigLinesCheck(config).checkDbModule(PackedRefsModule.class);
    set("installModule", Neighbour.class.getName(), "no.such.Module", CACHES, "no.such.Other");
    new ConfigLinesCheck(config).checkCacheModule(ChronicleMapCacheModule.class);
  }

  @Test
  void modulesInLinesOfAnotherKindAreRefused() {
    set("installDbModule", CACHES);
    assertThat(refused(ChronicleMapCacheModule.class))
        .contains(
            "ChronicleMapCacheModule has no effect in gerrit.installDbModule: make that line of"
                + " etc/gerrit.config \"installModule = "
                + CACHES);
    for (String key : List.of("installModule", "installBatchModule")) {
      config.unsetSection("gerrit", null);
      set(key, REFS);
      assertThat(refused(PackedRefsModule.class)).contains("\"installDbModule = " + REFS);
    }
  }

  @Test
  void whoComesSecondIsRefused() {
    for (String key : List.of("installModule", "installBatchModule")) {
      config.unsetSection("gerrit", null);
      set(key, OtherCaches.class.getName(), CACHES);
      assertThat(refused(ChronicleMapCacheModule.class))
          .contains("Gerrit takes only the first, \"" + OtherCaches.class.getName() + "\"");
      // Then it is the other one that Gerrit drops.
      set(key, CACHES, OtherCaches.class.getName());
      new ConfigLinesCheck(config).checkCacheModule(ChronicleMapCacheModule.class);
    }
  }

  @Test
  void aLineTwiceIsRefused() {
    set("installDbModule", REFS, Neighbour.class.getName(), REFS);
    assertThat(refused(PackedRefsModule.class)).contains("more than once");
  }

  /** Gerrit takes the first of two modules of a kind, and both are the same. */
  @Test
  void theCachesLineMayBeThereTwice() {
    set("installModule", CACHES, CACHES);
    set("installBatchModule", CACHES, CACHES);
    new ConfigLinesCheck(config).checkCacheModule(ChronicleMapCacheModule.class);
  }

  @Test
  void anEmptyLineIsNothing() throws Exception {
    config.fromText("[gerrit]\n\tinstallBatchModule =\n\tinstallModule = " + CACHES + "\n");
    new ConfigLinesCheck(config).checkCacheModule(ChronicleMapCacheModule.class);
    new ConfigLinesCheck(config).checkDbModule(PackedRefsModule.class);
  }

  /** While modules are made, Gerrit's own log is not open. */
  @Test
  void aRefusalIsInTheErrorLog(@TempDir Path folder) throws Exception {
    SitePaths site = new SitePaths(Files.createDirectories(folder.resolve("site")));
    Files.createDirectories(site.logs_dir);
    Files.writeString(site.logs_dir.resolve("error_log"), "before\n");
    set("installDbModule", CACHES);
    assertThrows(ProvisionException.class, () -> new ChronicleMapCacheModule(site, config));
    set("installModule", REFS);
    assertThrows(ProvisionException.class, () -> new PackedRefsModule(site, config));
    assertThat(Files.readString(site.logs_dir.resolve("error_log")))
        .containsMatch(
            "^before\n\\[.*ERROR .*has no effect in gerrit.installDbModule.*"
                + "\n\\[.*ERROR .*has no effect in gerrit.installModule");
  }
}
