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

import com.google.common.cache.Cache;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;

/**
 * The changes of a cache that is in memory only while there may be a store of it, which cannot be
 * read now. The first change is noted before it is made, since the store still holds what the
 * change invalidates. Until then the store is as good as it was.
 *
 * <p>Safe for any thread.
 */
final class MissedChanges {
  /** The methods that change a cache, or return a view that does. A load changes nothing. */
  private static final ImmutableSet<String> CHANGES =
      ImmutableSet.of("put", "putAll", "invalidate", "invalidateAll", "asMap");

  private MissedChanges() {}

  /**
   * Returns the cache, for users whose changes are noted.
   *
   * @param isPure whether the cache's keys name the content, so that a put changes nothing
   * @param note notes a change; returns false if the next one has to be noted, too
   */
  @SuppressWarnings("unchecked")
  static <C extends Cache<?, ?>> C noted(C cache, boolean isPure, BooleanSupplier note) {
    Set<String> changes = Sets.filter(CHANGES, name -> !isPure || !name.startsWith("put"));
    AtomicBoolean isNoted = new AtomicBoolean();
    return (C)
        Proxy.newProxyInstance(
            MissedChanges.class.getClassLoader(),
            new Class<?>[] {cache instanceof LoadingCache ? LoadingCache.class : Cache.class},
            (proxy, method, arguments) -> {
              if (!isNoted.get() && changes.contains(method.getName())) {
                isNoted.set(note.getAsBoolean());
              }
              try {
                return method.invoke(cache, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }
}
