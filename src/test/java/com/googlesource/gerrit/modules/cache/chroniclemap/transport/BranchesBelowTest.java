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

package com.googlesource.gerrit.modules.cache.chroniclemap.transport;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;

import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.PerThreadCache;
import com.google.gerrit.server.git.DelegateRefDatabase;
import com.google.gerrit.server.git.DelegateRepository;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.pack.PackWriter;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.ObjectInserter;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefComparator;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.lib.TreeFormatter;
import org.eclipse.jgit.revwalk.RevCommit;
import org.eclipse.jgit.revwalk.RevSort;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.transport.ConnectivityChecker.ConnectivityCheckInfo;
import org.eclipse.jgit.transport.PackParser;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.eclipse.jgit.transport.ReceivePack;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BranchesBelowTest {
  private static final String MASTER = "refs/heads/master";
  private static final String STABLE = "refs/heads/stable";

  @AutoClose private FileRepository client;
  @AutoClose private FileRepository server;
  private final Set<String> hidden = new HashSet<>();
  private int seconds = 1_700_000_000;

  @BeforeEach
  void open(@TempDir Path folder) throws IOException {
    client = new FileRepository(folder.resolve("client").toFile());
    client.create(true);
    server = new FileRepository(folder.resolve("server").toFile());
    server.create(true);
  }

  /** The refs with any id; if there are none, those of the server are looked up. */
  private final SortedSet<Ref> names = new TreeSet<>(RefComparator.INSTANCE);

  /** How many of them were read. */
  private final AtomicInteger read = new AtomicInteger();

  /** The server's refs, without those that are hidden, and quick to be found by id. */
  private Repository visible() {
    return new PushAdvertisementTest.Delegating(
        server,
        new DelegateRefDatabase(server) {
          @Override
          @Nullable
          public Ref exactRef(String name) throws IOException {
            Ref ref = super.exactRef(name);
            return ref == null || hidden.contains(ref.getLeaf().getName()) ? null : ref;
          }
        });
  }

  private ObjectId commit(ObjectId... parents) throws IOException {
    try (ObjectInserter objects = client.newObjectInserter()) {
      ObjectId tree = objects.insert(new TreeFormatter());
      ObjectId id = objects.insert(RefObjects.commit(tree, seconds++, parents));
      objects.flush();
      return id;
    }
  }

  /** Sends a commit with all below it that are not below others. */
  private ConnectivityCheckInfo push(String name, ObjectId tip, Set<ObjectId> without)
      throws IOException {
    ByteArrayOutputStream pack = new ByteArrayOutputStream();
    try (PackWriter writer = new PackWriter(client)) {
      writer.preparePack(NullProgressMonitor.INSTANCE, Set.of(tip), without);
      writer.writePack(NullProgressMonitor.INSTANCE, NullProgressMonitor.INSTANCE, pack);
    }
    ConnectivityCheckInfo push = new ConnectivityCheckInfo();
    try (ObjectInserter objects = server.newObjectInserter()) {
      PackParser parser = objects.newPackParser(new ByteArrayInputStream(pack.toByteArray()));
      parser.setAllowThin(true);
      var unused = parser.parse(NullProgressMonitor.INSTANCE);
      push.setParser(parser);
    }
    push.setRepository(visible());
    push.setCommands(List.of(new ReceiveCommand(ObjectId.zeroId(), tip, name)));
    return push;
  }

  private void set(String name, ObjectId id) throws IOException {
    var unused = TestRefs.force(server.getRefDatabase(), name, id);
  }

  private void create(String name, ObjectId id) throws IOException {
    var unused = push(name, id, Set.of());
    set(name, id);
  }

  @Nullable
  private List<Ref> below(ConnectivityCheckInfo push) throws IOException {
    BranchesBelow found = found(push);
    return found == null ? null : found.branches();
  }

  @Nullable
  private BranchesBelow found(ConnectivityCheckInfo push) throws IOException {
    RefDatabase unfiltered =
        new DelegateRefDatabase(server) {
          @Override
          public boolean hasFastTipsWithSha1() {
            return true;
          }

          @Override
          public Set<Ref> getTipsWithSha1(ObjectId id) throws IOException {
            return names.isEmpty() ? super.getTipsWithSha1(id) : new CountedRefs(names, read);
          }
        };
    return BranchesBelow.of(push, unfiltered);
  }

  @Nullable
  private List<String> names(ConnectivityCheckInfo push) throws IOException {
    List<Ref> branches = below(push);
    return branches == null ? null : branches.stream().map(Ref::getName).toList();
  }

  @Test
  void aPushNeedsTheBranchesThatItBuildsOnHoweverManyThereAre() throws Exception {
    ObjectId first = commit();
    ObjectId second = commit(first);
    create(MASTER, second);
    ObjectId stable = commit(first);
    create(STABLE, stable);
    for (int i = 0; i < 50; i++) {
      create("refs/heads/other/" + i, commit(first));
    }
    ObjectId change = commit(commit(second));
    assertThat(names(push("refs/for/master", change, Set.of(second)))).containsExactly(MASTER);
    ObjectId older = commit(first);
    assertThat(names(push("refs/for/master%wip", older, Set.of(first)))).containsExactly(MASTER);
    ObjectId merge = commit(commit(second), stable);
    assertThat(names(push("refs/for/master", merge, Set.of(second, stable))))
        .containsExactly(MASTER, STABLE);
    ObjectId branch = commit(stable);
    assertThat(names(push("refs/heads/new", branch, Set.of(stable))))
        .containsExactly(MASTER, STABLE);
  }

  /** A commit may have been tagged by each build. */
  @Test
  void ofTheRefsOfACommitSomeBranchesAreReadHoweverManyThereAre() throws Exception {
    ObjectId first = commit();
    create(MASTER, first);
    for (String folder : List.of("refs/changes/", "refs/heads/", "refs/tags/")) {
      for (int count : new int[] {26, 26_000}) {
        names.clear();
        for (int i = 0; i < count; i++) {
          names.add(new ObjectIdRef.Unpeeled(Ref.Storage.PACKED, folder + i, first));
        }
        read.set(0);
        assertThat(names(push("refs/for/master", commit(first), Set.of(first))))
            .containsExactly(MASTER);
        assertThat(read.get()).isEqualTo(folder.equals("refs/heads/") ? Math.min(count, 30) : 0);
      }
    }
  }

  /** Another push may bring a commit of this one, and a branch may get it, before Gerrit asks. */
  @Test
  void allBranchesAreNeededOnceAnotherPackIsThere() throws Exception {
    ObjectId first = commit();
    create(MASTER, first);
    ObjectId change = commit(first);
    BranchesBelow found = found(push("refs/for/master", change, Set.of(first)));
    assertThat(found.isCurrent()).isTrue();
    create(STABLE, commit(change));
    assertThat(found.isCurrent()).isFalse();
  }

  /** Of a commit that was there, a branch may have it that nothing else leads to. */
  @Test
  void allBranchesAreNeededForACommitThatWasThereAndIsAtNoTip() throws Exception {
    ObjectId first = commit();
    create(MASTER, first);
    ObjectId sentAgain = commit(first);
    create(STABLE, commit(sentAgain));
    ObjectId change = commit(sentAgain);
    assertThat(names(push("refs/for/master", change, Set.of(first)))).isNull();
    // The same objects again.
    assertThat(names(push("refs/for/master", change, Set.of(first)))).isNull();
    set(STABLE, sentAgain);
    ObjectId another = commit(sentAgain);
    assertThat(names(push("refs/for/master", another, Set.of(first))))
        .containsExactly(MASTER, STABLE);
    hidden.add(STABLE);
    another = commit(sentAgain);
    assertThat(names(push("refs/for/master", another, Set.of(first)))).isNull();
  }

  @Test
  void allBranchesAreNeededIfObjectsMayBeElsewhere() throws Exception {
    ObjectId first = commit();
    create(MASTER, first);
    ObjectId change = commit(first);
    ConnectivityCheckInfo push = push("refs/for/master", change, Set.of(first));
    assertThat(names(push)).containsExactly(MASTER);
    Path info = Files.createDirectories(server.getObjectsDirectory().toPath().resolve("info"));
    Files.writeString(info.resolve("alternates"), client.getObjectsDirectory() + "\n");
    assertThat(names(push)).isNull();
    Files.delete(info.resolve("alternates"));
    // Of a link to itself, no user is told whether it leads to a file.
    Files.createSymbolicLink(info.resolve("alternates"), Path.of("alternates"));
    assertThat(names(push)).isNull();
    Files.delete(info.resolve("alternates"));
    String name = change.name();
    Path loose = server.getObjectsDirectory().toPath().resolve(name.substring(0, 2));
    Files.createDirectories(loose);
    Path object = loose.resolve(name.substring(2));
    Files.createSymbolicLink(object, object.getFileName());
    assertThat(names(push)).isNull();
    Files.delete(object);
    assertThat(names(push)).containsExactly(MASTER);
    Files.copy(
        client
            .getObjectsDirectory()
            .toPath()
            .resolve(name.substring(0, 2) + "/" + name.substring(2)),
        object);
    assertThat(names(push)).isNull();
  }

  /** The commits that Gerrit takes for new ones. */
  private static List<ObjectId> walk(Repository repository, ObjectId tip, Iterable<Ref> branches)
      throws IOException {
    List<ObjectId> commits = new ArrayList<>();
    try (RevWalk walk = new RevWalk(repository)) {
      walk.sort(RevSort.TOPO);
      walk.sort(RevSort.REVERSE, true);
      walk.markStart(walk.parseCommit(tip));
      for (Ref branch : branches) {
        walk.markUninteresting(walk.parseCommit(branch.getObjectId()));
      }
      for (RevCommit commit : walk) {
        commits.add(commit.copy());
      }
    }
    return commits;
  }

  @Test
  void inRandomHistoriesTheFewBranchesLeaveOutTheSameAsAll() throws Exception {
    Random random = new Random(Integer.getInteger("branches.seed", 1));
    List<ObjectId> commits = new ArrayList<>(List.of(commit()));
    create(MASTER, commits.get(0));
    int few = 0;
    int rounds = 150;
    for (int i = 0; i < rounds; i++) {
      ObjectId tip = null;
      for (int more = 1 + random.nextInt(3); more > 0; more--) {
        ObjectId parent = commits.get(Math.max(0, commits.size() - 1 - random.nextInt(12)));
        ObjectId second = commits.get(random.nextInt(commits.size()));
        tip =
            random.nextInt(3) > 0 || second.equals(parent)
                ? commit(parent)
                : commit(parent, second);
        commits.add(tip);
      }
      Set<ObjectId> without = new HashSet<>();
      for (Ref ref : server.getRefDatabase().getRefs()) {
        if (ref.getObjectId() != null && random.nextInt(3) > 0) {
          without.add(ref.getObjectId());
        }
      }
      hidden.clear();
      List<Ref> visible = new ArrayList<>();
      for (Ref branch : server.getRefDatabase().getRefsByPrefix("refs/heads/")) {
        if (random.nextInt(4) == 0) {
          hidden.add(branch.getName());
        } else {
          visible.add(branch);
        }
      }
      String branch = random.nextBoolean() ? MASTER : "refs/heads/b" + random.nextInt(9);
      String name = random.nextBoolean() ? branch : branch.replace("heads", "for");
      ConnectivityCheckInfo push = push(name, tip, without);
      List<Ref> below = below(push);
      if (below != null) {
        few++;
        assertThat(visible.stream().map(Ref::getName).toList())
            .containsAtLeastElementsIn(below.stream().map(Ref::getName).toList());
        assertWithMessage("round %s", i)
            .that(walk(server, tip, below))
            .isEqualTo(walk(server, tip, visible));
      }
      // As if the change was submitted, to some branch.
      set(random.nextInt(3) == 0 ? MASTER : "refs/heads/b" + random.nextInt(9), tip);
    }
    assertThat(few).isGreaterThan(rounds / 5);
    assertThat(few).isLessThan(rounds);
  }

  /** Where many ids cost one scan of the loose refs. */
  @Test
  void theyAreLookedUpInARequest() throws Exception {
    ObjectId first = commit();
    create(MASTER, first);
    ConnectivityCheckInfo push = push("refs/for/master", commit(first), Set.of(first));
    List<Boolean> inRequest = new ArrayList<>();
    DelegateRepository asked =
        new DelegateRepository(server) {
          @Override
          public RefDatabase getRefDatabase() {
            inRequest.add(PerThreadCache.get() != null);
            return super.getRefDatabase();
          }
        };
    DelegateRepository filtering = new PushAdvertisementTest.Delegating(asked);
    push.setRepository(filtering);
    PushAdvertisement advertisement =
        new PushAdvertisement(
            new ReceivePack(filtering),
            PushView.below(filtering),
            name -> true,
            new TransportCounts());
    inRequest.clear();
    new LocalConnectivityChecker((p, ids, monitor) -> {}, new TransportCounts(), advertisement)
        .checkConnectivity(push, Set.of(first), NullProgressMonitor.INSTANCE);
    assertThat(inRequest).isNotEmpty();
    assertThat(inRequest).doesNotContain(false);
  }
}
