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

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** Imports run downwards, and each folder knows what its package comment says it knows. */
class ArchitectureTest {
  private static final String ROOT = "com.googlesource.gerrit.modules.cache.chroniclemap";

  private static final JavaClasses MAIN =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages(ROOT);

  @Test
  void importsRunDownwards() {
    layeredArchitecture()
        .consideringOnlyDependenciesInLayers()
        .layer("entrance")
        .definedBy(ROOT)
        .layer("admin")
        .definedBy(ROOT + ".admin..")
        .layer("caches")
        .definedBy(ROOT + ".caches..")
        .layer("repositories")
        .definedBy(ROOT + ".repositories..")
        .layer("transport")
        .definedBy(ROOT + ".transport..")
        .layer("refs")
        .definedBy(ROOT + ".refs..")
        .layer("store")
        .definedBy(ROOT + ".store..")
        .whereLayer("entrance")
        .mayNotBeAccessedByAnyLayer()
        .whereLayer("admin")
        .mayOnlyBeAccessedByLayers("entrance")
        .whereLayer("caches")
        .mayOnlyBeAccessedByLayers("entrance", "admin")
        .whereLayer("repositories")
        .mayOnlyBeAccessedByLayers("entrance", "admin")
        .whereLayer("transport")
        .mayOnlyBeAccessedByLayers("entrance", "admin")
        .whereLayer("refs")
        .mayOnlyBeAccessedByLayers("entrance", "admin", "repositories")
        .check(MAIN);
  }

  @Test
  void importsWithinRefsRunDownwards() {
    String refs = ROOT + ".refs";
    layeredArchitecture()
        .consideringOnlyDependenciesInLayers()
        .layer("database")
        .definedBy(refs)
        .layer("updates")
        .definedBy(refs + ".updates")
        .layer("reading")
        .definedBy(refs + ".reading")
        .layer("locks")
        .definedBy(refs + ".locks")
        .layer("packed")
        .definedBy(refs + ".packed")
        .layer("loose")
        .definedBy(refs + ".loose")
        .layer("parsing")
        .definedBy(refs + ".parsing")
        .layer("lists")
        .definedBy(refs + ".lists")
        .whereLayer("database")
        .mayNotBeAccessedByAnyLayer()
        .whereLayer("updates")
        .mayOnlyBeAccessedByLayers("database")
        .whereLayer("reading")
        .mayOnlyBeAccessedByLayers("database", "updates")
        .whereLayer("locks")
        .mayOnlyBeAccessedByLayers("database", "updates")
        .whereLayer("packed")
        .mayOnlyBeAccessedByLayers("database", "updates")
        .whereLayer("loose")
        .mayOnlyBeAccessedByLayers("database", "updates", "reading", "locks", "packed")
        .whereLayer("parsing")
        .mayOnlyBeAccessedByLayers("database", "updates", "packed")
        .whereLayer("lists")
        .mayOnlyBeAccessedByLayers("database", "updates", "reading", "packed", "parsing")
        .check(MAIN);
  }

  @Test
  void importsWithinTheStoreRunDownwards() {
    String store = ROOT + ".store";
    layeredArchitecture()
        .consideringOnlyDependenciesInAnyPackage(ROOT + "..")
        .layer("store")
        .definedBy(store)
        .layer("pending")
        .definedBy(store + ".pending")
        .layer("files")
        .definedBy(store + ".files")
        .layer("values")
        .definedBy(store + ".values")
        .layer("engine")
        .definedBy(store + ".engine")
        .layer("disk")
        .definedBy(store + ".disk")
        .whereLayer("pending")
        .mayOnlyBeAccessedByLayers("store")
        .whereLayer("files")
        .mayOnlyBeAccessedByLayers("store")
        .whereLayer("values")
        .mayOnlyBeAccessedByLayers("store", "files")
        .whereLayer("engine")
        .mayOnlyBeAccessedByLayers("store", "files", "values")
        .whereLayer("disk")
        .mayOnlyBeAccessedByLayers("store", "files", "values", "engine")
        .check(MAIN);
  }

  @Test
  void theRefsKnowNoGerritCache() {
    noClasses()
        .that()
        .resideInAPackage(ROOT + ".refs..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("com.google.gerrit.server.cache..")
        .check(MAIN);
  }

  @Test
  void onlyTheEngineOfTheStoreKnowsChronicle() {
    noClasses()
        .that()
        .resideInAPackage(ROOT + "..")
        .and()
        .resideOutsideOfPackage(ROOT + ".store.engine..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("net.openhft..")
        .check(MAIN);
  }

  @Test
  void theStoreKnowsNoGerritAndNoGit() {
    noClasses()
        .that()
        .resideInAPackage(ROOT + ".store..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("com.google.gerrit..", "com.google.inject..", "org.eclipse.jgit..")
        .check(MAIN);
  }
}
