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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.NfsRevalidation;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListMemory;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Lists;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefDatabase;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Packing under {@code core.trustStat = always} on a client of NFS, which does not see what another
 * machine has just done in a folder until it opens the folder.
 */
class PackingBesideAnotherMachineTest {
  private static final String NAME = "refs/heads/a";

  @TempDir Path folder;
  @AutoClose private TestRefs refs;
  private ObjectId id;

  @BeforeEach
  void create() throws IOException {
    refs = TestRefs.create(folder.resolve("r.git"), "always");
    id = refs.commits().get(0);
    Files.writeString(file(NAME), id.name() + "\n");
  }

  private Path file(String name) {
    return refs.folder().resolve(name);
  }

  /** Packs all refs. What the other machine has done is seen when a folder is opened. */
  private RefDatabase pack(NfsRevalidation otherMachine) throws IOException {
    PackedRefsFile packed =
        new PackedRefsFile(
            file("packed-refs").toFile(),
            Lists.tiers(new ListMemory(1 << 30)),
            used -> {},
            otherMachine);
    RefDatabase database = refs.database(packed, new RefDisk(), UpdateSettings.DEFAULT);
    refs.pack(database);
    return database;
  }

  private String packed() throws IOException {
    return Files.exists(file("packed-refs")) ? Files.readString(file("packed-refs")) : "";
  }

  @Test
  void seesALockBeforeItPacks() throws Exception {
    RefDatabase unused =
        pack(
            opened -> {
              if (opened.equals(file("refs/heads")) && Files.exists(file("packed-refs.lock"))) {
                Files.writeString(file(NAME + ".lock"), "");
              }
            });
    assertThat(packed()).doesNotContain(NAME);
  }

  /** The ref was deleted, and made again with the same value. */
  @Test
  void seesThatARefIsNotPackedAnyMoreBeforeItDeletesTheFile() throws Exception {
    RefDatabase database =
        pack(
            opened -> {
              if (opened.equals(refs.folder())
                  && Files.exists(file(NAME + ".lock"))
                  && packed().contains(NAME)) {
                Path without = Files.writeString(file("without"), "# pack-refs with: peeled\n");
                Files.move(without, file("packed-refs"), StandardCopyOption.ATOMIC_MOVE);
              }
            });
    assertThat(packed()).doesNotContain(NAME);
    assertThat(database.exactRef(NAME).getObjectId()).isEqualTo(id);
  }
}
