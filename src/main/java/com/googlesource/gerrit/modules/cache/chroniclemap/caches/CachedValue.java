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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import com.google.common.cache.Weigher;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.CacheDef;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.inject.TypeLiteral;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Ticket;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * A value in the heap tier, with the ticket that tells whether the value may be used.
 *
 * <p>T1 reads a value from disk, or computes it. T2 invalidates the key: it ends the key's tickets,
 * then removes the key from the heap. T1 puts the old value on the heap, where it would stay.
 * Therefore a value is unconfirmed at first, and has the ticket that T1 took before. Its first user
 * checks whether that is still current, and then either confirms or removes the value. If T2 ends
 * the ticket before this check, the value is not used; if after it, T2 removes the value itself.
 * This requires that a value is put on the heap only once, before it can be confirmed, and that its
 * ticket is closed after that.
 */
final class CachedValue<V> {
  @SuppressWarnings("rawtypes")
  private static final AtomicIntegerFieldUpdater<CachedValue> REFRESHING =
      AtomicIntegerFieldUpdater.newUpdater(CachedValue.class, "refreshing");

  final V value;

  /** When the value was made, not when it reached the heap, in milliseconds since the epoch. */
  final long created;

  /** Null once the value is confirmed. */
  @Nullable private volatile Ticket ticket;

  /** 1 while the value is being computed anew. */
  private volatile int refreshing;

  CachedValue(V value, long created, Ticket ticket) {
    this.value = value;
    this.created = created;
    this.ticket = ticket;
  }

  /**
   * Returns the definition of a cache's heap tier. Its values weigh as much as the value within;
   * its loader is passed to the factory instead.
   */
  @SuppressWarnings("unchecked")
  static <K, V> CacheDef<K, CachedValue<V>> cacheDef(PersistentCacheDef<K, V> def) {
    Weigher<K, V> weigher = def.weigher();
    Weigher<K, CachedValue<V>> within =
        weigher == null ? null : (key, cached) -> weigher.weigh(key, cached.value);
    return (CacheDef<K, CachedValue<V>>)
        Proxy.newProxyInstance(
            CachedValue.class.getClassLoader(),
            new Class<?>[] {CacheDef.class},
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "valueType" -> TypeLiteral.get(CachedValue.class);
                  case "weigher" -> within;
                  case "loader" -> null;
                  default -> method.invoke(def, arguments);
                });
  }

  /** Whether a thread that found the value on the heap may use it, and it is not too old. */
  boolean isUsable(DiskTier<?, V> disk) {
    return confirm() && !disk.isExpired(this);
  }

  /** Whether a thread that found the value on the heap may use it. */
  boolean confirm() {
    Ticket unconfirmed = ticket;
    if (unconfirmed != null && unconfirmed.hasEnded()) {
      // Asked again, as a ticket is closed after its value was confirmed.
      return ticket == null;
    }
    if (unconfirmed != null) {
      ticket = null;
    }
    return true;
  }

  /**
   * Begins to compute the value anew.
   *
   * @return false if that is under way, or if the value was not confirmed
   */
  boolean beginRefresh() {
    return ticket == null && refreshing == 0 && REFRESHING.compareAndSet(this, 0, 1);
  }

  /** Ends a refresh, so that another one may begin. No effect if there is none. */
  void endRefresh() {
    refreshing = 0;
  }
}
