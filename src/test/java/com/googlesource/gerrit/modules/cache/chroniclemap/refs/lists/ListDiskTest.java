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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import static com.google.common.truth.Truth.assertThat;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ListDiskTest {
  private static final int REFS = 3000;

  @TempDir Path folder;
  private final Lists lists = new Lists();
  private final ListMemory memory = new ListMemory(1 << 30);
  @AutoClose private StoreDirectory directory;
  private Store store;
  private ListDisk disk;

  @BeforeEach
  void open() throws Exception {
    directory = StoreDirectory.open(folder.resolve("stores"));
    store = directory.openStore(new StoreSettings("packed_refs", 1, 16 << 20, Optional.empty()));
    store.awaitOpened();
    disk = new ListDisk(store);
  }

  private ParsedRefs load(ContentDigest digest) {
    return disk.load(digest, new ListBuilder(memory));
  }

  private static byte[] key(long hi, long lo) {
    return ByteBuffer.allocate(16).putLong(hi).putLong(lo).array();
  }

  private static byte[] blockKey(ParsedRefs list, int block) {
    return key(list.root.idHi(block), list.root.idLo(block));
  }

  @Test
  void listsComeBackWhole() throws Exception {
    for (int refs : new int[] {1, 20, REFS}) {
      byte[] text = Lists.text(refs, refs);
      ParsedRefs list = lists.parse(memory, text, null);
      assertThat(load(list.digest())).isNull();
      disk.write(list);
      ParsedRefs loaded = load(list.digest());
      lists.assertIs(loaded, text);
      assertThat(loaded.root.textBytes()).isEqualTo(text.length);
      lists.assertIs(lists.parse(memory, text, loaded), text);
    }
    assertThat(disk.loads.sum()).isEqualTo(3);
    directory.close();
    open();
    lists.assertIs(
        load(lists.parse(memory, Lists.text(REFS, REFS), null).digest()), Lists.text(REFS, REFS));
  }

  @Test
  void aRewriteWritesWhatIsNew() {
    ParsedRefs list = lists.parse(memory, Lists.text(1, REFS), null);
    disk.write(list);
    disk.write(list);
    store.flush();
    long puts = store.stats().counts().puts.sum();
    assertThat(puts).isEqualTo(list.blocks() + 1);
    byte[] text = Lists.textWith(1, REFS, "refs/heads/one-more");
    ParsedRefs rewritten = lists.parse(memory, text, list);
    disk.write(rewritten);
    store.flush();
    assertThat(store.stats().counts().puts.sum() - puts).isAtMost(4);
    lists.assertIs(load(rewritten.digest()), text);
  }

  @Test
  void aListWithoutOneOfItsBlocksIsNone() {
    ParsedRefs list = lists.parse(memory, Lists.text(1, REFS), null);
    disk.write(list);
    store.remove(blockKey(list, list.blocks() / 2));
    ListBuilder builder = new ListBuilder(memory);
    assertThat(disk.load(list.digest(), builder)).isNull();
    // What was there is not made again.
    assertThat(builder.newBlocks()).isEqualTo(list.blocks() / 2);
    assertThat(disk.loads.sum()).isEqualTo(0);
  }

  @Test
  void keepingMendsWhatWasEvicted() {
    byte[] text = Lists.text(1, REFS);
    ParsedRefs list = lists.parse(memory, text, null);
    disk.keep(list);
    lists.assertIs(load(list.digest()), text);
    store.remove(blockKey(list, 0));
    store.remove(key(list.digest().hi(), list.digest().lo()));
    disk.keep(list);
    lists.assertIs(load(list.digest()), text);
    store.flush();
    long puts = store.stats().counts().puts.sum();
    disk.keep(list);
    store.flush();
    assertThat(store.stats().counts().puts.sum()).isEqualTo(puts);
  }

  @Test
  void aRootThatIsNoneIsTakenForMissing() {
    ParsedRefs list = lists.parse(memory, Lists.text(1, 100), null);
    ContentDigest digest = list.digest();
    byte[] root = list.root.bytes;
    byte[] key = key(digest.hi(), digest.lo());
    disk.write(list);
    store.put(key, new byte[3], 1);
    assertThat(load(digest)).isNull();
    byte[] other = root.clone();
    other[Root.VERSION_AT]++;
    store.put(key, other, 1);
    assertThat(load(digest)).isNull();
    // Says that it has more blocks than there is room for.
    byte[] cut = root.clone();
    cut[Root.BLOCKS_AT + 1] = 1;
    store.put(key, cut, 1);
    assertThat(load(digest)).isNull();
    assertThat(load(new ContentDigest(1, 2))).isNull();
    store.put(key, root, 1);
    assertThat(load(digest)).isNotNull();
  }

  /** More than a store lets wait. */
  @Test
  void aLargeListIsWrittenWhole() throws Exception {
    directory.close();
    directory = StoreDirectory.open(folder.resolve("large"));
    store = directory.openStore(new StoreSettings("packed_refs", 1, 128 << 20, Optional.empty()));
    store.awaitOpened();
    disk = new ListDisk(store);
    ParsedRefs list = lists.parse(memory, Lists.text(1, 900_000), null);
    assertThat(list.blockBytes()).isGreaterThan(20L << 20);
    disk.write(list);
    store.flush();
    assertThat(store.stats().entries()).isEqualTo(list.blocks() + 1);
    assertThat(disk.load(list.digest(), new ListBuilder(new ListMemory(1 << 30)))).isNotNull();
  }
}
