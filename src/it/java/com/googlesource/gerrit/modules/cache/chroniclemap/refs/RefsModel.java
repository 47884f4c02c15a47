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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefDatabase;

/**
 * What the refs of some repositories may be, by what {@link RefsWriter}s have said until now: each
 * set is wholly of one generation, that which was acknowledged last or one that was begun since.
 * Beside the sets, each repository has refs that nobody changes.
 */
final class RefsModel {
  static final int FIXED = 2000;
  static final String REFTABLE = "reftable";

  /** A machine that boots again gives its processes the same numbers again. */
  private static final String OWN =
      ProcessHandle.current().pid()
          + "-"
          + ProcessHandle.current().info().startInstant().orElseThrow().toEpochMilli()
          + "-";

  private final Path folder;
  private final List<String> repositories;
  private final List<ObjectId> values;

  /** By number of the set. */
  private final int[] acknowledged;

  /** The last one that may have happened too. */
  private final int[] begun;

  private int done;
  private int refused;

  RefsModel(Path folder, List<String> repositories) throws IOException {
    this.folder = folder;
    this.repositories = repositories;
    this.values =
        Files.readAllLines(folder.resolve("values")).stream().map(ObjectId::fromString).toList();
    acknowledged = new int[RefSet.COUNT * repositories.size()];
    begun = new int[acknowledged.length];
  }

  /**
   * Makes the repositories and the file of the values, in a folder where they are checked.
   *
   * @param repositories {@code durable} for one that syncs, {@value #REFTABLE}, a value of {@code
   *     core.trustStat}, or any other name
   */
  static RefsModel make(Path folder, List<String> repositories) throws IOException {
    Files.createDirectories(folder);
    for (String name : repositories) {
      try (TestRefs refs = create(folder, name)) {
        List<ObjectId> values = refs.manyCommits(RefSet.VALUES);
        Files.write(folder.resolve("values"), values.stream().map(ObjectId::name).toList(), UTF_8);
        Map<String, ObjectId> first = fixed(values);
        RefSet.of(repositories.indexOf(name)).forEach(set -> first.putAll(set.at(0, values)));
        if (refs.isReftable()) {
          assertThat(
                  TestRefs.batch(
                      refs.repository(),
                      refs.repository().getRefDatabase(),
                      TestRefs.commands(Map.of(), first)))
              .isTrue();
        } else {
          Files.write(refs.folder().resolve("packed-refs"), PackedRefsText.of(first));
        }
      }
    }
    return new RefsModel(folder, repositories);
  }

  private static TestRefs create(Path folder, String name) throws IOException {
    Path git = folder.resolve(name + ".git");
    return switch (name) {
      case "always", "after_open", "never" -> TestRefs.create(git, name);
      // JGit takes an old list for the newest one if it trusts its times, and loses others' tables.
      case REFTABLE ->
          TestRefs.createReftable(
              git,
              Map.of(
                  "reftable.autoRefresh",
                  true,
                  "reftable.blockSize",
                  1024,
                  "core.trustTablesListStat",
                  "never"));
      default -> TestRefs.createWith(git, Map.of("core.fsyncRefFiles", name.equals("durable")));
    };
  }

  static String fixedName(int i) {
    return String.format(Locale.ROOT, "refs/fixed/%02d/%d", i % 100, i);
  }

  private static Map<String, ObjectId> fixed(List<ObjectId> values) {
    Map<String, ObjectId> refs = new TreeMap<>();
    for (int i = 0; i < FIXED; i++) {
      refs.put(fixedName(i), values.get(0));
    }
    return refs;
  }

  TestRefs open(String repository) throws IOException {
    return TestRefs.open(folder.resolve(repository + ".git"));
  }

  List<RefSet> sets(String repository) {
    return RefSet.of(repositories.indexOf(repository));
  }

  List<ObjectId> values() {
    return values;
  }

  int done() {
    return done;
  }

  int refused() {
    return refused;
  }

  // ---- what was said

  /**
   * For another process, which is to {@link #heed} it: of each set the generation that was
   * acknowledged last. One more may have happened.
   */
  String acknowledged() {
    return Arrays.stream(acknowledged).mapToObj(Integer::toString).collect(Collectors.joining(","));
  }

