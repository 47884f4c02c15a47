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

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Splitter;
import com.google.common.io.Resources;
import com.google.gerrit.server.account.AccountCacheImpl;
import com.google.gerrit.server.account.GroupCacheImpl;
import com.google.gerrit.server.account.GroupIncludeCacheImpl;
import com.google.gerrit.server.account.externalids.storage.notedb.ExternalIdCacheImpl;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.change.ChangeKindCacheImpl;
import com.google.gerrit.server.change.MergeabilityCacheImpl;
import com.google.gerrit.server.git.PureRevertCache;
import com.google.gerrit.server.notedb.ChangeNotesCache;
import com.google.gerrit.server.patch.PatchListCacheImpl;
import com.google.gerrit.server.patch.diff.ModifiedFilesCacheImpl;
import com.google.gerrit.server.patch.filediff.FileDiffCacheImpl;
import com.google.gerrit.server.patch.gitdiff.GitModifiedFilesCacheImpl;
import com.google.gerrit.server.patch.gitfilediff.GitFileDiffCacheImpl;
import com.google.gerrit.server.project.ProjectCacheImpl;
import com.google.inject.Module;
import com.google.inject.spi.DefaultElementVisitor;
import com.google.inject.spi.Element;
import com.google.inject.spi.Elements;
import com.google.inject.spi.ProviderInstanceBinding;
import com.googlesource.gerrit.modules.cache.chroniclemap.ChronicleMapCacheModule;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * {@link PureCaches} have the types of keys, the serializers and the versions whose sources were
 * read, in each Gerrit that this module is built for. A change within one of these types is noticed
 * only if the cache has a new version, too.
 *
 * <p>If this test fails, Gerrit has changed a key or a serializer. Read in its sources whether the
 * key still names the content, and whether the cache has a new version if values are written
 * otherwise. Then put what the failure shows into the file.
 */
class PureCachesOfGerritTest {
  private static final String KNOWN = "pure-caches.txt";

  /** The modules that bind the caches, as Gerrit's own does. */
  private static Module[] modules() {
    return new Module[] {
      AccountCacheImpl.module(),
      ChangeKindCacheImpl.module(),
      ChangeNotesCache.module(),
      new ExternalIdCacheImpl.ExternalIdCacheModule(),
      FileDiffCacheImpl.module(),
      GitFileDiffCacheImpl.module(),
      GitModifiedFilesCacheImpl.module(),
      GroupCacheImpl.module(),
      GroupIncludeCacheImpl.module(),
      MergeabilityCacheImpl.module(),
      ModifiedFilesCacheImpl.module(),
      PatchListCacheImpl.module(),
      ProjectCacheImpl.module(),
      PureRevertCache.module()
    };
  }

  static Map<String, PersistentCacheDef<?, ?>> definitions() {
    Map<String, PersistentCacheDef<?, ?>> found = new TreeMap<>();
    for (Element element : Elements.getElements(modules())) {
      definition(element).ifPresent(def -> found.put(def.name(), def));
    }
    return found;
  }

  private static Optional<PersistentCacheDef<?, ?>> definition(Element element) {
    return Optional.ofNullable(
        element.acceptVisitor(
            new DefaultElementVisitor<PersistentCacheDef<?, ?>>() {
              @Override
              public <T> PersistentCacheDef<?, ?> visit(com.google.inject.Binding<T> binding) {
                return binding instanceof ProviderInstanceBinding<?> instance
                        && instance.getUserSuppliedProvider()
                            instanceof PersistentCacheDef<?, ?> def
                    ? def
                    : null;
              }
            }));
  }

  /** What stands for the contents of a cache: a line each. */
  private static String describe(PersistentCacheDef<?, ?> def) {
    return String.join(
        " ",
        def.name(),
        Integer.toString(def.version()),
        def.keyType().toString(),
        nameOf(def.keySerializer()),
        nameOf(def.valueSerializer()));
  }

  private static String nameOf(Object serializer) {
    return serializer.getClass().getName().replaceFirst("^com\\.google\\.gerrit\\.", "");
  }

