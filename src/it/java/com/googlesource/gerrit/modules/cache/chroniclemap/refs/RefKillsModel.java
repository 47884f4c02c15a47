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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefDatabase;

/**
 * What the refs may be after {@link RefKillsMain} was killed, by what it has said until then: each
 * set is wholly of one generation, that which was acknowledged last or one that was begun since.
 */
final class RefKillsModel {
  private static final int FIXED = 2000;
  private static final String HEADER = "# pack-refs with: peeled fully-peeled sorted \n";

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
  private final int[] acknowledged = new int[RefSet.all().size()];

  /** The last one that may have happened too. */
  private final int[] begun = new int[acknowledged.length];

  private int batches;
  private int refused;

  RefKillsModel(Path folder, List<String> repositories) throws IOException {
    this.folder = folder;
    this.repositories = repositories;
    this.values = RefKillsMain.readValues(folder);
  }

  /** Makes the repositories and the file of the values, in a folder where they are checked. */
  static RefKillsModel make(Path folder, List<String> repositories) throws IOException {
    List<ObjectId> values = List.of();
    for (String name : repositories) {
      try (TestRefs refs = TestRefs.create(RefKillsMain.gitFolder(folder, name), null)) {
        refs.repository()
            .getConfig()
            .setBoolean("core", null, "fsyncRefFiles", name.equals("durable"));
        refs.repository().getConfig().save();
        values = List.copyOf(refs.manyCommits(RefKillsMain.VALUES));
        StringBuilder lines = new StringBuilder(HEADER);
        allAtFirst(name, values)
            .forEach((ref, id) -> lines.append(id.name()).append(' ').append(ref).append('\n'));
        Files.writeString(refs.folder().resolve("packed-refs"), lines, UTF_8);
      }
    }
    Files.writeString(
        RefKillsMain.valuesFile(folder),
        values.stream().map(ObjectId::name).collect(Collectors.joining("\n")));
    return new RefKillsModel(folder, repositories);
  }

  private static Map<String, ObjectId> fixed(List<ObjectId> values) {
    Map<String, ObjectId> refs = new TreeMap<>();
    for (int i = 0; i < FIXED; i++) {
      refs.put(String.format(Locale.ROOT, "refs/fixed/%02d/%d", i % 100, i), values.get(0));
    }
    return refs;
  }

  private static Map<String, ObjectId> allAtFirst(String repository, List<ObjectId> values) {
    Map<String, ObjectId> refs = fixed(values);
    for (RefSet set : of(repository)) {
      refs.putAll(set.at(0, values));
    }
    return refs;
  }

  private static List<RefSet> of(String repository) {
    return RefSet.all().stream().filter(set -> set.repository().equals(repository)).toList();
  }

  /** For the next process. */
  String acknowledged() {
    return Arrays.stream(acknowledged).mapToObj(Integer::toString).collect(Collectors.joining(","));
  }

  int batches() {
    return batches;
  }

  int refused() {
    return refused;
  }

  /** Takes what {@link RefKillsMain} has said. */
  void heed(String line) {
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

  /**
   * Takes what was said so much later than a moment that anything in between may be on disk.
   *
   * @param line what was said after that moment
   */
  void heedLater(String line) {
    if (line.startsWith("begin ") && line.endsWith(" .")) {
      List<String> words = Splitter.on(' ').splitToList(line);
      begun[Integer.parseInt(words.get(1))] = Integer.parseInt(words.get(2));
    }
  }

  /** The locks of a repository, and what transactions keep beside. */
  List<Path> left(String repository) throws IOException {
    Path git = RefKillsMain.gitFolder(folder, repository);
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
      try (PackedRefsCache cache =
              new PackedRefsCache(
                  new RefsSettings(64 << 20, 0, Optional.empty()), UpdateSettings.DEFAULT);
          TestRefs test = TestRefs.open(RefKillsMain.gitFolder(folder, name))) {
        RefDatabase refs =
            cache.of(test.repository(), (RefDirectory) test.repository().getRefDatabase());
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
          .that(allowed(set))
          .contains(refs);
      acknowledged[number] += allowed(set).lastIndexOf(refs);
      begun[number] = acknowledged[number];
      rest.keySet().removeAll(refs.keySet());
    }
    assertWithMessage(what).that(rest).isEqualTo(fixed(values));
  }

  /** From the generation that was acknowledged to the one that was begun last. */
  private List<Map<String, ObjectId>> allowed(RefSet set) {
    return IntStream.rangeClosed(acknowledged[set.number()], begun[set.number()])
        .mapToObj(generation -> set.at(generation, values))
        .toList();
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
