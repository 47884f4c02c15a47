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

package com.googlesource.gerrit.modules.cache.chroniclemap.repositories;

import static com.google.common.truth.Truth.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.google.gerrit.entities.Project;
import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.gerrit.lifecycle.LifecycleManager;
import com.google.gerrit.server.cache.PerThreadCache;
import com.google.gerrit.server.config.GerritServerConfig;
import com.google.gerrit.server.config.RepositoryConfig;
import com.google.gerrit.server.config.SitePath;
import com.google.gerrit.server.config.SitePaths;
import com.google.gerrit.server.git.GitRepositoryManager;
import com.google.gerrit.server.git.GitRepositoryManager.Status;
import com.google.gerrit.server.git.GitRepositoryManagerModule;
import com.google.gerrit.server.git.LocalDiskRepositoryManager;
import com.google.gerrit.server.git.RepositoryExistsException;
import com.google.inject.AbstractModule;
import com.google.inject.Guice;
import com.google.inject.Injector;
import com.google.inject.Stage;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.eclipse.jgit.errors.RepositoryNotFoundException;
import org.eclipse.jgit.internal.storage.file.FileReftableDatabase;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.Config;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectInserter;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.lib.RepositoryCache;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Gerrit's repositories, as the module has them answer. */
class ParsedRefsRepositoriesTest {
  private static final Project.NameKey NAME = Project.nameKey("some/project");

  @TempDir Path site;
  private final Config config = new Config();
  private Injector injector;

  private GitRepositoryManager manager;

  @BeforeEach
  void start() throws IOException {
    Files.createDirectories(site.resolve("git"));
    config.setString("gerrit", null, "basePath", "git");
    config.setString("cache", null, "directory", "cache");
    open();
  }

  private void open() {
    injector =
        Guice.createInjector(
            Stage.PRODUCTION,
            new AbstractModule() {
              @Override
              protected void configure() {
                bind(Path.class).annotatedWith(SitePath.class).toInstance(site);
                bind(Config.class).annotatedWith(GerritServerConfig.class).toInstance(config);
                bind(SitePaths.class);
                install(new RepositoriesModule());
                install(new GitRepositoryManagerModule(new RepositoryConfig(config)));
              }
            });
    manager = injector.getInstance(GitRepositoryManager.class);
  }

  @AfterEach
  void stop() {
    injector.getInstance(PackedRefsCache.class).close();
    RepositoryCache.clear();
  }

  private RefsTotals totals() {
    return injector.getInstance(RefsInventory.class).totals();
  }

  private static void update(Repository repository, String ref) throws IOException {
    try (ObjectInserter inserter = repository.newObjectInserter()) {
      ObjectId id = inserter.insert(Constants.OBJ_BLOB, new byte[] {1});
      inserter.flush();
      assertThat(TestRefs.force(repository.getRefDatabase(), ref, id))
          .isEqualTo(RefUpdate.Result.NEW);
    }
  }

  private static void pack(Repository repository) throws IOException {
    FileRepository files = new FileRepository(repository.getDirectory());
    RefDirectory refs = (RefDirectory) files.getRefDatabase();
    refs.pack(refs.getRefsByPrefix("refs/").stream().map(Ref::getName).toList());
    files.close();
  }

  private static List<String> names(Repository repository) throws IOException {
    return repository.getRefDatabase().getRefsByPrefix("refs/").stream().map(Ref::getName).toList();
  }

