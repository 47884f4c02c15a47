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

import static com.google.common.truth.Truth.assertWithMessage;
import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.name;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.LostContentException;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMethodCall;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.syntax.elements.GivenClassesConjunction;
import com.tngtech.archunit.library.Architectures.LayeredArchitecture;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Executor;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Imports run downwards, and each folder knows what its package comment says it knows. */
class ArchitectureTest {
  private static final String ROOT = "com.googlesource.gerrit.modules.cache.chroniclemap";

  /** The classes that are in no package of their own, which Gerrit calls. */
  private static final String ENTRANCE = "entrance";

  private static final JavaClasses MAIN =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages(ROOT);

  /**
   * Checks who may import whom.
   *
   * @param layers packages, each with those that may import it
   */
  private static void check(LayeredArchitecture architecture, Map<String, Set<String>> layers) {
    Set<String> names = new TreeSet<>(layers.keySet());
    layers.values().forEach(names::addAll);
    LayeredArchitecture all = architecture;
    for (String name : names) {
      all = all.layer(name).definedBy(name.equals(ENTRANCE) ? ROOT : ROOT + "." + name);
    }
    for (Map.Entry<String, Set<String>> layer : layers.entrySet()) {
      String[] above = layer.getValue().toArray(String[]::new);
      all =
          above.length == 0
              ? all.whereLayer(layer.getKey()).mayNotBeAccessedByAnyLayer()
              : all.whereLayer(layer.getKey()).mayOnlyBeAccessedByLayers(above);
    }
    all.check(MAIN);
  }

  @Test
  void importsRunDownwards() {
    check(
        layeredArchitecture().consideringOnlyDependenciesInLayers(),
        Map.of(
            ENTRANCE,
            Set.of(),
            "admin..",
            Set.of(ENTRANCE),
            "caches..",
            Set.of(ENTRANCE, "admin.."),
            "shared..",
            Set.of("admin..", "caches.."),
            "repositories..",
            Set.of(ENTRANCE, "admin.."),
            "transport..",
            Set.of(ENTRANCE, "admin.."),
            "refs..",
            Set.of(ENTRANCE, "admin..", "repositories.."),
            "store..",
            Set.of(ENTRANCE, "admin..", "caches..", "shared..", "repositories..", "refs.."),
            "members..",
            Set.of("admin..", "repositories..", "transport..", "refs.."),
            "counting..",
            Set.of("admin..", "caches..", "shared..", "transport..", "refs..", "store..")));
  }

  @Test
  void importsWithinRefsRunDownwards() {
    String entrance = "refs";
    String tables = "refs.tables";
    String writing = "refs.writing";
    String reading = "refs.reading";
    String current = "refs.current";
    check(
        layeredArchitecture().consideringOnlyDependenciesInAnyPackage(ROOT + ".refs.."),
        Map.of(
            entrance,
            Set.of(),
            tables,
            Set.of(entrance),
            writing,
            Set.of(entrance),
            reading,
            Set.of(entrance, tables, writing),
            current,
            Set.of(entrance, tables, writing, reading),
            "refs.lists",
            Set.of(entrance, tables, writing, reading, current)));
  }

  @Test
  void importsWithinTheStoreRunDownwards() {
    String files = "store.files";
    String values = "store.values";
    check(
        layeredArchitecture().consideringOnlyDependenciesInAnyPackage(ROOT + ".."),
        Map.of(
            files,
            Set.of("store"),
            values,
            Set.of("store", files),
            "store.engine",
            Set.of("store", files, values),
            "store.disk",
            Set.of("store", files, values, "store.engine")));
  }

