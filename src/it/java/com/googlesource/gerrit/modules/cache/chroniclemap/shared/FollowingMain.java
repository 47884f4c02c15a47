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

package com.googlesource.gerrit.modules.cache.chroniclemap.shared;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.ImportResult;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Ticket;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Value;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Reads a log into a store until it is killed, and says how many values the store has; run by
 * {@link SharedValuesIT}. Its arguments are a folder, the port of Redis, the key of the log, and
 * the number of values.
 */
final class FollowingMain {
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private FollowingMain() {}

  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]);
    String key = args[2];
    int count = Integer.parseInt(args[3]);
    SharedSettings settings = SharedSettings.of(Node.config("redis://127.0.0.1:" + args[1]));
    SharedCounts counts = new SharedCounts();
    CountDownLatch stopped = new CountDownLatch(1);
    Seal seal = new Seal(settings.secret(), key);
    String log = key + " " + seal.fingerprint();
    Follower follower =
        new Follower(
            seal,
            log,
            new Reconnection(() -> new RedisLog(settings, key), counts, "", stopped),
            new Flushes(folder.resolve("flushes")),
            counts,
            Duration.ofMillis(50),
            stopped);
    try (StoreDirectory directory = StoreDirectory.open(folder.resolve("stores"))) {
      StoreCache cache = StoreCache.open(directory, 1 << 30);
      System.out.println(valuesOf(cache));
      follower.add(cache);
      Thread thread = Thread.ofPlatform().daemon().start(follower);
      long begun = System.nanoTime();
      long had = 0;
      for (long has = 0; has < count; has = valuesOf(cache)) {
        // Only once it can go on from where it is.
        boolean isNoted =
            Checkpoint.ofText(cache.resumePoint(), log).position().compareTo(StreamId.START) > 0;
        if (isNoted && has > had) {
          had = has;
          System.out.println(has);
        }
        if (System.nanoTime() - begun > PATIENCE.toNanos()) {
          // Not by an exception, which would close the store under the follower.
          System.err.println("Error: some values do not come");
          Runtime.getRuntime().halt(1);
        }
        LockSupport.parkNanos(1_000_000);
      }
      System.out.println(count);
      // The parent's word.
      var unused = System.in.read();
      stopped.countDown();
      thread.join();
      for (int i = 0; i < count; i++) {
        Value value = cache.store().readUncounted(("key" + i).getBytes(UTF_8));
        if (!("value" + i).equals(new String(value.bytes(), UTF_8))) {
          throw new AssertionError("wrong value of key" + i);
        }
      }
      System.out.println("all are right, read " + counts.received.sum());
    }
  }

  private static long valuesOf(StoreCache cache) {
    return cache.store().stats().entries();
  }

  /** A cache for tests with a real store, without what Gerrit puts above it. */
  private record StoreCache(Store store) implements SharedCache {
    /** Opens the cache's store. */
    static StoreCache open(StoreDirectory directory, long maxBytes) throws Exception {
      Store store =
          directory.openStore(
              new StoreSettings(MemoryCache.NAME, 1, maxBytes, Optional.empty(), OldValues.PURE));
      store.awaitOpened();
      return new StoreCache(store);
    }

    @Override
    public String name() {
      return MemoryCache.NAME;
    }

    @Override
    public int version() {
      return 1;
    }

    @Override
    public boolean isOpen() {
      return store.isOpen();
    }

    @Override
    public StartReport start() {
      return store.stats().start();
    }

    @Override
    public byte[] resumePoint() {
      Value note = store.note();
      return note == null ? null : note.bytes();
    }

    @Override
    public void setResumePoint(byte[] note) {
      store.setNote(note);
    }

    @Override
    public ImportResult putIfAbsent(
        byte[] key, byte[] value, long created, BooleanSupplier isWanted) {
      Ticket ticket = store.ticket(key);
      try (ticket) {
        return isWanted.getAsBoolean()
            ? store.putIfAbsent(key, value, created, ticket)
            : ImportResult.OVER;
      }
    }
  }
}
