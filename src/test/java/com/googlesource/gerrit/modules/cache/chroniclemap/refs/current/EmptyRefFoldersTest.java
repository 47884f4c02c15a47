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

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EmptyRefFoldersTest {
  @TempDir Path folder;
  private Path refs;

  @BeforeEach
  void makeRefs() throws IOException {
    refs = folder(folder.resolve("refs"));
  }

  /** A folder that nobody changed of late; what is put into it later makes it new. */
  private static Path folder(Path path) throws IOException {
    Files.createDirectories(path);
    return age(path);
  }

  private static Path age(Path path) throws IOException {
    return Files.setLastModifiedTime(
        path, FileTime.from(Instant.now().minus(EmptyRefFolders.MIN_AGE).minusSeconds(60)));
  }

  @Test
  void anOldEmptyFolderGoes() throws Exception {
    Path heads = folder(refs.resolve("heads"));
    Path team = folder(heads.resolve("team"));
    EmptyRefFolders.delete(refs.toFile());
    assertThat(Files.exists(team)).isFalse();
    assertThat(Files.isDirectory(heads)).isTrue();
  }

  @Test
  void foldersRightUnderRefsStay() throws Exception {
    Path tags = folder(refs.resolve("tags"));
    Path other = folder(refs.resolve("other"));
    EmptyRefFolders.delete(refs.toFile());
    assertThat(Files.isDirectory(refs)).isTrue();
    assertThat(Files.isDirectory(tags)).isTrue();
    assertThat(Files.isDirectory(other)).isTrue();
  }

  @Test
  void aFolderWithARefStays() throws Exception {
    Path one = folder(refs.resolve("changes/01/1"));
    Path two = folder(refs.resolve("changes/01/2"));
    Path ref = Files.writeString(one.resolve("meta"), "x");
    age(one);
    age(refs.resolve("changes/01"));
    EmptyRefFolders.delete(refs.toFile());
    assertThat(Files.exists(ref)).isTrue();
    assertThat(Files.exists(two)).isFalse();
  }

  /** Whoever has just made it is going to make a ref in it. */
  @Test
  void aNewFolderStays() throws Exception {
    Path fresh = Files.createDirectories(refs.resolve("heads/fresh"));
    EmptyRefFolders.delete(refs.toFile());
    assertThat(Files.isDirectory(fresh)).isTrue();
  }

  /** A folder that loses its last folder is new by that, but nobody else has touched it. */
  @Test
  void nestedFoldersGoAtOnce() throws Exception {
    Path deep = folder(refs.resolve("changes/01/1/a/b"));
    folder(refs.resolve("changes/01/2"));
    Path shard = refs.resolve("changes/01");
    for (Path path = deep; !path.equals(refs); path = path.getParent()) {
      age(path);
    }
    EmptyRefFolders.delete(refs.toFile());
    assertThat(Files.exists(shard)).isFalse();
    assertThat(Files.isDirectory(refs.resolve("changes"))).isTrue();
  }

  @Test
  void aNewFolderAboveStays() throws Exception {
    Path number = folder(refs.resolve("changes/01/1"));
    Path shard = refs.resolve("changes/01");
    Files.setLastModifiedTime(shard, FileTime.from(Instant.now()));
    EmptyRefFolders.delete(refs.toFile());
    assertThat(Files.exists(number)).isFalse();
    assertThat(Files.isDirectory(shard)).isTrue();
  }

  @Test
  void aNewFolderKeepsThoseAboveIt() throws Exception {
    Path old = folder(refs.resolve("changes/01/1"));
    Path fresh = Files.createDirectories(refs.resolve("changes/01/2"));
    age(refs.resolve("changes/01"));
    EmptyRefFolders.delete(refs.toFile());
    assertThat(Files.exists(old)).isFalse();
    assertThat(Files.isDirectory(fresh)).isTrue();
  }

  @Test
  void noFolderIsNoFault() {
    EmptyRefFolders.delete(folder.resolve("none").toFile());
    assertThat(Files.exists(folder.resolve("none"))).isFalse();
  }
}
