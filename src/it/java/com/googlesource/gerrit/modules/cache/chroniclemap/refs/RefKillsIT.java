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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Splitter;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefKillsMain.RefSet;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefDatabase;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A process that changes refs in all ways there are is killed again and again: while it works, and
 * while it does what the one before left. Afterwards each set of refs is wholly of one generation,
 * that which was acknowledged last or the one that was begun; no lock and no file of a transaction
 * is left; and native git sees the same.
 *
 * <p>More kills: {@code -Drefs.kills=500}.
 */
@Timeout(3600)
class RefKillsIT {
  private static final int KILLS = Integer.getInteger("refs.kills", 5);

  /** From here on some of the kills must have left something to finish. */
  private static final int MANY_KILLS = 20;

  private static final int SHORT_MILLIS = 100;
  private static final int MAX_BUSY_MILLIS = 1000;
  private static final int MAX_OPENING_MILLIS = 150;
  private static final int FIXED = 2000;

  private static final String HEADER = "# pack-refs with: peeled fully-peeled sorted \n";

  @TempDir Path temp;

  private final Random random = new Random(Long.getLong("refs.seed", 1));
  private final List<RefSet> sets = RefSet.all();

  /** By number of the set. */
  private final int[] acknowledged = new int[sets.size()];

  /** The one that may have happened too. */
  private final int[] begun = new int[sets.size()];

  private List<ObjectId> values;

  // Figures.
  private int checks;
  private int batches;
  private int refused;
  private int undecided;
  private int decided;

  @Test
  void eachKillLeavesAllOrNothing() throws Exception {
    makeRepositories();
    for (int kill = 0; kill < KILLS; kill++) {
      // Sometimes the next process does what the one before left, and is killed in its turn.
      boolean whileOpening = kill > 0 && random.nextInt(4) == 0;
      runAndKill(whileOpening);
      countLeft();
      if (kill == KILLS - 1 || random.nextInt(3) > 0) {
        check("after kill " + (kill + 1));
      }
    }
    System.out.printf(
        "RefKillsIT: kills=%d checks=%d transactions=%d refused=%d killedUndecided=%d"
            + " killedDecided=%d%n",
        KILLS, checks, batches, refused, undecided, decided);
    assertThat(batches).isGreaterThan(0);
    assertThat(undecided).isGreaterThan(0);
    if (KILLS >= MANY_KILLS) {
      assertThat(decided).isGreaterThan(0);
    }
  }

  private void makeRepositories() throws IOException {
    for (String name : RefKillsMain.REPOSITORIES) {
      try (TestRefs refs = TestRefs.create(RefKillsMain.gitFolder(temp, name), null)) {
        refs.repository()
            .getConfig()
            .setBoolean("core", null, "fsyncRefFiles", name.equals("durable"));
        refs.repository().getConfig().save();
        values = List.copyOf(refs.manyCommits(RefKillsMain.VALUES));
        StringBuilder lines = new StringBuilder(HEADER);
        allAtFirst(name)
            .forEach((ref, id) -> lines.append(id.name()).append(' ').append(ref).append('\n'));
        Files.writeString(refs.folder().resolve("packed-refs"), lines, UTF_8);
      }
    }
    Files.writeString(
        RefKillsMain.valuesFile(temp),
        values.stream().map(ObjectId::name).collect(Collectors.joining("\n")));
  }

  private Map<String, ObjectId> fixed() {
    Map<String, ObjectId> refs = new TreeMap<>();
    for (int i = 0; i < FIXED; i++) {
      refs.put("refs/fixed/%02d/%d".formatted(i % 100, i), values.get(0));
    }
    return refs;
  }

  private Map<String, ObjectId> allAtFirst(String repository) {
    Map<String, ObjectId> refs = fixed();
    for (RefSet set : of(repository)) {
      refs.putAll(set.at(0, values));
    }
    return refs;
  }

  private List<RefSet> of(String repository) {
    return sets.stream().filter(set -> set.repository().equals(repository)).toList();
  }

  // ---- kills

  private void runAndKill(boolean whileOpening) throws Exception {
    try (ChildJvm child =
        ChildJvm.start(
            temp,
            RefKillsMain.class,
            temp,
            random.nextLong(),
            Arrays.stream(acknowledged)
                .mapToObj(Integer::toString)
                .collect(Collectors.joining(",")))) {
      assertWithMessage("said, with errors %s", errors(child))
          .that(child.readLine())
          .isEqualTo("ready .");
      String line = null;
      if (!whileOpening) {
        line = readUntilWritersRun(child);
      }
      long end =
          System.nanoTime()
              + TimeUnit.MILLISECONDS.toNanos(
                  random.nextInt(whileOpening ? MAX_OPENING_MILLIS : busyMillis()));
      if (whileOpening) {
        // Not for anything to happen: this is how long it has.
        TimeUnit.NANOSECONDS.sleep(end - System.nanoTime());
      }
      while (line != null && System.nanoTime() < end) {
        heed(line);
        line = child.readLine();
      }
      child.kill();
      for (; line != null; line = child.readLine()) {
        heed(line);
      }
      for (line = child.readLine(); line != null; line = child.readLine()) {
        heed(line);
      }
      assertWithMessage("errors of the child: %s", child.errors())
          .that(child.saidError())
          .isFalse();
    }
  }