  @Test
  void theRefsKnowNoGerritCache() {
    noClassesIn(ROOT + ".refs..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("com.google.gerrit.server.cache..")
        .check(MAIN);
  }

  /** A reader may be in any memory of a list, so only Java, which sees the reader, may free it. */
  @Test
  void theMemoryOfListsIsNotFreedByHand() {
    noClassesIn(ROOT + ".refs.lists..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("java.lang.foreign..", "sun.misc..", "jdk..", ROOT + ".store.disk..")
        .orShould()
        .callMethod(FileChannel.class, "map", MapMode.class, long.class, long.class)
        .check(MAIN);
  }

  /** File.list takes an error in the middle of a folder for its end, and JGit's retries wait. */
  @Test
  void refsAreListedAndReadByMethodsThatSayWhatFails() {
    noClassesIn(ROOT + ".refs..")
        .and()
        .haveSimpleNameNotEndingWith("LooseFile")
        .and()
        .haveSimpleNameNotEndingWith("RefPaths")
        .should()
        .callMethod(File.class, "list")
        .orShould()
        .callMethod(File.class, "listFiles")
        .orShould()
        .callMethodWhere(target(name("readWithRetries")))
        .check(MAIN);
  }

  /** None of the classes in these packages. */
  private static GivenClassesConjunction noClassesIn(String... packages) {
    return noClasses().that().resideInAnyPackage(packages);
  }

  @Test
  void onlyTheEngineOfTheStoreKnowsChronicle() {
    noClassesIn(ROOT + "..")
        .and()
        .resideOutsideOfPackage(ROOT + ".store.engine..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("net.openhft..")
        .check(MAIN);
  }

  /** Another engine may stand there one day, and none of the client is loaded without one. */
  @Test
  void onlyOneClassKnowsTheClientOfSharedValues() {
    noClassesIn(ROOT + "..")
        .and()
        .doNotHaveSimpleName("RedisLog")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("redis.clients..", "org.apache.commons.pool2..")
        .check(MAIN);
  }

  /** No failure of the process can be turned into evidence, and nothing else deletes files. */
  @Test
  void aStoreDeletesOnEvidenceOfContentAlone() {
    noClasses()
        .that()
        .doNotHaveSimpleName("DiscardMarkers") // the markers for discard
        .and()
        .doNotHaveSimpleName("StoreOpener") // the verdict on a file
        .and()
        .doNotHaveSimpleName("FileState") // what the disk did not take
        .and()
        .doNotHaveSimpleName("RecordMapBuilder")
        .and()
        .doNotHaveSimpleName("SegmentReader")
        .and()
        .doNotHaveSimpleName("SegmentRepair")
        .should()
        .callConstructor(LostContentException.class, String.class)
        .orShould()
        .callConstructor(LostContentException.class, String.class, Throwable.class)
        .check(MAIN);
    noClassesIn(ROOT + ".store").should().callMethod(Disk.class, "delete", Path.class).check(MAIN);
  }

  /** An interrupt, by which Gerrit cancels a request, closes any other channel. */
  @Test
  void onlyTheDiskOpensChannelsOfFiles() {
    noClassesIn(ROOT + ".store..", ROOT + ".caches..", ROOT + ".shared..")
        .and()
        .resideOutsideOfPackage(ROOT + ".store.disk")
        .should()
        .callMethod(FileChannel.class, "open", Path.class, OpenOption[].class)
        .orShould()
        .callMethod(FileChannel.class, "open", Path.class, Set.class, FileAttribute[].class)
        .check(MAIN);
  }

  /** There may be no further thread, which the caller of an executor is told by an Error. */
  @Test
  void onlyOneClassOfTheStoreStartsThreads() {
    noClassesIn(ROOT + ".store..")
        .and()
        .doNotHaveSimpleName("StoreThreads")
        .should()
        .dependOnClassesThat()
        .areAssignableTo(Executor.class)
        .orShould()
        .dependOnClassesThat()
        .areAssignableTo(Thread.Builder.class)
        .orShould()
        .callMethod(Thread.class, "start")
        .orShould()
        .callMethodWhere(target(name("startVirtualThread")))
        .orShould()
        .callMethodWhere(target(name("runAsync")))
        .orShould()
        .callMethodWhere(target(name("supplyAsync")))
        .check(MAIN);
  }

  /**
   * The other classes that are named reach members of Java, H2, Chronicle-Map, loaders and this
   * module, a module of gerrit.config, and public methods of an interface that a proxy stands for.
   */
  @Test
  void onlyOneTableReachesMembersByName() throws IOException {
    Pattern owners =
        Pattern.compile(
            "java\\.lang\\.(Class|ClassLoader|reflect\\..*|StackWalker\\$StackFrame|invoke\\.MethodHandles.*)");
    Pattern methods =
        Pattern.compile(
            "forName|loadClass|getDeclared.+|get(Field|Method|Constructor)s?|setAccessible"
                + "|privateLookupIn|find.+|unreflect.*|getMethodName");
    noClassesIn(ROOT + "..")
        .and()
        .resideOutsideOfPackage(ROOT + ".members")
        .and()
        .haveNameNotMatching(
            ".*\\.(Disk|H2File|RecordMapBuilder|ChronicleRuntime|RunningJar|Loads|CachedValue"
                + "|ConfigLinesCheck)")
        .should()
        .callMethodWhere(
            describe(
                "finds a member or class by its name",
                (JavaMethodCall call) ->
                    owners.matcher(call.getTargetOwner().getName()).matches()
                        && methods.matcher(call.getName()).matches()))
        .orShould()
        .callMethod(Method.class, "getName")
        .check(MAIN);
    Pattern name = Pattern.compile("\"(com\\.google\\.gerrit|org\\.eclipse\\.jgit)[a-z.]*\\.[A-Z]");
    try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
      for (Path file : files.filter(each -> each.toString().endsWith(".java")).toList()) {
        boolean isTable = file.endsWith("Member.java");
        assertWithMessage("%s", file)
            .that(name.matcher(Files.readString(file)).find())
            .isEqualTo(isTable);
      }
    }
  }

  @Test
  void theStoreKnowsNoGerritAndNoGit() {
    noClassesIn(ROOT + ".store..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("com.google.gerrit..", "com.google.inject..", "org.eclipse.jgit..")
        .check(MAIN);
  }
}
