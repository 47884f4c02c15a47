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
import com.google.common.collect.Sets;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.serialize.JavaCacheSerializer;
import com.google.gerrit.server.patch.filediff.FileDiffOutput;
import com.google.gerrit.server.patch.gitfilediff.GitFileDiff;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;

/**
 * The values of one cache on the shared server.
 *
 * <p>Asking costs a round trip, and computing the value as well if the server does not have it. So
 * both are measured as they happen, together with how often the server has a value, and the server
 * is only asked if that takes less time: the median of its round trips, compared with the average
 * of the loads. Safe for any thread.
 */
public final class SharedCache {
  /**
   * The names of the caches that are shared: those whose keys name immutable content, and whose
   * serializers are not Java's. Left out are {@code external_ids_map}, which has the hashes of
   * passwords, and {@code persisted_projects}, as plugins keep passwords in projects' settings.
   */
  static final ImmutableSet<String> NAMES =
      Sets.difference(
              PureCaches.NAMES,
              Set.of("diff_intraline", "diff_summary", "external_ids_map", "persisted_projects"))
          .immutableCopy();

  /** So many keys are asked for in one round trip at most. */
  private static final int KEYS_AT_ONCE = 64;

  /** While asking does not pay, one in so many lookups asks at most, to notice when it does. */
  private static final int TRIED_ONE_IN = 32;

  /** These lookups may make loads slower by this share on average, however far the server is. */
  private static final double MOST_TRIED = 0.02;

  /** A larger value is not sent, as others would have no time to take it. */
  private static final int MOST_BYTES = 4 << 20;

  /** No value on the server is larger. */
  static final int MOST_SEALED_BYTES = MOST_BYTES + 1024;

  /** The clocks of other nodes may be ahead by so much. */
  private static final long CLOCK_MILLIS = 60_000;

  /**
   * Caches whose values are made from diffs. If one of these diffs ran into Gerrit's time-out, the
   * value lacks what it would have shown.
   */
  private static final ImmutableSet<String> TIMED =
      ImmutableSet.of("gerrit_file_diff", "git_file_diff");

  private final SharedTier tier;
  private final Seal seal;
  private final long timeoutNanos;
  private final long mostLoadNanos;

  private final LongAdder hits = new LongAdder();
  private final LongAdder misses = new LongAdder();
  private final LongAdder notAsked = new LongAdder();
  private final LongAdder rejected = new LongAdder();
  private final LongAdder received = new LongAdder();

  /** Of the answers to one key, with or without a value. */
  private final MedianTime askNanos = new MedianTime();

  private final Average loadNanos = new Average();
  private final Average hitRate = new Average();

  /** Values that were made until then are not taken, in milliseconds since the epoch. */
  private volatile long distrustedUntil = Long.MIN_VALUE;

  SharedCache(SharedTier tier, SharedSettings settings, PersistentCacheDef<?, ?> def) {
    this.tier = tier;
    this.seal = new Seal(settings, def.name(), def.version());
    this.timeoutNanos = settings.timeout().toNanos();
    this.mostLoadNanos =
        TIMED.contains(def.name()) ? settings.diffTimeout().toNanos() : Long.MAX_VALUE;
  }

  /** Whether values of a cache may leave this machine and may be taken from another one. */
  static boolean isShared(PersistentCacheDef<?, ?> def) {
    return NAMES.contains(def.name())
        && !(def.keySerializer() instanceof JavaCacheSerializer)
        && !(def.valueSerializer() instanceof JavaCacheSerializer);
  }

