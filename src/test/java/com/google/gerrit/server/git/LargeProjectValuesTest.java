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

package com.google.gerrit.server.git;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gerrit.entities.Change;
import com.google.gerrit.entities.Project;
import com.google.gerrit.proto.Protos;
import com.google.gerrit.server.git.ChangesByProjectCacheImpl.CachedProjectChanges;
import com.google.gerrit.server.git.ChangesByProjectCacheImpl.CachedProjectChangesSerializer;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectIdOwnerMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.roaringbitmap.RoaringBitmap;

/**
 * How much of the large values that Gerrit has for each project is written when a little changes,
 * with Gerrit's own serializers, which decide where in the value that is.
 */
@Timeout(120)
class LargeProjectValuesTest {
  private static final byte[] KEY = "project".getBytes(UTF_8);
  private static final int ENTRIES = 300_000;
  private static final int UNIT = 64;

  @TempDir Path temp;
  private final Random random = new Random(1);
  private StoreDirectory directory;
  private Store store;
  private byte[] fileBefore;

  @BeforeEach
  void open() throws Exception {
    directory = StoreDirectory.open(temp);
    // A file of the first size would grow, and be written as a whole.
    store = directory.openStore(new StoreSettings("values", 1, 64 << 20, Optional.empty()));
    store.awaitOpened();
  }

  @AfterEach
  void close() {
    directory.close();
  }

  /** Puts a value; returns how many percent of its bytes were written to the file. */
  private double put(byte[] value) throws Exception {
    store.put(KEY, value, 1);
    store.flush();
    byte[] fileNow = Files.readAllBytes(file());
    long written = 0;
    if (fileBefore != null && fileBefore.length == fileNow.length) {
      for (int at = 0; at + UNIT <= fileNow.length; at += UNIT) {
        written += Arrays.equals(fileBefore, at, at + UNIT, fileNow, at, at + UNIT) ? 0 : UNIT;
      }
    } else {
      written = fileNow.length;
    }
    fileBefore = fileNow;
    assertThat(Arrays.equals(store.read(KEY).bytes(), value)).isTrue();
    return 100.0 * written / value.length;
  }

  private Path file() throws Exception {
    try (Stream<Path> files = Files.list(temp)) {
      return files.filter(f -> f.toString().endsWith(".chm")).findAny().orElseThrow();
    }
  }

  private ObjectId id() {
    byte[] raw = new byte[20];
    random.nextBytes(raw);
    return ObjectId.fromRaw(raw);
  }

  // ---- changes_by_project

  private void add(CachedProjectChanges changes, String branch, int number) {
    changes
        .metaObjectIdByNonPrivateChangeByBranch
        .computeIfAbsent(branch, b -> new ConcurrentHashMap<>())
        .put(Change.id(number), id());
  }

  @Test
  void aNewOrUpdatedChangeWritesLessThanAHundredth() throws Exception {
    CachedProjectChanges changes = new CachedProjectChanges();
    for (int i = 0; i < ENTRIES; i++) {
      add(changes, "refs/heads/b" + random.nextInt(1 + random.nextInt(20)), 2 * i);
    }
    var serializer = CachedProjectChangesSerializer.INSTANCE;
    double unused = put(serializer.serialize(changes));
    unused = put(serializer.serialize(changes));
    for (int i = 1; i <= 5; i++) {
      add(changes, "refs/heads/b" + i, 2 * ENTRIES + i);
      assertWithMessage("percent, new change %s", i)
          .that(put(serializer.serialize(changes)))
          .isLessThan(1.0);
      add(changes, "refs/heads/b" + i, 2 * ENTRIES + i);
      assertWithMessage("percent, updated change %s", i)
          .that(put(serializer.serialize(changes)))
          .isLessThan(1.0);
    }
    // After a restart Gerrit has its maps from the value, perhaps in another order.
    changes = serializer.deserialize(store.read(KEY).bytes());
    unused = put(serializer.serialize(changes));
    add(changes, "refs/heads/b1", 3 * ENTRIES);
    assertThat(put(serializer.serialize(changes))).isLessThan(1.0);
  }

  // ---- git_tags

  private static byte[] serialize(Map<String, TagSet.CachedRef> refs, List<TagSet.Tag> tags) {
    ObjectIdOwnerMap<TagSet.Tag> map = new ObjectIdOwnerMap<>();
    tags.forEach(tag -> map.add(new TagSet.Tag(tag)));
    return Protos.toByteArray(
        new TagSet(Project.nameKey("project"), new HashMap<>(refs), map).toProto());
  }

  @Test
  void aNewTagOrAMovedBranchWritesLessThanAHundredth() throws Exception {
    int branches = 100;
    Map<String, TagSet.CachedRef> refs = new HashMap<>();
    for (int i = 0; i < branches; i++) {
      refs.put("refs/heads/b" + i, new TagSet.CachedRef(i, id()));
    }
    List<TagSet.Tag> tags = new ArrayList<>();
    for (int i = 0; i < ENTRIES; i++) {
      tags.add(new TagSet.Tag(id(), RoaringBitmap.bitmapOfRange(random.nextInt(branches), 100)));
    }
    double unused = put(serialize(refs, tags));
    unused = put(serialize(refs, tags));
    for (int i = 0; i < 5; i++) {
      tags.add(
          random.nextInt(tags.size()), new TagSet.Tag(id(), RoaringBitmap.bitmapOfRange(3, 100)));
      assertWithMessage("percent, new tag").that(put(serialize(refs, tags))).isLessThan(1.0);
      refs.get("refs/heads/b" + i).set(id());
      assertWithMessage("percent, moved branch").that(put(serialize(refs, tags))).isLessThan(1.0);
    }
  }
}
