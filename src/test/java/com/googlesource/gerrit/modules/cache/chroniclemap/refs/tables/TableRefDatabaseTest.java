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

import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.InMemory;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each answer from mapped reftables is JGit's own, however many there are, and whoever writes. */
class TableRefDatabaseTest {
  @TempDir(factory = InMemory.class)
  Path folder;

  private final JGitFallbacks failures = new JGitFallbacks();
  @AutoClose private TestRefs refs;
  private RefDatabase ours;
  private RefDatabase peer;

  /** The forms that JGit's and git's settings give to tables. */
  private void create(int blockSize, boolean isAligned, boolean hasObjects, int restarts)
      throws IOException {
    create(
        Map.of(
            "reftable.blockSize", blockSize,
            "reftable.alignBlocks", isAligned,
            "reftable.indexObjects", hasObjects,
            "reftable.restartInterval", restarts,
            "reftable.autoRefresh", true));
  }

  private void create(Map<String, ?> config) throws IOException {
    refs = TestRefs.createReftable(folder.resolve("r.git"), config);
    ours = refs.tables(failures);
    peer = refs.peerRepository().getRefDatabase();
  }

  @AfterEach
  void nothingFailed() {
    assertThat(failures.count.sum()).isEqualTo(0);
  }

  /** JGit misses some of git's, as it takes the first block of an index for the only one. */
  @ParameterizedTest
  @CsvSource({
    "JGit, 256, true, true, 4, 4000",
    "JGit, 256, false, true, 16, 4000",
    "JGit, 4096, true, true, 16, 4000",
    "JGit, 4096, false, false, 16, 4000",
    "JGit, 16777215, true, true, 128, 4000",
    "JGit, 0, true, true, 16, 4000",
    "git, 4096, true, true, 16, 500",
    "git, 4096, true, true, 16, 12000",
    "git, 4096, true, false, 4, 30000",
    "git, 256, true, true, 16, 5000",
    "git, 16777215, true, true, 128, 4000",
  })
  void manyRefs(
      String by, int blockSize, boolean isAligned, boolean hasObjects, int restarts, int count)
      throws Exception {
    Random random = new Random(count + blockSize);
    create(blockSize, isAligned, hasObjects, restarts);
    List<ObjectId> commits = refs.manyCommits(60);
    TreeMap<String, ObjectId> now = new TreeMap<>();
    for (int round = 0; round < 4; round++) {
      TreeMap<String, ObjectId> next = new TreeMap<>(now);
      for (int i = 0; i < (round == 0 ? count : 60); i++) {
        String name =
            String.format(
                Locale.ROOT, "refs/changes/%02d/%d/%d", i % 100, i, 1 + random.nextInt(3));
        if (by.equals("git")) {
          // Names, too, whose order by bytes is not that by UTF-16.
          name += i % 97 == 0 ? "\ud83d\ude00" : i % 89 == 0 ? "\uff5e" : "";
        }
        next.put(name, commits.get(random.nextInt(commits.size())));
      }
      next.keySet().removeIf(name -> random.nextInt(50) == 0);
      ReceiveCommand[] commands = TestRefs.commands(now, next);
      if (by.equals("git")) {
        git(commands);
      } else if (round % 2 == 0) {
        assertThat(TestRefs.batch(refs.repository(), ours, commands)).isTrue();
      } else {
        peer.refresh();
        assertThat(TestRefs.batch(refs.peerRepository(), peer, commands)).isTrue();
      }
      now = next;
      check(now, commits);
    }
    refs.git("pack-refs", "--all");
    check(now, commits);
    assertThat(refs.refsOfGit()).isEqualTo(TestRefs.values(ours));
  }

  private void git(ReceiveCommand... commands) throws Exception {
    StringBuilder input = new StringBuilder();
    for (ReceiveCommand command : commands) {
      input.append("update " + command.getRefName() + " " + command.getNewId().name() + "\n");
    }
    refs.gitWith(input.toString(), "update-ref", "--stdin");
  }

