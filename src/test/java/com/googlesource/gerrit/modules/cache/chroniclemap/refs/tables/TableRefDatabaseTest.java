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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.tables;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.InMemory;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsComparison;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.eclipse.jgit.api.PackRefsCommand;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each answer from mapped reftables is JGit's own, whatever is written, and by whom. */
class TableRefDatabaseTest {
  @TempDir(factory = InMemory.class)
  Path folder;

  private boolean seesOthers = true;

  private final JGitFallbacks failures = new JGitFallbacks();
  @AutoClose private TestRefs refs;
  private RefDatabase ours;
  private RefDatabase peer;

  /** The forms that JGit's settings give to tables. */
  private void create(int blockSize, boolean isAligned, boolean hasObjects, int restarts)
      throws IOException {
    create(
        Map.of(
            "reftable.blockSize", blockSize,
            "reftable.alignBlocks", isAligned,
            "reftable.indexObjects", hasObjects,
            "reftable.restartInterval", restarts,
            "reftable.autoRefresh", seesOthers));
  }

  private void create(Map<String, ?> config) throws IOException {
    refs = TestRefs.createReftable(folder.resolve("r.git"), config);
    ours = refs.tables(failures);
    peer = refs.peerRepository().getRefDatabase();
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void randomSteps(long seed) throws Exception {
    Random random = new Random(seed);
    create(
        256 << random.nextInt(6),
        random.nextBoolean(),
        random.nextBoolean(),
        2 << random.nextInt(5));
    RefsComparison comparison = new RefsComparison(refs, peer);
    for (int step = 0; step < 60; step++) {
      RefDatabase by = random.nextInt(3) == 0 ? peer : ours;
      comparison.compare("seed " + seed + ", step " + step + ": " + change(by, refs, random), ours);
    }
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  private static String change(RefDatabase by, TestRefs refs, Random random) throws IOException {
    String name = anyName(random);
    ObjectId id = (random.nextBoolean() ? refs.commits() : refs.tags()).get(random.nextInt(5));
    RefUpdate update = by.newUpdate(name, random.nextBoolean());
    update.setForceUpdate(true);
    return switch (random.nextInt(6)) {
      case 0 -> "delete " + name + " " + update.delete();
      case 1 -> {
        String target = anyName(random);
        yield target.startsWith("refs/")
            ? "link " + name + " to " + target + " " + update.link(target)
            : "nothing";
      }
      default -> {
        update.setNewObjectId(id);
        yield "update " + name + " " + update.update();
      }
    };
  }

  /**
   * JGit cannot write names into one table whose order by UTF-16 is not that of their bytes, and
   * merges tables by either order.
   */
  static String anyName(Random random) {
    String name;
    do {
      name = RefsComparison.NAMES.get(random.nextInt(RefsComparison.NAMES.size()));
    } while (name.codePoints().anyMatch(Character::isSupplementaryCodePoint));
    return name;
  }

  @ParameterizedTest
  @CsvSource({
    "256, true, true, 4",
    "256, false, true, 16",
    "4096, true, true, 16",
    "4096, false, false, 16",
    "65536, true, true, 64",
    "16777215, true, true, 128",
    "0, true, true, 16",
  })
  void manyRefs(int blockSize, boolean isAligned, boolean hasObjects, int restarts)
      throws Exception {
    Random random = new Random(blockSize);
    create(blockSize, isAligned, hasObjects, restarts);
    List<ObjectId> commits = refs.manyCommits(60);
    TreeMap<String, ObjectId> now = new TreeMap<>();
    for (int round = 0; round < 4; round++) {
      TreeMap<String, ObjectId> next = new TreeMap<>(now);
      for (int i = 0; i < (round == 0 ? 4000 : 30); i++) {
        String name =
            String.format(
                Locale.ROOT, "refs/changes/%02d/%d/%d", i % 100, i, 1 + random.nextInt(3));
        next.put(name, commits.get(random.nextInt(commits.size())));
      }
      next.keySet().removeIf(name -> random.nextInt(50) == 0);
      ReceiveCommand[] commands = TestRefs.commands(now, next);
      assertThat(
              TestRefs.batch(
                  round % 2 == 0 ? refs.repository() : refs.peerRepository(),
                  round % 2 == 0 ? ours : peer,
                  commands))
          .isTrue();
      now = next;
      compareAll(ours, peer, commands, commits);
    }
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  private static void compareAll(
      RefDatabase ours, RefDatabase peer, ReceiveCommand[] commands, List<ObjectId> ids)
      throws IOException {
    assertThat(show(ours.getRefs())).isEqualTo(show(peer.getRefs()));
    for (ReceiveCommand command : commands) {
      String name = command.getRefName();
      for (String each : List.of(name, name + "0", name.substring(0, name.length() - 1))) {
        assertWithMessage(each)
            .that(show(ours.exactRef(each)))
            .isEqualTo(show(peer.exactRef(each)));
      }
    }
    for (int i = 0; i < 100; i++) {
      String prefix = String.format(Locale.ROOT, "refs/changes/%02d/", i);
      assertThat(show(ours.getRefsByPrefix(prefix))).isEqualTo(show(peer.getRefsByPrefix(prefix)));
    }
    for (ObjectId id : ids) {
      assertThat(show(List.copyOf(ours.getTipsWithSha1(id))))
          .containsExactlyElementsIn(show(List.copyOf(peer.getTipsWithSha1(id))));
    }
  }

  private static List<String> show(List<Ref> refs) {
    List<String> shown = new ArrayList<>();
    refs.forEach(ref -> shown.add(show(ref)));
    return shown;
  }

  private static String show(Ref ref) {
    return ref == null ? "none" : ref + " " + ref.getUpdateIndex() + " " + ref.getPeeledObjectId();
  }

  /** JGit says that it has read the newest tables before it tells anybody. */
  @ParameterizedTest
  @ValueSource(strings = {"always", "after_open", "never"})
  void othersChangesAreSeenAtOnceByManyReaders(String trust) throws Exception {
    create(Map.of("reftable.autoRefresh", true, "core.trustTablesListStat", trust));
    Threads.meanwhile(
        3,
        thread -> {
          var unused = ours.exactRef("refs/heads/a");
        },
        () -> {
          for (int i = 0; i < 400; i++) {
            set(peer, "refs/heads/a", refs.commits().get(i % 5));
            assertWithMessage("change " + i)
                .that(ours.exactRef("refs/heads/a").getObjectId())
                .isEqualTo(refs.commits().get(i % 5));
          }
        });
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  /** JGit's default, under which it may not see what others write, but its own writes at once. */
  @Test
  void withoutAutoRefresh() throws Exception {
    seesOthers = false;
    create(4096, true, true, 16);
    for (int i = 0; i < 40; i++) {
      String name = "refs/heads/b" + i % 9;
      set(ours, name, refs.commits().get(i % 5));
      assertThat(ours.exactRef(name).getObjectId()).isEqualTo(refs.commits().get(i % 5));
      assertThat(ours.getRefsByPrefix("refs/heads/")).hasSize(Math.min(i + 1, 9));
    }
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  /** Or an update would be refused again and again, as JGit compares it with an older value. */
  @Test
  void whatIsSeenOfOthersIsWhatJGitUpdates() throws Exception {
    seesOthers = false;
    create(4096, true, true, 16);
    set(ours, "refs/heads/a", refs.commits().get(0));
    assertThat(ours.exactRef("refs/heads/a")).isNotNull();
    peer.refresh();
    set(peer, "refs/heads/b", refs.commits().get(0));
    set(peer, "refs/heads/a", refs.commits().get(1));
    ours.packRefs(NullProgressMonitor.INSTANCE, new PackRefsCommand(refs.repository()));
    ObjectId seen = ours.exactRef("refs/heads/a").getObjectId();
    assertThat(seen).isEqualTo(refs.commits().get(1));
    ReceiveCommand command = new ReceiveCommand(seen, refs.commits().get(2), "refs/heads/a");
    assertThat(TestRefs.batch(refs.repository(), ours, command)).isTrue();
    assertThat(ours.exactRef("refs/heads/a").getObjectId()).isEqualTo(refs.commits().get(2));
  }

  private static void set(RefDatabase by, String name, ObjectId id) throws IOException {
    RefUpdate update = by.newUpdate(name, false);
    update.setNewObjectId(id);
    update.setForceUpdate(true);
    assertThat(update.update())
        .isAnyOf(RefUpdate.Result.NEW, RefUpdate.Result.FORCED, RefUpdate.Result.NO_CHANGE);
  }

  @Test
  void anEmptyRepository() throws Exception {
    create(4096, true, true, 16);
    new RefsComparison(refs, peer).compare("nothing", ours);
  }
}