  /**
   * Returns the values of keys, in their order, and null for each that the server does not have.
   * Waits no longer than twice the time-out, and after a failure not at all.
   *
   * @return empty if the server is not asked, or does not answer
   */
  public Optional<List<SharedValue>> getAll(List<byte[]> keys) {
    long begun = System.nanoTime();
    List<SharedValue> found = new ArrayList<>(Collections.nCopies(keys.size(), null));
    int asked = 0;
    boolean isWorthIt = isWorthAsking();
    if (isWorthIt || ThreadLocalRandom.current().nextDouble() < triedShare()) {
      try {
        while (asked < keys.size() && System.nanoTime() - begun < timeoutNanos) {
          int end = Math.min(asked + KEYS_AT_ONCE, keys.size());
          if (!hasAsked(keys.subList(asked, end), found.subList(asked, end), isWorthIt)) {
            break;
          }
          asked = end;
        }
      } catch (RuntimeException | Error e) {
        // A server never fails a request because of a cache.
        tier.failed(e);
      }
    }
    notAsked.add(keys.size() - asked);
    return asked == 0 ? Optional.empty() : Optional.of(found);
  }

  private boolean hasAsked(List<byte[]> keys, List<SharedValue> found, boolean isWorthIt) {
    if (!tier.isAnswering()) {
      return false;
    }
    long begun = System.nanoTime();
    List<byte[]> names = keys.stream().map(seal::nameOf).toList();
    List<byte[]> values = tier.fetch(names);
    if (values == null) {
      return false;
    }
    for (int i = 0; i < names.size(); i++) {
      SharedValue value = open(names.get(i), values.get(i));
      found.set(i, value);
      double hit = value == null ? 0 : 1;
      if (isWorthIt) {
        hitRate.add(hit);
      } else {
        hitRate.addRare(hit);
      }
    }
    askNanos.add((System.nanoTime() - begun) / keys.size());
    return true;
  }

  /** Whether it takes less time to ask, and to compute what the server does not have. */
  private boolean isWorthAsking() {
    return !isMeasured() || askNanos.get() <= hitRate.get() * loadNanos.get();
  }

  private double triedShare() {
    return Math.min(1.0 / TRIED_ONE_IN, MOST_TRIED * loadNanos.get() / askNanos.get());
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
      if (opened.loadNanos() > 0) {
        loadNanos.add((double) opened.loadNanos());
      }
      return opened;
    }
    (value != null && opened == null ? rejected : misses).increment();
    return null;
  }

  /**
   * Has a value that was computed sent to the server, in the background.
   *
   * @param loaded the value, which stays here if it is a poor one
   * @param value as its serializer made it; must not be changed afterwards
   * @param created when it was made, in milliseconds since the epoch
   * @param nanos how long it took to compute it
   * @param allNanos how long it took to compute all that were computed together
   */
  public void fill(
      byte[] key, Object loaded, byte[] value, long created, long nanos, long allNanos) {
    loadNanos.add((double) nanos);
    if (allNanos < mostLoadNanos) {
      send(key, loaded, value, created, nanos);
    }
  }

  /** Like {@link #fill}, for a value of which nobody knows how long it took to compute it. */
  public void fillUntimed(byte[] key, Object loaded, byte[] value, long created) {
    send(key, loaded, value, created, (long) loadNanos.get());
  }

  private void send(byte[] key, Object loaded, byte[] value, long created, long nanos) {
    if (isWorthSending() && value.length <= MOST_BYTES && !isPoor(loaded)) {
      tier.send(new SharedTier.Unsent(seal, key.clone(), value, created, nanos));
    }
  }

  /**
   * Whether Gerrit may have made a value because it could not make a better one. A diff is negative
   * if it was too expensive, or if its thread was interrupted. It is empty if a file could not be
   * read, or if nothing has changed.
   */
  static boolean isPoor(Object loaded) {
    return (loaded instanceof GitFileDiff file && file.isNegative())
        || (loaded instanceof FileDiffOutput diff && (diff.isNegative() || diff.isEmpty()));
  }

  /**
   * Makes this node refuse values that were made before now, until it restarts. For an
   * administrator who flushes a cache, as a value seems to be wrong.
   */
  public void distrust() {
    distrustedUntil = System.currentTimeMillis() + CLOCK_MILLIS;
  }

  /** Returns the figures since the start. */
  public SharedStats stats() {
    return new SharedStats(
        hits.sum(), misses.sum(), notAsked.sum(), rejected.sum(), received.sum(), isWorthAsking());
  }
}
