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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMapBuilder;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.SegmentReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredKey;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredValue;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFiles.FileName;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.ValueTable;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.ValueTable.Evict;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The maker of a store's file, before the store uses it: opens the one that is there, or creates an
 * empty one, one that begins with a {@link Seed}, or a copy of one of another limit. Until such a
 * file is complete, it does not count: a start ignores and deletes it.
 *
 * <p>For the one thread that opens the store's file.
 */
record FileMaker(StoreContext context) {
  /** The file counts as full after so many values in a row found no room in their segments. */
  private static final int MAX_WITHOUT_ROOM = 256;

  /**
   * Opens a file.
   *
   * @param state after {@link FileState#takeOver}
   */
  StoreFile open(FileName name, FileState state) throws IOException {
    return storeFile(
        name,
        RecordMapBuilder.open(
            context.files.disk, name.path(), name.geometry(), state, context.counts.damaged));
  }

  /** Creates an empty file. */
  StoreFile empty() throws IOException {
    return create(/* before= */ 0, /* isComplete= */ true);
  }

  /** Puts values into a file that nobody else uses yet, and completes it. */
  private interface Filler {
    void fill(StoreFile made) throws IOException;
  }

  /** Creates a file that counts, in place of an earlier one, once it is filled. */
  private StoreFile make(int before, Filler filler) throws IOException {
    // A smaller file keeps the values used most.
    context.usage.load();
    StoreFile made = create(before, /* isComplete= */ false);
    try {
      filler.fill(made);
      return made;
    } catch (IOException | RuntimeException | Error e) {
      delete(made);
      throw e;
    }
  }

  private StoreFile create(int before, boolean isComplete) throws IOException {
    FileName name = context.files.newName(before, context.settings.maxBytes());
    // What an earlier process has left.
    context.files.delete(name);
    return storeFile(
        name,
        RecordMapBuilder.create(context.files.disk, name.path(), name.geometry(), isComplete));
  }

  private StoreFile storeFile(FileName name, RecordMap map) {
    ValueTable values = new ValueTable(map, context.rules);
    return new StoreFile(context.files.disk, name, values, context.counts.damaged);
  }

  /**
   * Returns the file, or a copy of it that has the limit's size: a file never gets another one, but
   * its limit may have changed, and version 1.0.0 began with small ones. Its cost grows with the
   * number of values. What cannot be copied now is tried again at the next start.
   */
  StoreFile fitting(StoreFile file) throws IOException {
    if (file.name.bytes() == context.settings.maxBytes()) {
      return file;
    }
    StoreFile made;
    try {
      made = make(file.name.number(), copy -> copyAll(file, copy));
    } catch (IOException | RuntimeException | Error e) {
      if (!context.isClosing && !context.isDiskRefused()) {
        context.faults.warn(e, "its file cannot be made anew for another limit: it stays as it is");
      }
      return file;
    }
    delete(file);
    return made;
  }

  private void copyAll(StoreFile from, StoreFile to) throws IOException {
    if (from.state().isChanged()) {
      to.state().noteChange();
    }
    try (SegmentReader reader = from.reader()) {
      for (int i = 0; i < from.state().counts.segments; i++) {
        from.values.map.check(i);
        List<byte[]> keys = new ArrayList<>();
        context.counts.damaged.add(
            reader.read(
                i,
                record -> {
                  if (!record.isPart()) {
                    keys.add(StoredKey.keyOf(record.storedKey()));
                  }
                }));
        for (byte[] key : keys) {
          copy(key, from, to);
        }
        reader.dropPages();
      }
    }
    if (context.settings.oldValues() == OldValues.SECRET) {
      to.force(/* all= */ false);
    }
    to.state().complete();
  }

  private void copy(byte[] key, StoreFile from, StoreFile to) throws IOException {
    try {
      StoredValue value = from.values.read(key);
      if (value != null
          && !value.isInvalidated()
          && !context.isTooOld(value.created())
          && !take(to, key, value)) {
        context.counts.notStored.increment();
      }
    } catch (DamagedEntryException e) {
      context.counts.damaged.increment();
    }
  }

  /** Puts a value into a copy; returns false if it is left out. */
  private boolean take(StoreFile made, byte[] key, StoredValue value) throws IOException {
    byte[] bytes = value.payload();
    if (made.values.isTooLarge(bytes)) {
      return false;
    }
    boolean fits = made.values.put(key, bytes, value.created(), Evict.NONE);
    if (context.isClosing || context.isDiskRefused()) {
      throw new IOException(context.isClosing ? "the store is being closed" : "no room for a copy");
    }
    return fits || made.values.put(key, bytes, value.created(), Evict.LEAST_USED);
  }

  /** Creates a file that begins with a seed. */
  StoreFile filled(Seed seed) throws IOException {
    context.throwIfClosing();
    try {
      return make(
          /* before= */ 0,
          made -> {
            fill(seed, new Filling(made));
            // At once: a process that is killed between the two leaves neither.
            seed.moveAside(made.state()::complete);
            context.seed = Optional.empty();
          });
    } catch (IOException | RuntimeException | Error e) {
      if (!seed.isThere()) {
        // Nobody can tell later.
        context.faults.tell(e, "starts empty: H2's file is in taken-over, but was not imported");
      }
      throw e;
    }
  }

  /** Tries again what another process uses, as long as the users of secrets wait anyway. */
  private void fill(Seed seed, Filling filling) throws IOException {
    boolean mayNotFit = seed.bytes() > context.settings.maxBytes() / 2;
    while (true) {
      try {
        seed.fill(filling, mayNotFit);
        return;
      } catch (IOException e) {
        if (!context.isSeedAwaited || System.nanoTime() - context.openDeadline >= 0) {
          throw e;
        }
      }
      context.throwIfClosing();
      Uninterruptibles.sleepUninterruptibly(StoreDirectory.LOOK_AGAIN);
    }
  }

  /** A file that is being filled, and that nobody else uses yet. */
  private final class Filling implements Seed.Sink {
    private final StoreFile made;
    private final long filling = System.nanoTime();
    private int withoutRoom;

    Filling(StoreFile made) {
      this.made = made;
    }

    @Override
    public boolean take(byte[] key, byte[] value, long created) {
      boolean isLeftOut =
          key.length > context.settings.maxKey()
              || value.length > context.settings.maxValue()
              || context.isTooOld(created);
      boolean isPut = !isLeftOut && made.values.put(key, value, created, Evict.NONE);
      withoutRoom = isPut || isLeftOut ? 0 : withoutRoom + 1;
      return isPut;
    }

    @Override
    public boolean goesOn() {
      context.throwIfClosing();
      boolean isLate =
          context.isSeedAwaited && System.nanoTime() - filling > StoreContext.FILL_NANOS;
      return withoutRoom < MAX_WITHOUT_ROOM && !isLate;
    }
  }

  /** Deletes a file that does not count: it was not completed, or a newer one is there. */
  private void delete(StoreFile old) {
    try {
      context.files.delete(old.name);
    } catch (IOException e) {
      // The next start deletes it.
      context.faults.warn(e, "cannot delete a file that does not count:", old.name.path());
    }
    // Last: only now the system frees the disk, and the names need not wait for that.
    context.unmap(old);
  }
}