  private int busyMillis() {
    return random.nextBoolean() ? SHORT_MILLIS : MAX_BUSY_MILLIS;
  }

  private String readUntilWritersRun(ChildJvm child) throws IOException {
    String line = child.readLine();
    while (line != null && line.startsWith("found ")) {
      heed(line);
      line = child.readLine();
    }
    assertWithMessage("said, with errors %s", errors(child)).that(line).isNotNull();
    return line;
  }

  private static Object errors(ChildJvm child) {
    return new Object() {
      @Override
      public String toString() {
        try {
          return child.errors();
        } catch (IOException e) {
          return e.toString();
        }
      }
    };
  }

  private void heed(String line) {
    List<String> words = Splitter.on(' ').splitToList(line);
    if (words.size() != 4 || !words.get(3).equals(".")) {
      return; // cut by the kill
    }
    int set = Integer.parseInt(words.get(1));
    int generation = Integer.parseInt(words.get(2));
    switch (words.get(0)) {
      case "found" -> {
        assertWithMessage("found of set %s", set)
            .that(generation)
            .isAnyOf(acknowledged[set], begun[set]);
        acknowledged[set] = generation;
        begun[set] = generation;
      }
      case "begin" -> {
        assertThat(generation).isEqualTo(acknowledged[set] + 1);
        begun[set] = generation;
      }
      case "done" -> {
        acknowledged[set] = generation;
        batches++;
      }
      case "failed" -> {
        begun[set] = acknowledged[set];
        refused++;
      }
      default -> throw new AssertionError(line);
    }
  }

  /** Counts transactions that the kill has cut. */
  private void countLeft() throws IOException {
    for (String name : RefKillsMain.REPOSITORIES) {
      for (Path file : left(name)) {
        String kind = file.toString().replaceFirst(".*\\.", "");
        if (kind.equals("transaction")) {
          undecided++;
        } else if (kind.equals("decided") || kind.equals("durable")) {
          decided++;
        }
      }
    }
  }

  /** Locks, and what transactions keep beside. */
  private List<Path> left(String repository) throws IOException {
    Path git = RefKillsMain.gitFolder(temp, repository);
    try (Stream<Path> files = Files.walk(git)) {
      return files
          .filter(
              file ->
                  file.toString().endsWith(".lock")
                      || (git.relativize(file).toString().startsWith("cache-chroniclemap/")
                          // A process keeps its own file for its next transactions.
                          && !file.getFileName()
                              .toString()
                              .startsWith(ProcessHandle.current().pid() + "-")))
          .toList();
    }
  }

  // ---- checks

  private void check(String when) throws Exception {
    checks++;
    for (String name : RefKillsMain.REPOSITORIES) {
      String what = name + " " + when;
      try (PackedRefsCache cache =
              new PackedRefsCache(new RefsSettings(64 << 20, 0, Optional.empty()));
          TestRefs test = TestRefs.open(RefKillsMain.gitFolder(temp, name))) {
        RefDatabase refs =
            cache
                .of(test.repository(), (RefDirectory) test.repository().getRefDatabase())
                .current();
        assertWithMessage(what).that(left(name)).isEmpty();
        Map<String, ObjectId> found = RefKillsMain.read(refs, "refs/");
        checkSets(what, name, found);
        checkGit(what, test, found);
        assertThat(cache.totals().failures()).isEqualTo(0);
      }
    }
  }

  private void checkSets(String what, String repository, Map<String, ObjectId> found) {
    Map<String, ObjectId> rest = new TreeMap<>(found);
    for (RefSet set : of(repository)) {
      Map<String, ObjectId> refs = new TreeMap<>();
      found.forEach(
          (ref, id) -> {
            if (ref.startsWith(set.prefix())) {
              refs.put(ref, id);
            }
          });
      int number = set.number();
      assertWithMessage(
              "%s: generation %s of %s was acknowledged, %s begun",
              what, acknowledged[number], set, begun[number])
          .that(refs)
          .isAnyOf(set.at(acknowledged[number], values), set.at(begun[number], values));
      if (refs.equals(set.at(begun[number], values))) {
        acknowledged[number] = begun[number];
      }
      begun[number] = acknowledged[number];
      rest.keySet().removeAll(refs.keySet());
    }
    assertWithMessage(what).that(rest).isEqualTo(fixed());
  }

  private static void checkGit(String what, TestRefs test, Map<String, ObjectId> found)
      throws Exception {
    TestRefs.Output fsck = test.tryGit("fsck", "--no-dangling");
    assertWithMessage("%s: git fsck: %s", what, fsck.text()).that(fsck.status()).isEqualTo(0);
    TestRefs.Output git = test.tryGit("for-each-ref", "--format=%(refname) %(objectname)");
    assertWithMessage("%s: %s", what, git.text()).that(git.status()).isEqualTo(0);
    List<String> ours = new ArrayList<>();
    found.forEach((ref, id) -> ours.add(ref + " " + id.name()));
    assertWithMessage(what).that(git.text().lines().toList()).isEqualTo(ours);
  }
}
