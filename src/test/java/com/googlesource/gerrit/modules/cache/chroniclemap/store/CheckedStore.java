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

import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Answer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A store of few keys whose operations return what {@link KeyHistory} wants to know, and which can
 * be made to grow. Each value is put once.
 */
final class CheckedStore implements AutoCloseable {
  /** Keys that operations are about. */
  static final int KEYS = 3;

  /** The first file has a quarter of it. */
  private static final long LIMIT = 16 << 20;

  private static final int FILLERS = 160;
  private static final int FILLER_BYTES = 60_000;

  /** How much one {@link #fill} puts. */
  private static final int FILLERS_AT_ONCE = 8;

  /** Not one that was used before, in any store: a value that comes back must be seen. */
  private static final AtomicInteger values = new AtomicInteger();

  private final Path folder;
  private final List<byte[]> fillers = new ArrayList<>();
  private final AtomicInteger nextFiller = new AtomicInteger();

  /** How often {@link #fill} had the file take disk. */
  private final AtomicInteger growths = new AtomicInteger();

  private StoreDirectory directory;
  private Store store;

  /** Makes a new one. */
  CheckedStore(Path folder) throws Exception {
    this.folder = folder;
    open();
    store.awaitOpened();
    chooseFillers();
  }

  /** Chooses the other keys. */
  private void chooseFillers() {
    for (int i = 0; i < FILLERS; i++) {
      fillers.add(("filler " + i).getBytes(UTF_8));
    }
  }

  private void open() throws Exception {
    directory = StoreDirectory.open(folder);
    store = directory.openStore(new StoreSettings("cache", 1, LIMIT, Optional.empty()));
  }

  Answer put(int key) {
    int number = values.incrementAndGet();
    store.put(key(key), TestValues.of(number), System.currentTimeMillis());
    return new Answer(number, KeyHistory.NONE, true);
  }

  Answer read(int key) {
    return new Answer(KeyHistory.NONE, TestValues.numberOf(store.read(key(key))), true);
  }

  Answer remove(int key) {
    store.remove(key(key));
    return new Answer(KeyHistory.NONE, KeyHistory.NONE, true);
  }

  Answer clear() {
    store.clear();
    return new Answer(KeyHistory.NONE, KeyHistory.NONE, true);
  }

  /** Reads, and where nothing is found puts what it has computed since it took its ticket. */
  Answer load(int key) {
    Ticket ticket = store.ticket(key(key));
    try (ticket) {
      int found = TestValues.numberOf(store.read(key(key)));
      if (found != KeyHistory.NONE) {
        return new Answer(KeyHistory.NONE, found, true);
      }
      int number = values.incrementAndGet();
      store.putIfCurrent(key(key), TestValues.of(number), System.currentTimeMillis(), ticket);
      return new Answer(number, KeyHistory.NONE, !ticket.hasEnded());
    }
  }

  void flush() {
    store.flush();
  }

  /** Puts values of other keys, so many that segments may take disk. */
  void fill() {
    long before = store.stats().diskBytes();
    for (int i = 0; i < FILLERS_AT_ONCE; i++) {
      putFiller();
    }
    if (store.stats().diskBytes() > before) {
      growths.incrementAndGet();
    }
  }

  private void putFiller() {
    byte[] key = fillers.get(nextFiller.getAndIncrement() % FILLERS);
    store.put(key, new byte[FILLER_BYTES], System.currentTimeMillis());
  }

  /** Whether the file has nearly all of its disk. */
  boolean isFullGrown() {
    return store.stats().diskBytes() > LIMIT * 3 / 4;
  }

  /** How often {@link #fill} had the file take disk. */
  long growths() {
    return growths.get();
  }

  /** Fails unless all that was put could be stored and read: the histories know of no loss. */
  void checkNothingLost() {
    StoreStats stats = store.stats();
    if (stats.state() != StoreState.READY
        || stats.counts().notStored.sum() > 0
        || stats.counts().damaged.sum() > 0) {
      throw new AssertionError("not as it should be: " + stats);
    }
  }

  /** Closes it as a server that stops does, and opens it again. */
  void restart() throws Exception {
    directory.close();
    open();
  }

  /** Closes it and deletes its files. */
  @Override
  public void close() throws IOException {
    directory.close();
    MoreFiles.deleteRecursively(folder, RecursiveDeleteOption.ALLOW_INSECURE);
  }
}
