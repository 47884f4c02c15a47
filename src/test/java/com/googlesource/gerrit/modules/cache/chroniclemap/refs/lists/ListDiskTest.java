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
    open("stores", 16 << 20);
  }

  private void open(String name, long limit) throws Exception {
    directory = StoreDirectory.open(folder.resolve(name));
    store = directory.openStore(new StoreSettings("packed_refs", 1, limit, Optional.empty()));
    store.awaitOpened();
    disk = new ListDisk(store);
  }

  /** Reads a text with what is on disk, and nothing in memory. */
  private ParsedRefs load(byte[] text) throws Exception {
    return load(text, new ListBuilder(new ListMemory(1 << 30), disk));
  }

  private static ParsedRefs load(byte[] text, ListBuilder builder) throws Exception {
    return new PackedRefsReader(Differential.KEY).read(new Lists.Text(text), builder, null).list();
  }

  private static byte[] blockKey(ParsedRefs list, int block) {
    ContentDigest id = list.blocks[block].id;
    return ByteBuffer.allocate(16).putLong(id.hi()).putLong(id.lo()).array();
  }

  private int parsedBlocks(byte[] text) throws Exception {
    ListBuilder builder = new ListBuilder(new ListMemory(1 << 30), disk);
    ParsedRefs list = load(text, builder);
    lists.assertIs(list, text);
    assertThat(builder.parsed + builder.loaded).isEqualTo(list.blocks());
    return builder.parsed;
  }

  @Test
  void listsComeBackWhole() throws Exception {
    for (int refs : new int[] {1, 20, REFS}) {
      byte[] text = Lists.text(refs, refs);
      ParsedRefs list = lists.parse(memory, text, null);
      assertThat(parsedBlocks(text)).isEqualTo(list.blocks());
      disk.write(list);
      assertThat(parsedBlocks(text)).isEqualTo(0);
    }
    directory.close();
    open();
    assertThat(parsedBlocks(Lists.text(REFS, REFS))).isEqualTo(0);
  }

  @Test
  void aRewriteWritesWhatIsNew() throws Exception {
    ParsedRefs list = lists.parse(memory, Lists.text(1, REFS), null);
    disk.write(list);
    disk.write(list);
    store.flush();
    assertThat(store.stats().counts().puts.sum()).isEqualTo(list.blocks());
    byte[] text = Lists.textWith(1, REFS, "refs/heads/one-more");
    ParsedRefs rewritten = load(text);
    disk.write(rewritten);
    store.flush();
    assertThat(store.stats().counts().puts.sum() - list.blocks()).isAtMost(3);
    assertThat(parsedBlocks(text)).isEqualTo(0);
  }

  @Test
  void aBlockThatIsMissingOrOfAnotherFormatIsParsed() throws Exception {
    byte[] text = Lists.text(1, REFS);
    ParsedRefs list = lists.parse(memory, text, null);
    disk.write(list);
    store.remove(blockKey(list, list.blocks() / 2));
    assertThat(parsedBlocks(text)).isEqualTo(1);
    store.put(blockKey(list, 0), new byte[] {BlockFormat.VERSION + 1, 0, 0}, 1);
    assertThat(parsedBlocks(text)).isEqualTo(2);
  }

  /** A list that has nothing in common with those on disk costs few questions. */
  @Test
  void aNewListIsNotSearchedForBlockByBlock() throws Exception {
    disk.write(lists.parse(memory, Lists.text(1, REFS), null));
    long before = store.stats().counts().misses.sum();
    assertThat(parsedBlocks(Lists.text(2, 3 * REFS))).isGreaterThan(20);
    assertThat(store.stats().counts().misses.sum() - before).isEqualTo(8);
  }

  @Test
  void keepingMendsWhatWasEvicted() throws Exception {
    byte[] text = Lists.text(1, REFS);
    ParsedRefs list = lists.parse(memory, text, null);
    disk.keep(list);
    assertThat(parsedBlocks(text)).isEqualTo(0);
    store.remove(blockKey(list, 0));
    disk.keep(list);
    assertThat(parsedBlocks(text)).isEqualTo(0);
    store.flush();
    long puts = store.stats().counts().puts.sum();
    disk.keep(list);
    store.flush();
    assertThat(store.stats().counts().puts.sum()).isEqualTo(puts);
  }

  @Test
  void listsBeyondTheLimitAreMissedOnly() throws Exception {
    for (int i = 0; i < 40; i++) {
      byte[] text = Lists.text(i, 20_000);
      ParsedRefs list = lists.parse(new ListMemory(0), text, null);
      disk.write(list);
      assertThat(load(text).size()).isEqualTo(list.size());
    }
    store.flush();
    assertThat(store.stats().diskBytes()).isAtMost(24L << 20);
    assertThat(store.stats().counts().evicted.sum() + store.stats().counts().notStored.sum())
        .isGreaterThan(0L);
  }

  /** More than a store lets wait. */
  @Test
  void aLargeListIsWrittenWhole() throws Exception {
    directory.close();
    open("large", 128 << 20);
    byte[] text = Lists.text(1, 900_000);
    ParsedRefs list = lists.parse(memory, text, null);
    assertThat(list.blockBytes()).isGreaterThan(20L << 20);
    disk.write(list);
    store.flush();
    assertThat(store.stats().entries()).isEqualTo(list.blocks());
    assertThat(parsedBlocks(text)).isEqualTo(0);
  }
}
