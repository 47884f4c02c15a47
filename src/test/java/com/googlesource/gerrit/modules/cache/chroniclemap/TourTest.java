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

import static com.google.common.collect.ImmutableList.toImmutableList;
import static com.google.common.truth.Truth.assertThat;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.await;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.Streams;
import com.google.gerrit.lifecycle.LifecycleManager;
import com.google.gerrit.server.cache.CacheModule;
import com.google.gerrit.server.cache.PersistentCache;
import com.google.gerrit.server.config.GerritRuntime;
import com.google.inject.Guice;
import com.google.inject.Injector;
import com.google.inject.Key;
import com.google.inject.TypeLiteral;
import com.google.inject.name.Names;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CachesModule;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.TestSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.FileRefDatabase;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Ticket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.Config;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectInserter;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A tour of the module, to be read from top to bottom: five things that a server does all day, each
 * on a real store or repository. Nothing here is a mock. Which classes each of them runs through is
 * in {@code CONTRIBUTING.md}, in the same order.
 */
class TourTest {
  @TempDir Path folder;

  /** Computes the values of the cache of the first stop. Gerrit's own loaders read Git. */
  static final class Greeter extends CacheLoader<String, String> {
    static int loads;

    @Override
    public String load(String name) {
      loads++;
      return "Hello " + name;
    }
  }

  /** A server with one persistent cache, which is declared as Gerrit and its plugins do it. */
  private static final class Server implements AutoCloseable {
    private final LifecycleManager lifecycle = new LifecycleManager();
    final LoadingCache<String, String> greetings;

    Server(Path site) {
      Config gerritConfig = new Config();
      gerritConfig.setString("cache", null, "directory", "cache");
      Injector injector =
          Guice.createInjector(
              // What a Gerrit has around its caches. The memory tier is Gerrit's own; this module
              // is what keeps values on disk.
              TestSite.gerrit(site, gerritConfig),
              binder -> binder.bind(GerritRuntime.class).toInstance(GerritRuntime.DAEMON),
              new CachesModule(),
              new CacheModule() {
                @Override
                protected void configure() {
                  persist("greetings", String.class, String.class).loader(Greeter.class);
                }
              });
      lifecycle.add(injector);
      lifecycle.start();
      greetings =
          injector.getInstance(
              Key.get(
                  new TypeLiteral<LoadingCache<String, String>>() {}, Names.named("greetings")));
      // Files are opened in the background. A read that comes before that waits for up to a second,
      // and is a miss then.
      CacheInventory caches = injector.getInstance(CacheInventory.class);
      await(() -> caches.reports().get(0).disk().state() != StoreState.OPENING);
    }

    @Override
    public void close() {
      lifecycle.stop();
    }
  }

  /** First stop: a value that is not in memory any more is read from disk instead of computed. */
  @Test
  void aDiskHit() throws Exception {
    Greeter.loads = 0;
    try (Server server = new Server(folder)) {
      // Nobody has it: the loader computes the value. It goes to the memory tier and to disk.
      assertThat(server.greetings.get("Alice")).isEqualTo("Hello Alice");
      // A hit in the memory tier, in front of which this module adds next to nothing.
      assertThat(server.greetings.get("Alice")).isEqualTo("Hello Alice");
      assertThat(Greeter.loads).isEqualTo(1);
    }
    // A stop writes what is queued. Memory is lost, and one file remains of each cache.
    try (Server server = new Server(folder)) {
      assertThat(server.greetings.get("Alice")).isEqualTo("Hello Alice");

      assertThat(Greeter.loads).isEqualTo(1);
      assertThat(((PersistentCache) server.greetings).diskStats().hitCount()).isEqualTo(1);
    }
  }

  /** Second stop, one floor lower: the store of bytes below each cache, which knows no Gerrit. */
  @Test
  void aPutAndAnInvalidation() throws Exception {
    byte[] alice = "Alice".getBytes(UTF_8);
    try (StoreDirectory directory = StoreDirectory.open(folder.resolve("stores"))) {
      // At most 4 MB on disk, and values have no maximum age. The 1 is the version of the values:
      // with another one the store would start empty.
      Store sessions =
          directory.openStore(new StoreSettings("sessions", 1, 4 << 20, Optional.empty()));
      // A put may be queued, but whoever reads sees it at once.
      sessions.put(alice, "signed in".getBytes(UTF_8), System.currentTimeMillis());
      assertThat(sessions.read(alice).bytes()).isEqualTo("signed in".getBytes(UTF_8));

      // Somebody begins to compute the value for Alice. The ticket notes what was known then.
      Ticket ticket = sessions.ticket(alice);
      // Alice signs out meanwhile. When this returns, no queue and no file has the old value.
      sessions.remove(alice);
      assertThat(sessions.read(alice)).isNull();
      // The slow load ends only now, and its value is older than the invalidation. The ticket
      // tells: she stays signed out.
      sessions.putIfCurrent(alice, "signed in".getBytes(UTF_8), System.currentTimeMillis(), ticket);
      assertThat(sessions.read(alice)).isNull();
    }
    try (StoreDirectory directory = StoreDirectory.open(folder.resolve("stores"))) {
      // She stays signed out after a restart too, and after a kill or a crash of the machine.
      Store sessions =
          directory.openStore(new StoreSettings("sessions", 1, 4 << 20, Optional.empty()));
      sessions.awaitOpened();
      assertThat(sessions.read(alice)).isNull();
    }
  }

