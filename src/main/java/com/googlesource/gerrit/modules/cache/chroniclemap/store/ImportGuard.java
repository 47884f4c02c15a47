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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The guard of an import: a value that is imported while the store is in use must not undo a change
 * of its key.
 *
 * <p>Each key that was put or removed since the store was created sets a bit, which its hash
 * selects. Another key with the same bit counts as changed too, and is merely not imported. As the
 * next process does not know the changed keys, an unfinished import is resumed only if nothing was
 * ever changed, as in caches whose keys name the content; {@link FileState#isImportable} says so.
 *
 * <p>Safe for any thread. While values may be imported, a change costs a hash of its key, otherwise
 * one volatile read.
 */
final class ImportGuard {
  /** 128 KB. After 100,000 changed keys, one in ten of the others counts as changed too. */
  private static final int BITS = 1 << 20;

  /** A bit for each changed key; null if no values can be imported any more. */
  private volatile AtomicLongArray bits;

  /** Whether an import may begin in a new file: nothing was changed yet. */
  private volatile boolean mayBegin;

  private volatile boolean allChanged;

  /**
   * Starts to note changes. To be created before anything can be changed.
   *
   * @param mode whether there is anything to import
   */
  ImportGuard(ImportMode mode) {
    this.mayBegin = mode == ImportMode.BEGIN;
    this.bits = mode == ImportMode.NONE ? null : new AtomicLongArray(BITS / Long.SIZE);
  }

  /**
   * Decides whether values may be imported into a file that is about to be opened.
   *
   * @param isNew whether it was just created, and not in place of one that is lost
   */
  void opening(FileState file, boolean isNew) {
    file.noteImportable(bits != null && (file.isImportable() || (isNew && mayBegin)));
    if (!file.isImportable()) {
      end();
    }
  }

  /** Whether changes are noted, because values may be imported now or once the file is open. */
  boolean isNoting() {
    return bits != null;
  }

  /** Whether a key may have been changed, so that nothing must be imported for it. */
  boolean wasChanged(byte[] key) {
    AtomicLongArray all = bits;
    int bit = bitOf(key);
    return all == null || allChanged || (all.get(bit / Long.SIZE) & (1L << bit)) != 0;
  }

  /** Notes that a key is about to be changed. */
  void changing(byte[] key) {
    AtomicLongArray all = bits;
    if (all != null) {
      mayBegin = false;
      int bit = bitOf(key);
      all.getAndUpdate(bit / Long.SIZE, word -> word | (1L << bit));
    }
  }

  /** Like {@link #changing}, for all keys. */
  void changingAll() {
    mayBegin = false;
    allChanged = true;
  }

  /** Ends the import in this process. */
  void end() {
    bits = null;
  }

  private static int bitOf(byte[] key) {
    return Hashing.murmur3_32_fixed().hashBytes(key).asInt() & (BITS - 1);
  }
}
