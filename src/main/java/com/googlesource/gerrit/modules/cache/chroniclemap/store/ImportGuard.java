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
 * Keeps values from before a store was made, which are imported while it is in use, from undoing
 * what was changed since.
 *
 * <p>Two notes. In memory, for the process: a bit for each key that was put or removed, by its
 * hash; a key that shares its bit with such a one counts as changed too, and is merely not brought
 * in. On disk, for the next process, which does not know the keys: a marker that is deleted before
 * the first of these changes is made. So what was not imported by then is imported later only if
 * nothing was ever changed, as in caches whose keys name the content.
 *
 * <p>Changes are noted from the beginning, and values imported only once {@link #opened} has
 * allowed it. What can't be noted ends that.
 *
 * <p>Safe for any thread. While values may be imported, a change costs a hash of its key, and the
 * first one two calls of the disk; otherwise a look at a field.
 */
final class ImportGuard {
  /** 128 KB; with 100,000 keys changed one in ten of the others counts as changed too. */
  private static final int BITS = 1 << 20;

  private final FilesOnDisk files;
  private final ImportMode mode;

  /** Whether changes are noted: values may be imported, or the marker is still there. */
  private volatile boolean noting;

  /** Whether values may be imported. */
  private volatile boolean open;

  /** A bit for each key changed; null if no values can be imported. */
  private volatile AtomicLongArray bits;

  private volatile boolean allChanged;

  /** Whether it is known that there is no marker, because something was changed. */
  private volatile boolean unmarked;

  /**
   * Begins before anyone can change anything.
   *
   * @param mode whether there is anything that could be imported
   */
  ImportGuard(FilesOnDisk files, ImportMode mode) {
    this.files = files;
    this.mode = mode;
    if (mode != ImportMode.NONE) {
      bits = new AtomicLongArray(BITS / Long.SIZE);
      noting = true;
    }
  }

  /**
   * The store's file is open.
   *
   * @param isNew whether there was none, so that all of its values are known to be of this process
   * @param wasChanged whether it is known that it was changed, whatever the marker says
   * @throws IOException if that can't be noted; nothing is imported then
   */
  synchronized void opened(boolean isNew, boolean wasChanged) throws IOException {
    boolean begins = isNew && mode == ImportMode.BEGIN;
    boolean marked = files.isMarkedForImport();
    if (bits == null || wasChanged || !(begins || marked)) {
      end();
      return;
    }
    if (!marked && !unmarked) {
      files.markForImport();
    }
    open = true;
  }

  /** Whether values from before may be imported. */
  boolean mayImport() {
    return open;
  }

  /** Whether changes are noted, as values may be imported now or when the file is open. */
  boolean isNoting() {
    return noting;
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
   * @throws IOException if the next process can't be kept from bringing in what the key had;
   *     nothing is imported any more in this one
   */
  void changing(byte[] key) throws IOException {
    if (!noting) {
      return;
    }
    AtomicLongArray all = bits;
    if (all != null) {
      int bit = bitOf(key);
      all.getAndUpdate(bit / Long.SIZE, word -> word | (1L << bit));
    }
    noteOnDisk();
  }

  /** As above, before all keys are changed. */
  void changingAll() throws IOException {
    if (noting) {
      allChanged = true;
      noteOnDisk();
    }
  }

  private void noteOnDisk() throws IOException {
    if (!unmarked) {
      synchronized (this) {
        if (!unmarked) {
          unmark();
        }
      }
    }
  }

  private synchronized void unmark() throws IOException {
    try {
      files.unmarkForImport();
      unmarked = true;
    } catch (IOException e) {
      open = false;
      // Until that works no change may go unnoted.
      noting = true;
      throw e;
    }
  }

  /**
   * Nothing is imported any more, now or later.
   *
   * @throws IOException if a later process may think otherwise, unless something is changed before
   */
  synchronized void end() throws IOException {
    open = false;
    unmark();
    noting = false;
    bits = null;
  }

  private static int bitOf(byte[] key) {
    return Hashing.murmur3_32_fixed().hashBytes(key).asInt() & (BITS - 1);
  }
}
