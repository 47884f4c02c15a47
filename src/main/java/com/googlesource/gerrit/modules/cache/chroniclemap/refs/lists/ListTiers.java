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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.eclipse.jgit.annotations.Nullable;

/**
 * The tiers from which the blocks of lists come: from the memory if another list has the block,
 * then from disk if an earlier run or another repository had it, and otherwise from the text.
 *
 * <p>Safe for any thread.
 */
public final class ListTiers {
  /** The number of idle readers that are kept. Each has up to 650 KB, most of it off the heap. */
  private static final int MAX_READERS = 4;

  /** The name of the store. */
  private static final String STORE = "packed_refs";

  public final LongSupplier nanoTime;
  public final ListMemory memory;

  /** Empty for memory only. */
  public final Optional<Store> store;

  private final Optional<ListDisk> disk;
  final ReaderPool readers;

  /** The number of lists of which blocks were loaded from disk, and none was parsed. */
  public final LongAdder loads = new LongAdder();

  /** The files with a new list since the last {@link #upkeep}. */
  private final Set<ListMemory.Holder> changed = ConcurrentHashMap.newKeySet();

  /** The list of a missing file, which has no holder. */
  public final ParsedRefs none;

  /**
   * Makes the tiers.
   *
   * @param nanoTime a clock like {@link System#nanoTime}
   */
  ListTiers(SiteKey key, ListMemory memory, Optional<Store> store, LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
    this.memory = memory;
    this.store = store;
    this.disk = store.map(ListDisk::new);
    this.readers = new ReaderPool(key, MAX_READERS);
    this.none = ListBuilder.none();
  }

  /** Makes tiers without a store. */
  public static ListTiers inMemory(ListMemory memory) {
    SiteKey key = new SiteKey(SecretFile.random());
    return new ListTiers(key, memory, Optional.empty(), System::nanoTime);
  }

  /**
   * Makes tiers with a store.
   *
   * @param limit bound on the store's file, bytes
   * @throws IOException if the folder has no secret yet, and a new one cannot be written
   */
  public static ListTiers onDisk(StoreDirectory directory, long limit, ListMemory memory)
      throws IOException {
    Store store =
        directory.openStore(new StoreSettings(STORE, BlockFormat.VERSION, limit, Optional.empty()));
    SiteKey key = new SiteKey(SecretFile.readOrMake(directory.path));
    return new ListTiers(key, memory, Optional.of(store), System::nanoTime);
  }

  /**
   * Starts a list.
   *
   * @param old the list of the same file before; null if it is not known, as at the first reading
   */
  ListBuilder builder(@Nullable ParsedRefs old) {
    // Else hardly any of the new blocks can be on disk.
    return new ListBuilder(memory, old == null ? disk.orElse(null) : null);
  }

  /** Notes that a file has a new list, which has to be written. */
  public void changed(ListMemory.Holder file) {
    changed.add(file);
  }

  /**
   * Indexes and writes the new lists that are still in use. Of a file that is rewritten often, only
   * some contents are written.
   */
  public void upkeep() {
    memory.tick();
    for (ListMemory.Holder file : List.copyOf(changed)) {
      changed.remove(file);
      ParsedRefs list = file.lastList();
      if (list != null) {
        list.indexIfLarge();
        disk.ifPresent(each -> each.write(list));
      }
    }
  }

  /** Keeps a list that is in use on disk, and restores its evicted parts. */
  public void keep(ParsedRefs list) {
    disk.ifPresent(each -> each.keep(list));
  }

  /** Gives a holder a list, as {@link ListMemory#hold} does. */
  public ParsedRefs hold(ListMemory.Holder holder, ParsedRefs list, List<Runnable> afterUnlock) {
    if (list == none) {
      memory.release(holder);
      return list;
    }
    return memory.hold(holder, list, afterUnlock);
  }
}
