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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.scale;

import com.google.common.util.concurrent.UncheckedExecutionException;
import com.google.gerrit.common.Nullable;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.CachePeer;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.OpenCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Ticket;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Value;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.ExecutionException;

/** A persistent cache that is open, of this module or of a peer. */
interface ScaledCache extends AutoCloseable {
  /** When its opening began, as {@link System#nanoTime} tells. */
  long begun();

  /**
   * Reads a value from disk.
   *
   * @return null if there is none
   */
  @Nullable
  byte[] read(int number);

  /** Puts a value in place of an older one, as Gerrit does when it knows a new one. */
  void put(int number, byte[] value);

  /** Removes a value, as Gerrit does when it is out of date. */
  void remove(int number);

  /** Stores a value that was just computed because none was found, as Gerrit does mostly. */
  void store(int number, byte[] value);

  /** Returns when all that was put is on its way to the disk and nothing waits. */
  void drain();

  /** Whether what waits may fill the heap, so that who writes a lot must wait now and then. */
  boolean queuesWithoutBound();

  /** Number of values. */
  long entries();

  /** What its file takes of the disk, without holes; of a peer, all of its files. */
  long diskBytes() throws IOException;

  /** Number of values that were put and not stored, for lack of room in a queue. */
  long lost();

  /** How its file was found, in one word. */
  String found();

  @Override
  void close();

  /** A store of this module. */
  final class Ours implements ScaledCache {
    private final StoreDirectory directory;
    private final Store store;
    private final long begun = System.nanoTime();

    /** Opens it; returns when it is open. */
    Ours(Path folder, long maxBytes) throws Exception {
      directory = StoreDirectory.open(folder);
      store = directory.openStore(new StoreSettings("scale", 1, maxBytes, Optional.empty()));
      store.awaitOpened();
      if (store.stats().state() != StoreState.READY) {
        throw new IllegalStateException("the store did not open: " + store.stats());
      }
    }

    Store store() {
      return store;
    }

    @Override
    public long begun() {
      return begun;
    }

    @Override
    @Nullable
    public byte[] read(int number) {
      Value found = store.read(Values.keyBytes(number));
      return found == null ? null : found.bytes();
    }

    @Override
    public void put(int number, byte[] value) {
      store.put(Values.keyBytes(number), value, System.currentTimeMillis());
    }

    @Override
    public void remove(int number) {
      store.remove(Values.keyBytes(number));
    }

    @Override
    public void store(int number, byte[] value) {
      byte[] key = Values.keyBytes(number);
      Ticket ticket = store.ticket(key);
      try (ticket) {
        store.putIfCurrent(key, value, System.currentTimeMillis(), ticket);
      }
    }

    @Override
    public void drain() {
      store.flush();
    }

    @Override
    public boolean queuesWithoutBound() {
      return false;
    }

    @Override
    public long entries() {
      return store.stats().entries();
    }

    @Override
    public long diskBytes() {
      return store.stats().diskBytes();
    }

    @Override
    public long lost() {
      return store.stats().counts().notStored.sum();
    }

    @Override
    public String found() {
      return store.stats().start().kind().name();
    }

    @Override
    public void close() {
      directory.close();
    }
  }

  /**
   * Gerrit's own cache, as its daemon makes, starts and stops it, with nothing kept on the heap.
   */
  final class OfH2 implements ScaledCache {
    private final Path site;
    private final OpenCache cache;

    /** Opens it; returns when its filter of known keys is built: until then it finds nothing. */
    OfH2(Path site, long maxBytes) {
      this.site = site;
      cache = new OpenCache(CachePeer.H2, site, maxBytes);
    }

    @Override
    public long begun() {
      return cache.begun();
    }

    @Override
    @Nullable
    public byte[] read(int number) {
      try {
        return cache.get(Values.key(number));
      } catch (ExecutionException | UncheckedExecutionException notOnDisk) {
        // There is no source to compute it from.
        return null;
      }
    }

    @Override
    public void put(int number, byte[] value) {
      cache.put(Values.key(number), value);
    }

    @Override
    public void remove(int number) {
      cache.remove(Values.key(number));
    }

    /** It does the same for both. */
    @Override
    public void store(int number, byte[] value) {
      put(number, value);
    }

    @Override
    public void drain() {
      cache.drain();
    }

    @Override
    public boolean queuesWithoutBound() {
      return true;
    }

    @Override
    public long entries() {
      return cache.entriesOnDisk();
    }

    @Override
    public long diskBytes() throws IOException {
      long bytes = 0;
      for (Path file : Folders.files(site, f -> true)) {
        try {
          bytes += Files.size(file);
        } catch (NoSuchFileException goneMeanwhile) {
          // It was just replaced: it takes nothing.
        }
      }
      return bytes;
    }

    /** It keeps all that it cannot write yet on the heap. */
    @Override
    public long lost() {
      return 0;
    }

    @Override
    public String found() {
      return "OPEN";
    }

    @Override
    public void close() {
      cache.close();
    }
  }
}
