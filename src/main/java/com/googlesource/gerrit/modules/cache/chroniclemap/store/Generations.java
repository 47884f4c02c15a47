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

import com.google.common.flogger.FluentLogger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;

/**
 * The file of a store, and while it grows the next one too.
 *
 * <p>How a store grows: the next file is made; from then on each write goes to both; the old file
 * is copied segment by segment, leaving out what is in the next one already, because that is newer;
 * then the next one takes the old one's place. Readers never wait: they read the old file, and look
 * into the next one for what did not fit into the old.
 *
 * <p>Until the next file is whole it has a name that means nothing after a crash.
 *
 * <p>Reads are for any thread; all else for the holder of the store's writer lock, but for {@link
 * #make}, which takes long.
 */
final class Generations {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private final StoreSettings settings;
  private final StoreFiles files;
  private volatile Generation current;
  private volatile Generation next;

  /** What is still to be copied to the next generation, about. Guarded by the writer's lock. */
  private long bytesToCopy;

  Generations(StoreSettings settings, StoreFiles files, Generation first) {
    this.settings = settings;
    this.files = files;
    this.current = first;
  }

  Generation current() {
    return current;
  }

  boolean isGrowing() {
    return next != null;
  }

  /** Most bytes the next generation may take; only while there is one. */
  long nextBytes() {
    return next.name().bytes();
  }

  /** Whether the file that is written last is so full that a larger one should be made. */
  boolean isFilling() {
    Generation after = next;
    return (after == null ? current : after).values().isFilling();
  }

  Value read(byte[] key, long nowMillis) throws DamagedEntryException {
    while (true) {
      Generation generation = current;
      Generation after = next;
      Value value = generation.read(key, nowMillis);
      if (value == null && after != null) {
        value = after.read(key, nowMillis);
      }
      if (value != null || generation == current || !generation.isRetired()) {
        return value;
      }
    }
  }

  boolean contains(byte[] key) {
    while (true) {
      Generation generation = current;
      Generation after = next;
      if (generation.contains(key) || (after != null && after.contains(key))) {
        return true;
      }
      // A generation that was replaced meanwhile says nothing of its successor.
      if (generation == current && after == next) {
        return false;
      }
    }
  }

  /**
   * Stores a value in place of any older one.
   *
   * @return false if there was no room; then the older one is gone as well
   */
  boolean put(byte[] key, byte[] value, long created) {
    if (next == null) {
      return current.values().put(key, value, created);
    }
    if (!next.values().hasRoomFor(bytesToCopy + value.length)) {
      // Or else there would be none for what is still to be copied.
      remove(key);
      return false;
    }
    // The old file may be full; whether the value is in the next one is what counts.
    var unused = current.values().put(key, value, created);
    return next.values().put(key, value, created);
  }

  void remove(byte[] key) {
    current.values().remove(key);
    if (next != null) {
      next.values().remove(key);
    }
  }

  void clear() {
    current.values().clear();
    if (next != null) {
      next.values().clear();
    }
  }

  /** Makes the file of the next generation. Takes a while; without the lock. */
  Generation make(long bytes) throws IOException {
    StoreFiles.Generation name =
        files.generation(
            current.name().number() + 1,
            bytes,
            Geometry.bytesPerSlot(current.values().averageRecordBytes()));
    Files.deleteIfExists(name.growingPath());
    ChronicleFile file = ChronicleFile.create(name.growingPath(), name.geometry());
    return new Generation(name, new ValueFile(file, StoreOpener.maxValue(settings), 0, 0));
  }

  /** From here on each write goes to both. */
  void beginGrowth(Generation made) {
    bytesToCopy = liveBytes();
    next = made;
  }

  /** Segments to copy. */
  int segments() {
    return current.values().file().segments();
  }

  /** Copies a segment; returns how many values did not fit. */
  int copySegment(int index) {
    ValueFile source = current.values();
    int lost = next.values().copySegment(source, index);
    bytesToCopy = source.liveBytes() * (segments() - index - 1) / segments();
    return lost;
  }

  /** Puts the next generation in the old one's place. Readers of the old one finish. */
  Generation finishGrowth() throws IOException {
    Generation old = current;
    Generation grown = next;
    // A crash after this line finds two generations and takes the newer one, which is whole.
    Files.move(grown.name().growingPath(), grown.name().path(), StandardCopyOption.ATOMIC_MOVE);
    current = grown;
    next = null;
    try {
      Files.deleteIfExists(old.name().path());
    } catch (IOException e) {
      // The next start deletes it; the newer one counts.
      logger.atWarning().withCause(e).log("cannot delete %s", old.name().path());
    }
    logger.atInfo().log(
        "Cache %s grew from %d to %d bytes",
        settings.name(), old.name().bytes(), grown.name().bytes());
    return old;
  }

  /** Gives the next generation up. */
  void abandonGrowth() {
    Generation abandoned = next;
    if (abandoned != null) {
      next = null;
      discard(abandoned);
    }
  }

  /** Unmaps and deletes a generation that never came into use. */
  static void discard(Generation made) {
    made.unmap();
    try {
      Files.deleteIfExists(made.name().growingPath());
    } catch (IOException e) {
      logger.atWarning().withCause(e).log("cannot delete %s", made.name().growingPath());
    }
  }

  /** Unmaps all; what is on disk then counts as crashed. */
  void unmap() {
    current.unmap();
    abandonGrowth();
  }

  /** Closes the current generation properly. */
  void closeCleanly() throws IOException {
    abandonGrowth();
    current.closeCleanly();
  }

  long entries() {
    return current.values().entries();
  }

  long liveBytes() {
    return current.values().liveBytes();
  }

  /** Bytes on disk. */
  long diskBytes() {
    Generation after = next;
    return current.values().file().fileBytes()
        + (after == null ? 0 : after.values().file().fileBytes());
  }
}
