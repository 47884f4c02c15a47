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

import com.google.common.hash.Hashing;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FaultLog;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFiles;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The guard of an import into a store, of values that were held elsewhere before the store was
 * created. A value that is imported while the store is in use must not undo a change of its key.
 *
 * <p>Changes are noted in two places. In memory, each key that was put or removed sets a bit, which
 * its hash selects. Another key with the same bit counts as changed too, and is merely not
 * imported. On disk, a marker is deleted before the first change, as the next process does not know
 * the changed keys. So an unfinished import is resumed only if nothing was ever changed, as in
 * caches whose keys name the content.
 *
 * <p>Changes are noted from the start. Values are imported only once {@link #opened} has allowed
 * it. A change that cannot be noted ends the import.
 *
 * <p>Safe for any thread. While values may be imported, a change costs a hash of its key, and the
 * first one also deletes the marker. Otherwise a change costs one volatile read.
 */
public final class ImportGuard {
  /** 128 KB. After 100,000 changed keys, one in ten of the others counts as changed too. */
  private static final int BITS = 1 << 20;

  private final StoreFiles files;
  private final FaultLog faults;
  private final ImportMode mode;

  /** Whether changes are noted: values may be imported, or the marker may still be there. */
  private volatile boolean noting;

  /** Whether values may be imported. */
  private volatile boolean open;

  /** Whether nothing more will be imported. Guarded by this. */
  private boolean isOver;

  /** A bit for each changed key; null if all were changed, or nothing can be imported. */
  private volatile AtomicLongArray bits;

  /** Whether the marker is known to be gone, because of a change or the end of the import. */
  private volatile boolean unmarked;

  /**
   * Starts to note changes. To be created before anything can be changed.
   *
   * @param mode whether there is anything to import
   */
  ImportGuard(StoreFiles files, FaultLog faults, ImportMode mode) {
    this.files = files;
    this.faults = faults;
    this.mode = mode;
    if (mode != ImportMode.NONE) {
      bits = new AtomicLongArray(BITS / Long.SIZE);
      noting = true;
    }
  }

  /**
   * Decides whether values may be imported, now that the store's file is open. Nothing is imported
   * if the decision cannot be noted.
   *
   * @param isNew whether the file was just created, so that only this process has changed it
   * @param wasChanged whether the file is known to have been changed, whatever the marker says
   */
  synchronized void opened(boolean isNew, boolean wasChanged) {
    open = false;
    try {
      boolean begins = isNew && mode == ImportMode.BEGIN;
      boolean marked = files.isMarkedForImport();
      if (isOver || bits == null || wasChanged || !(begins || marked)) {
        isOver = true;
        unmark();
        return;
      }
      if (!marked && !unmarked) {
        files.markForImport();
      }
      open = true;
    } catch (IOException e) {
      faults.warn(e, "cannot mark its file; nothing is imported into it");
    }
  }

  /**
   * Whether values may be imported; to be asked once the store is open. The {@link ImportMode} must
   * allow it, and when the file was opened it must have been new, or unchanged since its creation
   * except by {@link Store#putIfCurrent}.
   */
  public boolean mayImport() {
    return open;
  }

  /**
   * Whether values may be imported now or once the file is open. Also true while the marker cannot
   * be deleted. To be asked before a read, so that a miss is followed by {@link
   * Store#readAndBarImport}. Costs one volatile read.
   */
  public boolean isNoting() {
    return noting;
  }

  /** Whether the marker may be there, so that a later process may import. */
  synchronized boolean mayBeMarked() {
    return noting && !unmarked;
  }

  /** Whether a key may have been changed, so that nothing must be imported for it. */
  boolean wasChanged(byte[] key) {
    AtomicLongArray all = bits;
    int bit = bitOf(key);
    return all == null || (all.get(bit / Long.SIZE) & (1L << bit)) != 0;
  }

  /**
   * Notes that a key is about to be changed, so that no value is imported for it afterwards. If
   * that fails, this process imports nothing more.
   *
   * @return false if the marker may still be there, so that only the file itself can tell the next
   *     process of the change
   */
  boolean changing(byte[] key) {
    if (!noting) {
      return true;
    }
    AtomicLongArray all = bits;
    if (all != null) {
      int bit = bitOf(key);
      all.getAndUpdate(bit / Long.SIZE, word -> word | (1L << bit));
    }
    try {
      unmark();
      return true;
    } catch (IOException e) {
      faults.warn(e, "nothing more is imported into its file, as this cannot be noted");
      return files.isImportUnsynced;
    }
  }

  /**
   * Notes that all keys are about to be changed.
   *
   * @throws IOException if the marker cannot be deleted, so that the next process may import older
   *     values; this process imports nothing more
   */
  void changingAll() throws IOException {
    if (noting) {
      bits = null;
      unmark();
    }
  }

  private synchronized void unmark() throws IOException {
    if (!unmarked) {
      try {
        files.unmarkForImport();
        unmarked = true;
      } catch (IOException e) {
        isOver = true;
        open = false;
        // Until the marker is gone, each change must try again to delete it.
        noting = true;
        throw e;
      }
    }
    if (isOver) {
      noting = false;
      bits = null;
    }
  }

  /** Ends the import, as all was imported: nothing more is, in this process or in later ones. */
  public synchronized void end() {
    isOver = true;
    open = false;
    try {
      unmark();
    } catch (IOException e) {
      // Unless a change deletes the marker first.
      faults.warn(e, "cannot note that all was imported; the next start looks again");
    }
  }

  private static int bitOf(byte[] key) {
    return Hashing.murmur3_32_fixed().hashBytes(key).asInt() & (BITS - 1);
  }
}