  /** Takes what a {@link RefsWriter} has said, with or without the time before it. */
  synchronized void heed(String line) {
    if (line.matches("[\\d,]+")) {
      List<String> generations = Splitter.on(',').splitToList(line);
      for (int set = 0; set < generations.size(); set++) {
        acknowledged[set] = Integer.parseInt(generations.get(set));
        begun[set] = acknowledged[set] + 1;
      }
      return;
    }
    List<String> words = Splitter.on(' ').splitToList(line.replaceFirst("^\\d+ ", ""));
    if (words.size() != 4 || !words.get(3).equals(".")) {
      return; // cut by the kill, or about something else
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
        done++;
      }
      case "failed" -> {
        begun[set] = acknowledged[set];
        refused++;
      }
      default -> throw new AssertionError(line);
    }
  }

  /** Takes what was said so long after a moment that what it tells may be on disk since. */
  void heedLater(String line) {
    if (line.startsWith("begin ") && line.endsWith(" .")) {
      List<String> words = Splitter.on(' ').splitToList(line);
      begun[Integer.parseInt(words.get(1))] = Integer.parseInt(words.get(2));
    }
  }

  // ---- what is there

  /** All refs that start so, as a database says. */
  static Map<String, ObjectId> read(RefDatabase refs, String prefix) throws IOException {
    return TestRefs.ids(refs.getRefsByPrefix(prefix));
  }

  /** Of which generation a set is; empty if it is of none that it may be of. */
  Optional<Integer> generation(RefSet set, Map<String, ObjectId> found) {
    // The later one of two that are alike, such as two without refs.
    return IntStream.rangeClosed(acknowledged[set.number()], begun[set.number()])
        .boxed()
        .filter(generation -> set.at(generation, values).equals(found))
        .reduce((earlier, later) -> later);
  }

  /**
   * Whether a set is of no generation, but each of its refs of one that the set may be of: who does
   * a batch in parts was killed in it.
   */
  boolean isPart(RefSet set, Map<String, ObjectId> found) {
    Map<String, ObjectId> before = set.at(acknowledged[set.number()], values);
    return generation(set, found).isEmpty()
        && IntStream.range(0, set.size())
            .mapToObj(set::name)
            .allMatch(
                name ->
                    Objects.equals(found.get(name), before.get(name))
                        || Objects.equals(found.get(name), begun(set).get(name)));
  }

  /** The refs of the generation that was begun last. */
  Map<String, ObjectId> begun(RefSet set) {
    return set.at(begun[set.number()], values);
  }

  /** What a set is allowed to be, for messages. */
  String told(RefSet set) {
    return String.format(
        Locale.ROOT,
        "of %s generation %d was acknowledged, %d begun",
        set,
        acknowledged[set.number()],
        begun[set.number()]);
  }

  /** The locks of a repository, and what transactions keep beside. */
  List<Path> left(String repository) throws IOException {
    Path git = folder.resolve(repository + ".git");
    try (Stream<Path> files = Files.walk(git)) {
      return files
          .filter(
              file ->
                  file.toString().endsWith(".lock")
                      || (git.relativize(file).toString().startsWith("cache-chroniclemap/")
                          // A process keeps its own file for its next transactions.
                          && !file.getFileName().toString().startsWith(OWN)))
          .toList();
    }
  }

  /** Opens the repositories, as the next process does, and compares all refs. */
  void check(String when) throws Exception {
    for (String name : repositories) {
      String what = name + " " + when;
      try (PackedRefsCache cache = TestRefs.cache(UpdateSettings.DEFAULT);
          TestRefs test = open(name)) {
        RefDatabase refs = test.database(cache);
        assertWithMessage(what).that(left(name)).isEmpty();
        checkGit(what, test, checkSets(what, name, refs));
        assertThat(cache.totals().failures()).isEqualTo(0);
      }
    }
  }

  /** Compares all refs that a database has, and returns them. */
  Map<String, ObjectId> checkSets(String what, String repository, RefDatabase refs)
      throws IOException {
    Map<String, ObjectId> found = read(refs, "refs/");
    Map<String, ObjectId> rest = new TreeMap<>(found);
    for (RefSet set : sets(repository)) {
      Map<String, ObjectId> ofSet = new TreeMap<>(found);
      ofSet.keySet().removeIf(name -> !name.startsWith(set.prefix()));
      Optional<Integer> generation = generation(set, ofSet);
      assertWithMessage("%s: %s, and it is %s", what, told(set), ofSet)
          .that(generation)
          .isPresent();
      acknowledged[set.number()] = generation.get();
      begun[set.number()] = generation.get();
      rest.keySet().removeAll(ofSet.keySet());
    }
    assertWithMessage(what).that(rest).isEqualTo(fixed(values));
    return found;
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
