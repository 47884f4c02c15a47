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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import java.time.Duration;
import java.util.Optional;

/**
 * The settings of a store.
 *
 * @param name of the cache; part of the names of the files
 * @param version of the keys and values; another version starts empty
 * @param maxBytes hard limit of the disk of the store's file, bytes; that of an older file comes on
 *     top while it is copied for another limit
 * @param maxAge values older than this are not found any more; empty for no limit
 * @param oldValues what it would mean to find an older value of a key again
 */
public record StoreSettings(
    String name, int version, long maxBytes, Optional<Duration> maxAge, OldValues oldValues) {
  /** What the values are, and hence what it would mean to find an older one of a key again. */
  public enum OldValues {
    /** No harm: a key names what its value is made from, so each value of a key stays valid. */
    PURE,
    /** A wrong answer: the value is out of date. */
    MUTABLE,
    /** A user who signed out would be signed in again: each change is forced to disk at once. */
    SECRET
  }

  public StoreSettings(String name, int version, long maxBytes, Optional<Duration> maxAge) {
    this(name, version, maxBytes, maxAge, OldValues.MUTABLE);
  }

  /**
   * Bytes above which a value is not stored: half of a file of full size, so that a value can be
   * replaced.
   */
  long maxValue() {
    return maxValue(maxBytes);
  }

  private static long maxValue(long maxBytes) {
    return Geometry.forFileOf(maxBytes, Geometry.DEFAULT_BYTES_PER_SLOT).dataBytes() / 2;
  }

  /** The limit of the file that a value of so many bytes needs, in whole megabytes. */
  static long megabytesFor(long valueBytes) {
    long megabytes = (2 * valueBytes) >> 20;
    do {
      megabytes++;
    } while (maxValue(megabytes << 20) < valueBytes);
    return megabytes;
  }

  /**
   * Bytes above which a key is not stored. Each part of a value is stored with its whole key. A
   * record that no segment can hold would evict all others from its segment.
   */
  int maxKey() {
    return Geometry.forFileOf(maxBytes, Geometry.DEFAULT_BYTES_PER_SLOT).maxPayload();
  }
}