  /** A repository with two objects and no refs, and the parsed lists of one server. */
  private static final class Refs implements AutoCloseable {
    final FileRepository repository;
    final PackedRefsCache lists;
    final FileRefDatabase database;
    final ObjectId one;
    final ObjectId two;

    Refs(Path folder) throws Exception {
      repository = new FileRepository(folder.resolve("project.git").toFile());
      repository.create(true);
      try (ObjectInserter inserter = repository.newObjectInserter()) {
        // Refs may point to any object, so blobs do.
        one = inserter.insert(Constants.OBJ_BLOB, "one".getBytes(UTF_8));
        two = inserter.insert(Constants.OBJ_BLOB, "two".getBytes(UTF_8));
        inserter.flush();
      }
      // 1 MB of memory for parsed lists, and none of disk.
      lists =
          new PackedRefsCache(
              new RefsSettings(1 << 20, 0, Optional.empty()), UpdateSettings.DEFAULT);
      lists.start();
      // JGit's database of the same files is there for what this module leaves to it.
      database = lists.of(repository, (RefDirectory) repository.getRefDatabase());
    }

    /** Sets refs that are not there yet, all of them or none. */
    BatchRefUpdate batch(ReceiveCommand... commands) throws Exception {
      BatchRefUpdate batch = database.newBatchUpdate();
      batch.setAtomic(true);
      batch.addCommand(commands);
      try (RevWalk walk = new RevWalk(repository)) {
        batch.execute(walk, NullProgressMonitor.INSTANCE);
      }
      return batch;
    }

    ReceiveCommand create(String name, ObjectId id) {
      return new ReceiveCommand(ObjectId.zeroId(), id, name);
    }

    @Override
    public void close() {
      repository.close();
    }
  }

  /** Third stop: a ref is found in a parsed list, and the list in memory is that of the file. */
  @Test
  void aLookup() throws Exception {
    try (Refs refs = new Refs(folder)) {
      // As native git writes it: sorted lines of ids and names.
      Path packedRefs = refs.repository.getDirectory().toPath().resolve("packed-refs");
      Files.writeString(
          packedRefs,
          "# pack-refs with: peeled fully-peeled sorted \n"
              + refs.one.name()
              + " refs/heads/master\n"
              + refs.two.name()
              + " refs/heads/stable\n");
      // The first lookup parses the file. Others search the list, wherever they look.
      assertThat(refs.database.exactRef("refs/heads/master").getObjectId()).isEqualTo(refs.one);
      assertThat(refs.database.exactRef("refs/heads/absent")).isNull();
      assertThat(names(refs.database.getRefsByPrefix("refs/heads/")))
          .containsExactly("refs/heads/master", "refs/heads/stable")
          .inOrder();
      assertThat(refs.lists.totals().counts().parses.sum()).isEqualTo(1);

      // A loose ref wins over a packed one, as always in git; it is one small file.
      Path loose = refs.repository.getDirectory().toPath().resolve("refs/heads/master");
      Files.writeString(loose, refs.two.name() + "\n");
      assertThat(refs.database.exactRef("refs/heads/master").getObjectId()).isEqualTo(refs.two);
    }
  }

  private static Iterable<String> names(Iterable<Ref> refs) {
    return Streams.stream(refs).map(Ref::getName).collect(toImmutableList());
  }

  /** Fourth stop: the two refs of a new change are made both or not at all. */
  @Test
  void aBatchOfTwo() throws Exception {
    try (Refs refs = new Refs(folder)) {
      BatchRefUpdate made =
          refs.batch(
              refs.create("refs/changes/01/1/1", refs.one),
              refs.create("refs/changes/01/1/meta", refs.two));
      assertThat(made.getCommands().stream().map(ReceiveCommand::getResult).toList())
          .containsExactly(ReceiveCommand.Result.OK, ReceiveCommand.Result.OK);
      // Each is a loose file. No list was copied, however many refs the repository has, and
      // neither a lock nor a journal is left.
      Path change = refs.repository.getDirectory().toPath().resolve("refs/changes/01/1");
      assertThat(change.toFile().list()).asList().containsExactly("1", "meta");

      // The second command is wrong: that ref is there. So the first one is not done either.
      BatchRefUpdate refused =
          refs.batch(
              refs.create("refs/changes/02/2/1", refs.one),
              refs.create("refs/changes/01/1/meta", refs.one));
      assertThat(refused.getCommands().stream().map(ReceiveCommand::getResult).toList())
          .doesNotContain(ReceiveCommand.Result.OK);
      assertThat(refs.database.exactRef("refs/changes/02/2/1")).isNull();
    }
  }

  /**
   * Last stop: the refs that lead to an id. When a client fetches an object by its id, the server
   * has to know whether one of them is visible to the client. Gerrit's filter then has to decide
   * about those alone, and not about all refs.
   */
  @Test
  void theRefsThatLeadToAnId() throws Exception {
    try (Refs refs = new Refs(folder)) {
      var unused =
          refs.batch(
              refs.create("refs/heads/master", refs.one),
              refs.create("refs/heads/stable", refs.two),
              refs.create("refs/tags/v1", refs.one));

      // HEAD leads to refs/heads/master.
      assertThat(names(refs.database.getTipsWithSha1(refs.one)))
          .containsExactly("HEAD", "refs/heads/master", "refs/tags/v1");
      assertThat(refs.database.getTipsWithSha1(ObjectId.zeroId())).isEmpty();
    }
  }
}
