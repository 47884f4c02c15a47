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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared;

import com.google.common.collect.ImmutableSet;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.serialize.JavaCacheSerializer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;

/**
 * The values of one cache on the shared server.
 *
 * <p>Asking costs a round trip, and computing the value as well if the server does not have it. So
 * both are measured as they happen, together with how often the server has a value, and the server
 * is only asked if that is cheaper on average. Safe for any thread.
 */
public final class SharedCache {
  /**
   * The names of the caches that are shared: those whose keys name immutable content, and whose
   * serializers are not Java's. Left out are {@code external_ids_map}, which has the hashes of
   * passwords, and {@code persisted_projects}, as plugins keep passwords in projects' settings.
   */
  static final ImmutableSet<String> NAMES =
      ImmutableSet.of(
          "accounts",
          "change_kind",
          "change_notes",
          "gerrit_file_diff",
          "git_file_diff",
          "git_modified_files",
          "groups_byuuid_persisted",
          "groups_external_persisted",
          "mergeability",
          "modified_files",
          "pure_revert");

  /** So many keys are asked for in one round trip at most. */
  private static final int KEYS_AT_ONCE = 256;

  /** One in so many keys is asked for though it does not pay, to notice when it does. */
  private static final int TRIED_ONE_IN = 32;

  /** A larger value is neither sent nor taken. */
  static final int MOST_BYTES = 64 << 20;

  private final SharedTier tier;
  private final Seal seal;

  private final LongAdder hits = new LongAdder();
  private final LongAdder misses = new LongAdder();
  private final LongAdder notAsked = new LongAdder();
  private final LongAdder rejected = new LongAdder();
  private final LongAdder received = new LongAdder();

  /** Of the answers to one key, with or without a value. */
  private final Average askNanos = new Average();

  private final Average loadNanos = new Average();
  private final Average hitRate = new Average();

  /** Values that were made until then are not taken, in milliseconds since the epoch. */
  private volatile long distrustedUntil = Long.MIN_VALUE;

  SharedCache(SharedTier tier, Seal seal) {
    this.tier = tier;
    this.seal = seal;
  }

  /** Whether values of a cache may leave this machine and may be taken from another one. */
  static boolean isShared(PersistentCacheDef<?, ?> def) {
    return NAMES.contains(def.name())
        && !(def.keySerializer() instanceof JavaCacheSerializer)
        && !(def.valueSerializer() instanceof JavaCacheSerializer);
  }

  /**
   * Returns the values of keys, in their order, and null for each that the server does not have.
   * Waits no longer than the time-out for each 256 keys, and after a failure not at all.
   *
   * @return empty if the server is not asked, or does not answer
   */
  public Optional<List<SharedValue>> getAll(List<byte[]> keys) {
    List<SharedValue> found = new ArrayList<>(keys.size());
    boolean hasAnswered = false;
    for (int from = 0; from < keys.size(); from += KEYS_AT_ONCE) {
      hasAnswered |= ask(keys.subList(from, Math.min(from + KEYS_AT_ONCE, keys.size())), found);
    }
    return hasAnswered ? Optional.of(found) : Optional.empty();
  }

  private boolean ask(List<byte[]> keys, List<SharedValue> found) {
    boolean isWorthIt = isWorthAsking();
    boolean isAsked = isWorthIt || ThreadLocalRandom.current().nextInt(TRIED_ONE_IN) == 0;
    List<byte[]> names = isAsked ? keys.stream().map(seal::nameOf).toList() : null;
    long begun = System.nanoTime();
    List<byte[]> values = isAsked ? tier.fetch(names) : null;
    if (values == null) {
      notAsked.add(keys.size());
      found.addAll(Collections.nCopies(keys.size(), null));
      return false;
    }
    for (int i = 0; i < names.size(); i++) {
      SharedValue value = open(names.get(i), values.get(i));
      found.add(value);
      add(hitRate, value == null ? 0 : 1, isWorthIt);
    }
    add(askNanos, (double) (System.nanoTime() - begun) / keys.size(), isWorthIt);
    return true;
  }

  private static void add(Average average, double measured, boolean isWorthIt) {
    if (isWorthIt) {
      average.add(measured);
    } else {
      average.addRare(measured);
    }
  }

  /** Whether it takes less time on average to ask, and to compute what the server does not have. */
  private boolean isWorthAsking() {
    return !isMeasured() || askNanos.get() <= hitRate.get() * loadNanos.get();
  }

  private boolean isMeasured() {
    return askNanos.isKnown() && loadNanos.isKnown();
  }

  /**
   * Whether others may want to ask for a value. Sending delays nobody, so this is judged by the
   * best that was seen: this node may be busier than they are.
   */
  private boolean isWorthSending() {
    return !isMeasured() || askNanos.lowest() <= loadNanos.get();
  }

  @Nullable
  private SharedValue open(byte[] name, @Nullable byte[] value) {
    SharedValue opened = value == null ? null : seal.open(name, value);
    boolean isHit = opened != null && opened.created() > distrustedUntil;
    if (value != null) {
      received.add(value.length);
    }
    if (isHit) {
      hits.increment();
      loadNanos.add((double) opened.loadNanos());
      return opened;
    }
    (value != null && opened == null ? rejected : misses).increment();
    return null;
  }

  /**
   * Has a value that was computed sent to the server, in the background.
   *
   * @param value as its serializer made it; must not be changed afterwards
   * @param created when it was made, in milliseconds since the epoch
   * @param nanos how long it took to compute it
   */
  public void fill(byte[] key, byte[] value, long created, long nanos) {
    loadNanos.add((double) nanos);
    if (isWorthSending() && value.length <= MOST_BYTES) {
      tier.send(new SharedTier.Sent(seal, key.clone(), value, created, nanos));
    }
  }

  /**
   * Has this node take no value any more that was made until now. For an administrator who flushes
   * a cache, as a value seems to be wrong.
   */
  public void distrust() {
    distrustedUntil = System.currentTimeMillis();
  }

  /** Returns the figures since the start. */
  public SharedStats stats() {
    return new SharedStats(
        hits.sum(), misses.sum(), notAsked.sum(), rejected.sum(), received.sum(), isWorthAsking());
  }
}
