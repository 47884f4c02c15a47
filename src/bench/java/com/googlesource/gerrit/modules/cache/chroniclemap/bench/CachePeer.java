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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import com.google.common.cache.Cache;
import com.google.common.util.concurrent.Futures;
import com.google.gerrit.server.cache.h2.CacheStoreExecutor;
import com.google.gerrit.server.cache.h2.H2CacheModule;
import com.google.inject.Injector;
import com.google.inject.Key;
import com.google.inject.Module;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CachesModule;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.TestSite;
import java.util.List;
import java.util.concurrent.ExecutorService;

/** Whose persistent caches are measured. */
public enum CachePeer implements Bench.Peer {
  /** This module's. */
  OURS("ours") {
    @Override
    Module module() {
      return new CachesModule();
    }

    @Override
    void awaitOpen(Injector injector, Cache<?, ?> cache) {
      TestSite.awaitOpened(cache);
    }

    @Override
    void drain(Injector injector, Cache<?, ?> cache) {
      TestSite.flush(cache);
    }
  },

  /** Gerrit's own, as its daemon installs them. */
  H2("H2") {
    @Override
    Module module() {
      return new H2CacheModule();
    }

    @Override
    void awaitOpen(Injector injector, Cache<?, ?> cache) {
      // Opening is the first task of its writer.
      drain(injector, cache);
    }

    @Override
    void drain(Injector injector, Cache<?, ?> cache) {
      // Its one thread writes in the order of the puts.
      Key<ExecutorService> writer = Key.get(ExecutorService.class, CacheStoreExecutor.class);
      Futures.getUnchecked(injector.getInstance(writer).submit(() -> {}));
    }
  },

  /** What can be made of LMDB, a fast embedded store. */
  LMDB("LMDB") {
    @Override
    Module module() {
      return new LmdbCache.FactoryModule();
    }

    /** It is open when it is made. */
    @Override
    void awaitOpen(Injector injector, Cache<?, ?> cache) {}

    /** A put returns when it is in the file. */
    @Override
    void drain(Injector injector, Cache<?, ?> cache) {}

    @Override
    List<String> flags() {
      // It reads the address of a buffer, and need not look at arguments that are known to be
      // right.
      return List.of(
          "--add-opens=java.base/java.nio=ALL-UNNAMED", "-Dlmdbjava.disable.checks=true");
    }
  };

  private final String title;

  CachePeer(String title) {
    this.title = title;
  }

  @Override
  public String title() {
    return title;
  }

  /** What its Java process needs, besides the flags of this module. */
  List<String> flags() {
    return List.of();
  }

  /** What binds Gerrit's {@code PersistentCacheFactory}. */
  abstract Module module();

  /** Returns when a cache that was started is ready: until then figures would mean nothing. */
  abstract void awaitOpen(Injector injector, Cache<?, ?> cache);

  /** Returns when all that was put to a cache is on disk. */
  abstract void drain(Injector injector, Cache<?, ?> cache);
}
