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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.current;

import static com.google.common.truth.Truth.assertThat;

import com.google.common.base.Splitter;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Folders of refs that are empty, and have been for a while, are deleted. */
class EmptyRefFoldersTest {
  @TempDir Path folder;

  /**
   * Folders, of which those with a + are new: whoever has just made one is going to make a ref in
   * it. A file's name ends with a dot.
   */
  @ParameterizedTest
  @CsvSource({
    // An old one goes, but those right under refs/ stay.
    "refs/heads/team refs/tags refs/other, refs refs/heads refs/tags refs/other",
    // One with a ref stays.
    "refs/changes/01/1/meta. refs/changes/01/2, "
        + "refs refs/changes refs/changes/01 refs/changes/01/1 refs/changes/01/1/meta.",
    "refs/heads/fresh+, refs refs/heads refs/heads/fresh",
    // One that loses its last folder is new by that, but nobody else has touched it.
    "refs/changes/01/1/a/b refs/changes/01/2, refs refs/changes",
    // A new one stays, above an old one as well, and keeps those above it.
    "refs/changes/01/1 refs/changes/01+, refs refs/changes refs/changes/01",
    "refs/changes/01/1 refs/changes/01/2+, "
        + "refs refs/changes refs/changes/01 refs/changes/01/2",
  })
  void whatIsOldAndEmptyGoes(String before, String after) throws Exception {
    List<String> names = Splitter.on(' ').splitToList(before);
    for (String name : names) {
      Path path = folder.resolve(name.replace("+", ""));
      Files.createDirectories(name.endsWith(".") ? path.getParent() : path);
      if (name.endsWith(".")) {
        Files.createFile(path);
      }
    }
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path path : all.filter(Files::isDirectory).toList()) {
        if (!names.contains(folder.relativize(path) + "+")) {
          Files.setLastModifiedTime(
              path, FileTime.from(Instant.now().minus(EmptyRefFolders.MIN_AGE).minusSeconds(60)));
        }
      }
    }
    EmptyRefFolders.delete(folder.resolve("refs").toFile());
    assertThat(left()).containsExactlyElementsIn(Splitter.on(' ').split(after));
  }

  private List<String> left() throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.skip(1).map(path -> folder.relativize(path).toString()).toList();
    }
  }

  /** Somebody makes the ref just when one below it was deleted. */
  @Test
  void aRefInThePlaceOfTheFolderStays() throws Exception {
    Path ref = Files.createFile(Files.createDirectories(folder.resolve("refs/heads")).resolve("a"));
    EmptyRefFolders.deleteAbove(Map.of("refs/heads/a/b", ref.resolve("b").toFile()));
    assertThat(Files.exists(ref)).isTrue();
  }

  /** Also if a folder sorts between another one and what is in that. */
  @Test
  void allThatIsEmptyAboveSomeFilesGoes() throws Exception {
    Map<String, File> files = new TreeMap<>();
    for (String name : List.of("a/b/c/1", "a/b/2", "a-b/3", "a/d/4", "e/f/5", "6")) {
      Path file = folder.resolve("refs/heads").resolve(name);
      Files.createDirectories(file.getParent());
      files.put("refs/heads/" + name, file.toFile());
    }
    Files.createFile(folder.resolve("refs/heads/e/7"));
    EmptyRefFolders.deleteAbove(files);
    assertThat(left()).containsExactly("refs", "refs/heads", "refs/heads/e", "refs/heads/e/7");
  }

  @Test
  void noFolderIsNoFault() throws Exception {
    EmptyRefFolders.delete(folder.resolve("none").toFile());
    EmptyRefFolders.deleteAbove(Map.of("none/a/b/c/d", folder.resolve("none/a/b/c/d").toFile()));
    // Somebody deletes empty folders of a tree just when this process does, to make a ref there.
    assertThat(EmptyRefFolders.deleteTree(folder.resolve("none/with/above"))).isTrue();
    assertThat(Files.exists(folder.resolve("none"))).isFalse();
  }
}
