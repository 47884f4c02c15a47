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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.EmptyRefFolders;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedRefsText;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RepositoryFiles;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.Transactions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NameConflictsTest {
  private static final ObjectId ONE = ObjectId.fromString("1".repeat(40));

  @TempDir Path folder;
  @AutoClose private TestRefs refs;
  private RepositoryFiles own;

  @BeforeEach
  void create() throws IOException {
    refs = TestRefs.create(folder.resolve("r.git"), null);
    FileRepository repository = refs.peerRepository();
    own =
        new RepositoryFiles(
            repository,
            (RefDirectory) repository.getRefDatabase(),
            refs.packedRefs(),
            new Transactions(),
            count -> {});
  }

  private void pack(Set<String> names) throws IOException {
    Map<String, ObjectId> refs = new LinkedHashMap<>();
    names.forEach(name -> refs.put(name, ONE));
    Path file = folder.resolve("r.git/packed-refs");
    Files.deleteIfExists(file);
    Files.write(file, PackedRefsText.of(refs));
    own.packedFile.refresh();
  }

  private static ReceiveCommand make(String name) {
    return new ReceiveCommand(ObjectId.zeroId(), ONE, name);
  }

  private static ReceiveCommand delete(String name) {
    return new ReceiveCommand(ONE, ObjectId.zeroId(), name);
  }

  private static boolean isAbove(String folder, String name) {
    return name.startsWith(folder + '/');
  }

  /** Returns the name that is refused, or null. */
  @Nullable
  private static String refused(RefReader.Step check) throws IOException {
    try {
      check.run();
      return null;
    } catch (RefusedException e) {
      return e.name;
    }
  }

  /** As a transaction does that creates all refs. */
  private void check(NameConflicts conflicts, List<ReceiveCommand> commands) throws IOException {
    conflicts.checkBeforeLocks();
    conflicts.checkPacked(
        own.lockedReader.packed(),
        commands.stream()
            .filter(command -> !NameConflicts.deletes(command))
            .map(ReceiveCommand::getRefName)
            .toList());
  }

  private String refused(List<ReceiveCommand> commands) throws IOException {
    return refused(() -> check(new NameConflicts(own, commands), commands));
  }

  private static String name(Random random) {
    StringBuilder name = new StringBuilder("refs/heads");
    for (int i = 1 + random.nextInt(5); i > 0; i--) {
      // A name with a sign that precedes the slash may be between a folder and what is in it.
      name.append('/').append(List.of("a", "b", "a-b", "a0").get(random.nextInt(4)));
    }
    return name.toString();
  }

  /** Names without conflicts among them. */
  private static Set<String> names(Random random, int most) {
    Set<String> names = new TreeSet<>();
    for (int i = random.nextInt(most); i > 0; i--) {
      String name = name(random);
      if (names.stream().noneMatch(other -> isAbove(other, name) || isAbove(name, other))) {
        names.add(name);
      }
    }
    return names;
  }

  @Test
  void theVerdictIsThatOfEachPairOfNames() throws Exception {
    Random random = new Random(7);
    int bad = 0;
    for (int round = 0; round < 1000; round++) {
      Set<String> there = names(random, 12);
      boolean areLoose = round % 5 == 0;
      List<ReceiveCommand> commands = new ArrayList<>();
      Set<String> named = new TreeSet<>();
      for (int i = 1 + random.nextInt(6); i > 0; i--) {
        String name = name(random);
        if (named.add(name)) {
          commands.add(random.nextInt(3) == 0 ? delete(name) : make(name));
        }
      }
      List<String> made = new ArrayList<>();
      Set<String> left = new TreeSet<>(there);
      for (ReceiveCommand command : commands) {
        if (NameConflicts.deletes(command)) {
          left.remove(command.getRefName());
        } else {
          made.add(command.getRefName());
        }
      }
      String expected = null;
      boolean isRefused = false;
      boolean areNested = false;
      for (ReceiveCommand command : commands) {
        String name = command.getRefName();
        boolean isBad = made.stream().anyMatch(other -> isAbove(other, name));
        isRefused |= isBad; // there is no such ref to be deleted if the next is so
        isBad |= left.stream().anyMatch(other -> isAbove(other, name));
        if (!NameConflicts.deletes(command)) {
          isBad |= made.stream().anyMatch(other -> isAbove(name, other));
          isBad |= left.stream().anyMatch(other -> isAbove(name, other));
          isRefused |= isBad;
        }
        areNested |=
            NameConflicts.deletes(command)
                && named.stream().anyMatch(other -> isAbove(name, other));
        expected = expected == null && isBad ? name : expected;
      }
      List<Path> files = new ArrayList<>();
      if (areLoose) {
        for (String name : there) {
          Path file = folder.resolve("r.git").resolve(name);
          Files.createDirectories(file.getParent());
          files.add(Files.writeString(file, ONE.name() + "\n"));
        }
      }
      pack(areLoose ? Set.of() : there);
      NameConflicts conflicts = new NameConflicts(own, commands);
      assertWithMessage("%s %s", there, commands)
          .that(conflicts.refusedByJGit())
          .isEqualTo(expected);
      if (!areLoose) {
        assertWithMessage("%s %s", there, commands)
            .that(refused(() -> check(conflicts, commands)) != null)
            .isEqualTo(isRefused);
      }
      assertThat(conflicts.areNested()).isEqualTo(areNested);
      bad += expected == null ? 0 : 1;
      for (Path file : files) {
        Files.delete(file);
      }
      for (String name : areLoose ? there : Set.<String>of()) {
        EmptyRefFolders.deleteAbove(Map.of(name, own.paths.loose(name)));
      }
    }
    assertThat(bad).isGreaterThan(100);
    assertThat(bad).isLessThan(900);
  }

  /** All of them at once would take more than the heap of the tests, which is 1 GB. */
  @Test
  void theFoldersOfOneNameAtATimeAreHeld() throws Exception {
    List<ReceiveCommand> commands = new ArrayList<>();
    for (int i = 0; i < 330; i++) {
      commands.add(make(String.format(Locale.ROOT, "refs/heads/%03d", i) + "/x".repeat(1900)));
    }
    for (String name : List.of("refs/heads/other", "refs/heads/099/x/x/x/y")) {
      pack(Set.of(name));
      assertThat(refused(commands)).isNull();
    }
    NameConflicts conflicts = new NameConflicts(own, commands);
    assertThat(conflicts.areNested()).isFalse();
    Set<String> names =
        commands.stream().map(ReceiveCommand::getRefName).collect(Collectors.toSet());
    assertThat(refused(() -> conflicts.checkFiles(names))).isNull();
    pack(Set.of("refs/heads/329/x"));
    assertThat(refused(commands)).isEqualTo(commands.get(329).getRefName());
  }

  /** Such as by JGit and git, which do not always see each other. */
  @ParameterizedTest
  @ValueSource(strings = {"refs/heads/a/c", "refs/heads/a/b/c", "refs/heads/a", "refs/heads/z/z"})
  void conflictsAmongPackedRefsHideNone(String name) throws Exception {
    pack(new TreeSet<>(Set.of("refs/heads/a", "refs/heads/a-b", "refs/heads/a/b", "refs/heads/z")));
    assertThat(refused(List.of(make(name)))).isEqualTo(name);
  }

  @Test
  void deletionsHideNoConflictAmongPackedRefs() throws Exception {
    pack(new TreeSet<>(Set.of("refs/heads/a", "refs/heads/a/b", "refs/heads/a/c")));
    assertThat(
            refused(
                List.of(
                    delete("refs/heads/a"), delete("refs/heads/a/b"), make("refs/heads/a/c/d"))))
        .isEqualTo("refs/heads/a/c/d");
  }
}