  private static String builtFor() throws IOException {
    Properties properties = new Properties();
    try (InputStream in =
        ChronicleMapCacheModule.class.getResourceAsStream("built-for.properties")) {
      properties.load(in);
    }
    return properties.getProperty("gerrit").replaceFirst("^([0-9]+\\.[0-9]+).*", "$1");
  }

  @Test
  void keysAndSerializersAreThoseThatWereRead() throws Exception {
    TreeSet<String> found = new TreeSet<>();
    for (PersistentCacheDef<?, ?> def : definitions().values()) {
      if (PureCaches.NAMES.contains(def.name())) {
        found.add(describe(def));
      }
    }
    String gerrit = builtFor();
    TreeSet<String> known = new TreeSet<>();
    for (String line :
        Splitter.on('\n')
            .split(
                Resources.toString(
                    Resources.getResource(PureCachesOfGerritTest.class, KNOWN), UTF_8))) {
      if (line.startsWith(gerrit + " ")) {
        known.add(line.substring(gerrit.length() + 1));
      }
    }
    assertWithMessage("of Gerrit %s in %s", gerrit, KNOWN).that(found).isEqualTo(known);
  }

  @Test
  void allPureCachesExist() {
    assertThat(definitions().keySet()).containsAtLeastElementsIn(PureCaches.NAMES);
  }

  /**
   * The class that computes the values of each, and whom else it may ask. If this fails, read what
   * the loader asks besides its key, and say so in {@link PureCaches}.
   */
  @Test
  void loadersAskWhatWasRead() throws Exception {
    String table =
        """
        accounts account.AccountCacheImpl$Loader GitRepositoryManager AllUsersName
        change_kind change.ChangeKindCacheImpl$Loader Key GitRepositoryManager NameKey RevWalk \
        Config AttributesNodeProvider boolean
        change_notes notedb.ChangeNotesCache Cache Args ExternalIdCache
        diff_intraline patch.IntraLineLoader ExecutorService Config IntraLineDiffKey IntraLineDiffArgs
        diff_summary patch.DiffSummaryLoader DiffOperations DiffSummaryKey NameKey
        external_ids_map account.externalids.storage.notedb.ExternalIdCacheLoader \
        GitRepositoryManager AllUsersName ExternalIdReader Cache MetricMaker Config \
        ExternalIdFactoryNoteDbImpl
        gerrit_file_diff patch.filediff.FileDiffCacheImpl$FileDiffLoader Factory GitRepositoryManager
        git_file_diff patch.gitfilediff.GitFileDiffCacheImpl$Loader Config GitRepositoryManager \
        ExecutorService Metrics
        git_modified_files patch.gitdiff.GitModifiedFilesCacheImpl$Loader GitRepositoryManager
        groups_byuuid_persisted account.GroupCacheImpl$PersistedByUUIDLoader Groups
        groups_external_persisted account.GroupIncludeCacheImpl$AllExternalInMemoryLoader Cache \
        GroupsSnapshotReader Groups
        mergeability submit.SubmitDryRun ProjectCache MergeUtilFactory Provider
        modified_files patch.diff.ModifiedFilesCacheImpl$Loader GitRepositoryManager Factory
        persisted_projects project.ProjectCacheImpl$PersistedLoader GitRepositoryManager Factory
        pure_revert git.PureRevertCache$Loader GitRepositoryManager MergeUtilFactory ProjectCache
        """;
    List<String> caches = new ArrayList<>();
    for (String line : Splitter.on('\n').omitEmptyStrings().split(table)) {
      List<String> words = Splitter.on(' ').limit(3).splitToList(line);
      Class<?> loader = Class.forName("com.google.gerrit.server." + words.get(1));
      String asked =
          Arrays.stream(loader.getDeclaredConstructors()[0].getParameterTypes())
              .map(Class::getSimpleName)
              .collect(Collectors.joining(" "));
      assertWithMessage(line).that(asked).isEqualTo(words.get(2));
      caches.add(words.get(0));
    }
    assertThat(caches).containsExactlyElementsIn(PureCaches.NAMES);
  }
}