  @Test
  void allOfARepositorysLife() throws Exception {
    assertThat(manager.getRepositoryStatus(NAME)).isEqualTo(Status.NON_EXISTENT);
    assertThrows(RepositoryNotFoundException.class, () -> manager.openRepository(NAME));
    try (Repository created = manager.createRepository(NAME)) {
      assertThat(created).isInstanceOf(ParsedRefsRepository.class);
      update(created, "refs/heads/a");
      pack(created);
      update(created, "refs/heads/b");
      assertThat(names(created)).containsExactly("refs/heads/a", "refs/heads/b").inOrder();
      assertThat(created.resolve("refs/heads/a")).isNotNull();
      assertThat(created.getFullBranch()).isEqualTo("refs/heads/master");
      try (Repository opened = manager.openRepository(NAME)) {
        assertThat(opened).isSameInstanceAs(created);
      }
    }
    assertThat(manager.getRepositoryStatus(NAME)).isEqualTo(Status.ACTIVE);
    assertThat(manager.list()).containsExactly(NAME);
    assertThat(manager.canPerformGC()).isTrue();
    assertThrows(RepositoryExistsException.class, () -> manager.createRepository(NAME));
    assertThat(totals().reports().size()).isEqualTo(1);
    assertThat(totals().counts().lookups.sum()).isGreaterThan(0L);
    assertThat(injector.getInstance(RefsInventory.class).reports().get(0).project())
        .isEqualTo(NAME.get());

    manager.repositoryDeleted(NAME);
    assertThat(totals().reports().size()).isEqualTo(0);
    assertThat(totals().lists().size()).isEqualTo(0);
  }

  @Test
  void anInstanceOfGerritsIsReplaced() throws Exception {
    manager.createRepository(NAME).close();
    RepositoryCache.clear();
    RepositoryCache.FileKey plain =
        RepositoryCache.FileKey.lenient(
            site.resolve("git").resolve(NAME.get()).toFile(), org.eclipse.jgit.util.FS.DETECTED);
    Repository gerrits = RepositoryCache.open(plain);
    assertThat(gerrits).isNotInstanceOf(ParsedRefsRepository.class);
    try (Repository ours = manager.openRepository(NAME)) {
      assertThat(ours).isInstanceOf(ParsedRefsRepository.class);
      assertThat(RepositoryCache.open(plain)).isSameInstanceAs(ours);
    }
    gerrits.close();
    RepositoryCache.clear();
    try (Repository again = manager.openRepository(NAME)) {
      assertThat(again).isInstanceOf(ParsedRefsRepository.class);
    }
  }

  @Test
  void aRequestHasItsOwnDatabase() throws Exception {
    try (Repository repository = manager.createRepository(NAME)) {
      update(repository, "refs/heads/a");
      pack(repository);
      RefDatabase outside = repository.getRefDatabase();
      try (PerThreadCache request = PerThreadCache.create()) {
        assertThat(request).isNotNull();
        RefDatabase inside = repository.getRefDatabase();
        assertThat(inside).isNotSameInstanceAs(outside);
        assertThat(repository.getRefDatabase()).isSameInstanceAs(inside);
        assertThat(names(repository)).containsExactly("refs/heads/a");
        // Somebody else, in the middle of the request.
        try (FileRepository other = new FileRepository(repository.getDirectory())) {
          update(other, "refs/heads/b");
        }
        pack(repository);
        // Seen, and not lost between loose and packed, as the file's attributes are trusted.
        assertThat(names(repository)).containsExactly("refs/heads/a", "refs/heads/b");
        update(repository, "refs/heads/c");
        assertThat(names(repository)).hasSize(3);
      }
      assertThat(repository.getRefDatabase()).isSameInstanceAs(outside);
    }
  }

  @Test
  void withoutTheCacheOfRequestsThereIsOneDatabase() throws Exception {
    config.setBoolean("core", null, "usePerRequestRefCache", false);
    open();
    try (Repository repository = manager.createRepository(NAME)) {
      RefDatabase outside = repository.getRefDatabase();
      try (PerThreadCache request = PerThreadCache.create()) {
        assertThat(request).isNotNull();
        assertThat(repository.getRefDatabase()).isSameInstanceAs(outside);
      }
    }
  }

