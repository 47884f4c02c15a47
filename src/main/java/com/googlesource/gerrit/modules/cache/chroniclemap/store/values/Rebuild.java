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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.values;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Envelope;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.SegmentReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoreBusyException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredKey;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredValue;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.LongPredicate;

/**
 * The copy of a file that will replace it: all values are copied segment by segment into a new
 * file. Meanwhile only the old file is read and written; keys that are changed in it are noted, and
 * copied again.
 *
 * <p>For the holder of the store's writer lock, except {@link #changed}.
 */
public final class Rebuild implements AutoCloseable {
  /**
   * From here on, each change has two noted keys copied again. So about as many are noted at most:
   * some hundred kilobytes.
   */
  private static final int MAX_NOTED = 2000;

  /**
   * From here on the new file is given up. Besides those above, the keys of all queued writes may
   * be noted, which 16 MB of heap hold at most.
   */
  private static final int MAX_BEFORE_BROKEN = 200_000;

  private final ValueTable source;
  private final ValueTable target;
  private final SegmentReader reader;

  /** Keys that were changed in the old file, and not copied since. */
  private final Map<ByteBuffer, byte[]> changed = new ConcurrentHashMap<>();

  /** How many segments were copied, or are being copied. */
  private int segmentsBegun;

  /** Whether a change may be missing in the new file for good, which is of no use then. */
  private volatile boolean isBroken;

  private long lost;
  private long damaged;