  private void check(Map<String, ObjectId> expected, List<ObjectId> ids) throws IOException {
    assertThat(TestRefs.ids(ours.getRefsByPrefix("refs/"))).isEqualTo(expected);
    Map<String, Map<String, ObjectId>> byPrefix = new HashMap<>();
    Map<ObjectId, Map<String, ObjectId>> byId = new HashMap<>();
    ids.forEach(id -> byId.put(id, new TreeMap<>()));
    for (Map.Entry<String, ObjectId> ref : expected.entrySet()) {
      String name = ref.getKey();
      assertWithMessage(name).that(ours.exactRef(name)).isNotNull();
      assertThat(ours.exactRef(name).getObjectId()).isEqualTo(ref.getValue());
      for (String absent : List.of(name + "0", name.substring(0, name.length() - 1))) {
        assertThat(ours.exactRef(absent) != null).isEqualTo(expected.containsKey(absent));
      }
      String prefix = name.substring(0, "refs/changes/00/".length());
      byPrefix.computeIfAbsent(prefix, unused -> new TreeMap<>()).put(name, ref.getValue());
      byId.get(ref.getValue()).put(name, ref.getValue());
    }
    for (Map.Entry<String, Map<String, ObjectId>> prefix : byPrefix.entrySet()) {
      assertThat(TestRefs.ids(ours.getRefsByPrefix(prefix.getKey()))).isEqualTo(prefix.getValue());
    }
    for (ObjectId id : ids) {
      assertThat(TestRefs.ids(ours.getTipsWithSha1(id))).isEqualTo(byId.get(id));
    }
    assertThat(ours.getTipsWithSha1(ObjectId.zeroId())).isEmpty();
  }

  /** A table of reflogs alone, as {@code git gc} writes it. */
  @Test
  void aTableWithoutRefsIsReadPast() throws Exception {
    create(256, true, true, 16);
    refs.git("config", "core.logAllRefUpdates", "always");
    git(
        IntStream.range(0, 200)
            .mapToObj(i -> refs.command("refs/heads/" + i, null, 0))
            .toArray(ReceiveCommand[]::new));
    refs.git("pack-refs", "--all");
    refs.git("reflog", "expire", "--expire=now", "--all");
    Path tables = refs.folder().resolve("reftable");
    byte[] last =
        Files.readAllBytes(
            tables.resolve(Files.readAllLines(tables.resolve("tables.list")).getLast()));
    int headerBytes = 24;
    assertThat(last[headerBytes]).isEqualTo((byte) 'g');
    assertThat(TestRefs.values(ours)).isEqualTo(refs.refsOfGit());
    assertThat(ours.exactRef("HEAD")).isNull();
    assertThat(ours.exactRef("refs/heads/7").getObjectId()).isEqualTo(refs.id(0));
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
            set(peer, "refs/heads/a", refs.id(i % 5));
            assertWithMessage("change " + i)
                .that(ours.exactRef("refs/heads/a").getObjectId())
                .isEqualTo(refs.id(i % 5));
          }
        });
  }

  /** JGit's default, under which it may not see what others write, but its own writes at once. */
  @Test
  void withoutAutoRefresh() throws Exception {
    create(Map.of());
    for (int i = 0; i < 40; i++) {
      String name = "refs/heads/b" + i % 9;
      set(ours, name, refs.id(i % 5));
      assertThat(ours.exactRef(name).getObjectId()).isEqualTo(refs.id(i % 5));
      assertThat(ours.getRefsByPrefix("refs/heads/")).hasSize(Math.min(i + 1, 9));
    }
  }

  /** Or an update would be refused again and again, as JGit compares it with an older value. */
  @Test
  void whatIsSeenOfOthersIsWhatJGitUpdates() throws Exception {
    create(Map.of());
    set(ours, "refs/heads/a", refs.id(0));
    assertThat(ours.exactRef("refs/heads/a")).isNotNull();
    peer.refresh();
    set(peer, "refs/heads/b", refs.id(0));
    set(peer, "refs/heads/a", refs.id(1));
    refs.pack(ours);
    ObjectId seen = ours.exactRef("refs/heads/a").getObjectId();
    assertThat(seen).isEqualTo(refs.id(1));
    ReceiveCommand command = new ReceiveCommand(seen, refs.id(2), "refs/heads/a");
    assertThat(TestRefs.batch(refs.repository(), ours, command)).isTrue();
    assertThat(ours.exactRef("refs/heads/a").getObjectId()).isEqualTo(refs.id(2));
  }

  private static void set(RefDatabase by, String name, ObjectId id) throws IOException {
    assertThat(TestRefs.force(by, name, id))
        .isAnyOf(RefUpdate.Result.NEW, RefUpdate.Result.FORCED, RefUpdate.Result.NO_CHANGE);
  }
}