  /** Gerrit's own instance, which is replaced then, cannot be closed in a request. */
  @Test
  void aReftableIsOpenedInARequest() throws Exception {
    try (Repository repository = manager.createRepository(NAME)) {
      update(repository, "refs/heads/a");
      ((FileRepository) repository).convertRefStorage("reftable", false, false);
    }
    RepositoryCache.clear();
    try (PerThreadCache request = PerThreadCache.create()) {
      assertThat(request).isNotNull();
      try (Repository repository = manager.openRepository(NAME)) {
        assertThat(repository).isInstanceOf(ParsedRefsRepository.class);
        assertThat(names(repository)).containsExactly("refs/heads/a");
      }
    }
  }

  @Test
  void aReftableIsReadFromItsTables() throws Exception {
    try (Repository repository = manager.createRepository(NAME)) {
      update(repository, "refs/heads/a");
      try (PerThreadCache request = PerThreadCache.create()) {
        assertThat(request).isNotNull();
        assertThat(names(repository)).containsExactly("refs/heads/a");
        ((FileRepository) repository).convertRefStorage("reftable", false, false);
        assertThat(repository.getRefDatabase()).isNotInstanceOf(FileReftableDatabase.class);
        assertThat(names(repository)).containsExactly("refs/heads/a");
        update(repository, "refs/heads/table");
        ((FileRepository) repository).convertRefStorage("refdir", false, false);
        assertThat(names(repository)).containsExactly("refs/heads/a", "refs/heads/table");
      }
      update(repository, "refs/heads/b");
      pack(repository);
      assertThat(names(repository))
          .containsExactly("refs/heads/a", "refs/heads/table", "refs/heads/b");
    }
  }

  @Test
  void figuresAreReadWhileReftablesAreForgotten() throws Exception {
    WeakReference<Repository> gone = new WeakReference<>(closedReftable());
    RepositoryCache.clear();
    for (int i = 0; i < 100 && gone.get() != null; i++) {
      System.gc();
    }
    assertThat(gone.get()).isNull();
    assertThat(totals().tables()).isEmpty();
  }

  private Repository closedReftable() throws Exception {
    try (Repository repository = manager.createRepository(NAME)) {
      ((FileRepository) repository).convertRefStorage("reftable", false, false);
      assertThat(names(repository)).isEmpty();
      assertThat(totals().tables()).hasSize(1);
      return repository;
    }
  }

  @Test
  void allCanBeSwitchedOff() throws Exception {
    config.setBoolean("cache-chroniclemap", null, "packedRefs", false);
    open();
    try (Repository repository = manager.createRepository(NAME)) {
      assertThat(repository).isNotInstanceOf(ParsedRefsRepository.class);
    }
    for (var listener :
        injector.findBindingsByType(com.google.inject.TypeLiteral.get(LifecycleListener.class))) {
      listener.getProvider().get().start();
    }
    assertThat(Files.exists(site.resolve("cache"))).isFalse();
  }

  @Test
  void moreThanOneBasePath() throws Exception {
    Path other = Files.createDirectories(site.resolve("other"));
    config.setString("repository", "far/*", "basePath", other.toString());
    open();
    Project.NameKey far = Project.nameKey("far/project");
    manager.createRepository(NAME).close();
    try (Repository repository = manager.createRepository(far)) {
      assertThat(repository).isInstanceOf(ParsedRefsRepository.class);
      assertThat(repository.getDirectory().toPath().startsWith(other.toRealPath())).isTrue();
      assertThat(names(repository)).isEmpty();
    }
    assertThat(manager.list()).containsExactly(far, NAME);
    assertThat(injector.getInstance(RefsInventory.class).reports().get(0).project())
        .isEqualTo(far.get());
    manager.repositoryDeleted(far);
    assertThat(totals().reports().size()).isEqualTo(0);
  }

  /** Plugins look at the class of the manager. */
  @Test
  void theManagerIsGerrits() {
    assertThat(manager).isInstanceOf(LocalDiskRepositoryManager.class);
    assertThat(injector.getInstance(LocalDiskRepositoryManager.class)).isSameInstanceAs(manager);
  }