  /** The new file has failed, which says nothing of the old one. */
  public static final class NextFileException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NextFileException(Throwable cause) {
      super("the next file has failed", cause);
    }
  }

  /**
   * Begins to copy.
   *
   * @param sourcePath the current name of the old file
   */
  public Rebuild(ValueTable source, Path sourcePath, ValueTable target) {
    this.source = source;
    this.target = target;
    this.reader = source.map.reader(sourcePath);
  }

  /** Notes a key after it was changed in the old file; for any thread. */
  public void changed(byte[] key) {
    try {
      changed.put(ByteBuffer.wrap(key), key);
    } catch (OutOfMemoryError e) {
      isBroken = true;
      throw e;
    }
  }

  /** The number of keys that were changed, and not copied since. */
  public int noted() {
    return changed.size();
  }

  /** Copies a few noted keys again if there are many. A failure shows in {@link #complete}. */
  public void copyIfMany() {
    if (changed.size() > MAX_BEFORE_BROKEN) {
      // Their segments are busy all the time.
      isBroken = true;
    }
    if (isBroken) {
      changed.clear();
    } else if (changed.size() > MAX_NOTED) {
      try {
        copyChanged(2);
      } catch (IOException
          | RuntimeException
          | InternalError
          | LinkageError
          | AssertionError
          | OutOfMemoryError e) {
        isBroken = true;
      }
    }
  }

  /**
   * Copies all noted keys again.
   *
   * @throws IOException if the new file lacks a change nevertheless
   */
  public void complete() throws IOException {
    copyChanged(Integer.MAX_VALUE);
    throwIf(isBroken || !changed.isEmpty());
  }

  private static void throwIf(boolean lacksChange) throws IOException {
    if (lacksChange) {
      throw new IOException("not all that has changed could be copied");
    }
  }

  /** How many values could not be copied. */
  public long lost() {
    return lost;
  }

  /** How many damaged records were found, and left out. */
  public long damaged() {
    return damaged;
  }

  /**
   * Copies noted keys again, up to one whose segment is busy. That one stays noted, and so does one
   * that another thread changes meanwhile.
   *
   * @param most the number of keys
   * @throws NextFileException if the new file has failed
   */
  public void copyChanged(int most) throws IOException {
    Iterator<byte[]> keys = changed.values().iterator();
    for (int left = most; left > 0 && keys.hasNext(); left--) {
      byte[] key = keys.next();
      // Before it is read, so that a later change is not taken for this one.
      keys.remove();
      boolean isDone = false;
      try {
        copyAgain(key);
        isDone = true;
      } catch (StoreBusyException e) {
        changed(key);
        isDone = true;
        return;
      } finally {
        if (!isDone) {
          isBroken = true;
        }
      }
    }
  }

  private void copyAgain(byte[] key) throws IOException {
    // Otherwise its segment is copied later.
    if (source.map.segmentOf(StoredKey.ofValue(key)) < segmentsBegun) {
      if (source.map.state.isChanged()) {
        // The new file may have had another value, and have evicted it.
        noteChange();
      }
      copyValue(key);
    }
  }

  private void noteChange() throws IOException {
    try {
      target.map.state.noteChange();
    } catch (RuntimeException | InternalError e) {
      throw new NextFileException(e);
    }
  }

  /**
   * Copies the values of one segment. A split value is copied with its head, wherever its parts
   * are. If there is no room, less useful values are evicted.
   *
   * @param isTooOld tells by the creation time of a value whether to leave the value out
   * @throws NextFileException if the new file has failed
   */
  public void copySegment(int segment, LongPredicate isTooOld) throws IOException {
    throwIf(isBroken);
    source.map.check(segment);
    segmentsBegun = segment + 1;
    if (source.map.state.counts.records(segment) == 0) {
      return;
    }
    makeRoom(segment);
    List<byte[]> heads = new ArrayList<>();
    long unreadable =
        reader.read(
            segment,
            record -> {
              if (record.isPart() || isTooOld.test(record.created())) {
                return;
              }
              if (record.kind() == Envelope.HEAD) {
                heads.add(record.storedKey());
              } else if (!inNextFile(() -> target.putCopy(record.storedKey(), record.record()))) {
                lost++;
              }
            });
    damaged += unreadable;
    for (byte[] head : heads) {
      copyValue(StoredKey.keyOf(head));
    }
  }

  /**
   * See {@link SegmentReader#giveBack}; to be called after each segment, without the writer lock.
   */
  public void giveBack() {
    reader.giveBack();
  }

  /** To be called when nothing more is copied. */
  @Override
  public void close() {
    reader.close();
  }

  /**
   * Has the system create the pages to which the records of a segment will be copied. As numbers of
   * segments are powers of two, and the lowest bits of a key's hash choose the segment, the records
   * go to a few known segments.
   */
  private void makeRoom(int segment) throws IOException {
    int before = source.map.geometry.segments();
    int after = target.map.geometry.segments();
    int parts = Math.max(1, after / before);
    for (int i = 0; i < parts; i++) {
      target.map.makePages(
          (segment + i * before) & (after - 1), source.map.state.counts.bytes(segment) / parts);
    }
  }

  /** Copies the value of a key, or removes the one that was copied before if there is none now. */
  private void copyValue(byte[] key) {
    StoredValue value = null;
    boolean isDamaged = false;
    try {
      value = source.read(key);
    } catch (DamagedEntryException e) {
      isDamaged = true;
    }
    StoredValue there = value == null || value.isInvalidated() ? null : value;
    boolean isCopied =
        inNextFile(
            () -> {
              if (there != null) {
                return put(key, there);
              }
              remove(key);
              return true;
            });
    if (!isCopied || isDamaged) {
      lost++;
    }
  }

  private boolean put(byte[] key, StoredValue value) {
    byte[] content = value.payload();
    // First into segments that have room: with each attempt, the parts of a split value go to other
    // ones.
    boolean fitted =
        !target.isTooLarge(content)
            && (target.put(key, content, value.created(), Evict.NONE)
                || target.put(key, content, value.created(), Evict.LEAST_USED));
    if (!fitted) {
      remove(key);
    }
    return fitted;
  }

  private void remove(byte[] key) {
    if (target.contains(key)) {
      if (source.map.state.isChanged()) {
        target.invalidate(key);
      }
      target.remove(key);
    }
  }

  /** Runs a step in the new file. */
  private static boolean inNextFile(BooleanSupplier step) {
    try {
      return step.getAsBoolean();
    } catch (StoreBusyException e) {
      throw e;
    } catch (RuntimeException | InternalError | LinkageError | AssertionError e) {
      throw new NextFileException(e);
    }
  }
}
