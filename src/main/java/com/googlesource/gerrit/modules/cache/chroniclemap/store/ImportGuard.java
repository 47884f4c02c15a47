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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.FilesOnDisk;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Keeps values from before a store was made, which are brought in while it is in use, from undoing
 * what was changed since.
 *
 * <p>Two notes. In memory, for the process: a bit for each key that was put or removed, by its
 * hash; a key that shares its bit with such a one counts as changed too, and is merely not brought
 * in. On disk, for the next process, which does not know the keys: a marker that is deleted before
 * the first of these changes is made. So what was not brought in by then is brought in later only
 * if nothing was ever changed, as in caches whose keys name the content.
 *
 * <p>Safe for any thread. Costs a change a hash of its key, while anything may be brought in.
 */
final class ImportGuard {
  /** 128 KB; with 100,000 keys changed one in ten of the others counts as changed too. */
  private static final int BITS = 1 << 20;

  private final FilesOnDisk files;
  private final ImportMode mode;

  /** A bit for each key changed; null when nothing may be brought in any more. */
  private volatile AtomicLongArray bits;

  private volatile boolean allChanged;

  /** Whether the marker was dealt with before a change. Set under the monitor. */
  private volatile boolean changed;

  /**
   * Begins before anyone can change anything.
   *
   * @param mode whether there is anything that could be brought in
   */
  ImportGuard(FilesOnDisk files, ImportMode mode) {
    this.files = files;
    this.mode = mode;
    this.bits = mode == ImportMode.NONE ? null : new AtomicLongArray(BITS / Long.SIZE);
  }

  /**
   * The store's file is open.
   *
   * @param isNew whether there was none, so that all of its values are known to be of this process
   * @throws IOException if that can't be noted; nothing is brought in then
   */
  synchronized void opened(boolean isNew) throws IOException {
    boolean begins = isNew && mode == ImportMode.BEGIN;
    if (bits == null || !(begins || files.isMarkedForImport())) {
      end();
      return;
    }
    if (begins && !changed && !files.isMarkedForImport()) {
      try {
        files.markForImport();
      } catch (IOException e) {
        bits = null;
        throw e;
      }
    }
  }

  /** Whether values from before may be brought in. */
  boolean mayImport() {
    return bits != null;
  }

  /** Whether a key may have been changed, and so must be let alone. */
  boolean wasChanged(byte[] key) {
    AtomicLongArray all = bits;
    if (all == null || allChanged) {
      return true;
    }
    int bit = bitOf(key);
    return (all.get(bit / Long.SIZE) & (1L << bit)) != 0;
  }

  /**
   * To be called before a key is changed.
   *
   * @throws IOException if the next process can't be kept from bringing in what the key had
   */
  void changing(byte[] key) throws IOException {
    AtomicLongArray all = bits;
    if (all != null) {
      noteFirst();
      int bit = bitOf(key);
      all.getAndUpdate(bit / Long.SIZE, word -> word | (1L << bit));
    }
  }

  /** As above, before all keys are changed. */
  void changingAll() throws IOException {
    if (bits != null) {
      noteFirst();
      allChanged = true;
    }
  }

  private void noteFirst() throws IOException {
    if (!changed) {
      synchronized (this) {
        if (!changed) {
          files.unmarkForImport();
          changed = true;
        }
      }
    }
  }

  /** Nothing is brought in any more, now or later. */
  synchronized void end() throws IOException {
    bits = null;
    files.unmarkForImport();
  }

  private static int bitOf(byte[] key) {
    return Hashing.murmur3_32_fixed().hashBytes(key).asInt() & (BITS - 1);
  }
}