  @Test
  void whatAnotherNodeHasDeletedIsNotThere() throws Exception {
    manager.createRepository(NAME).close();
    MoreFiles.deleteRecursively(
        site.resolve("git").resolve(NAME.get() + ".git"), RecursiveDeleteOption.ALLOW_INSECURE);
    assertThat(manager.getRepositoryStatus(NAME)).isEqualTo(Status.NON_EXISTENT);
  }

  /** As {@code daemon --init} runs init, which stops nothing, and then the daemon. */
  @Test
  void theNextProgramInThisProcessGoesOnWithTheSameLists() throws Exception {
    Repository before = manager.createRepository(NAME);
    PackedRefsCache init = injector.getInstance(PackedRefsCache.class);
    open();
    assertThat(injector.getInstance(PackedRefsCache.class)).isSameInstanceAs(init);
    try (Repository opened = manager.openRepository(NAME)) {
      // Its settings may be others: init does not know of etc/jgit.config.
      assertThat(opened).isNotSameInstanceAs(before);
      assertThat(names(opened)).isEmpty();
    }
    before.close();
    assertThat(totals().memoryOnlyReason()).isEmpty();
  }

  @Test
  void theNextProgramTriesAgainToHaveAStore() throws Exception {
    try (StoreDirectory others =
        StoreDirectory.open(site.resolve("cache/cache-chroniclemap-refs"))) {
      try (Repository repository = manager.createRepository(NAME)) {
        assertThat(names(repository)).isEmpty();
      }
      assertThat(totals().memoryOnlyReason().get()).contains(others.path.toString());
    }
    open();
    try (Repository repository = manager.openRepository(NAME)) {
      assertThat(names(repository)).isEmpty();
    }
    assertThat(totals().memoryOnlyReason()).isEmpty();
  }

  @Test
  void theLastOfTwoProgramsClosesTheStore() throws Exception {
    manager.createRepository(Project.nameKey("All-Projects")).close();
    PackedRefsCache cache = injector.getInstance(PackedRefsCache.class);
    LifecycleManager first = new LifecycleManager();
    first.add(injector);
    first.start();
    open();
    LifecycleManager second = new LifecycleManager();
    second.add(injector);
    second.start();
    first.stop();
    first.stop();
    assertThat(cache.isOfUse()).isTrue();
    second.stop();
    assertThat(cache.isOfUse()).isFalse();
  }

  /** As {@code daemon --init} with a reindex in between, which stops what it has started. */
  @Test
  void theProgramAfterOneThatStoppedHasAStoreOfItsOwn() throws Exception {
    Repository before = manager.createRepository(NAME);
    injector.getInstance(PackedRefsCache.class).close();
    open();
    try (Repository after = manager.openRepository(NAME)) {
      assertThat(after).isNotSameInstanceAs(before);
      assertThat(names(after)).isEmpty();
      update(after, "refs/heads/a");
      pack(after);
      assertThat(names(before)).containsExactly("refs/heads/a");
      assertThat(names(after)).containsExactly("refs/heads/a");
      try (Repository again = manager.openRepository(NAME)) {
        assertThat(again).isSameInstanceAs(after);
      }
    }
    before.close();
    assertThat(totals().reports().size()).isEqualTo(1);
    assertThat(totals().memoryOnlyReason()).isEmpty();
  }

  @Test
  void otherSettingsCountForTheNextProgram() throws Exception {
    Repository before = manager.createRepository(NAME);
    PackedRefsCache init = injector.getInstance(PackedRefsCache.class);
    config.setString("cache", "packed_refs", "memoryLimit", "1m");
    open();
    try (Repository after = manager.openRepository(NAME)) {
      assertThat(after).isNotSameInstanceAs(before);
      assertThat(names(after)).isEmpty();
    }
    assertThat(names(before)).isEmpty();
    before.close();
    assertThat(init.isOfUse()).isFalse();
    assertThat(totals().memory().limit).isEqualTo(1 << 20);
    assertThat(totals().memoryOnlyReason()).isEmpty();
  }
}
