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

import com.google.gerrit.common.Nullable;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ImportResult;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import java.util.function.BooleanSupplier;

/** A cache that takes in values of other servers. Any thread may call. */
public interface SharedCache {
  /** Its name, the same on all servers. */
  String name();

  /** The version of its keys and values. */
  int version();

  /** Whether it has a file, which may fail at any time. */
  boolean isOpen();

  /** How its file was found when it was opened last. Each opening has a report of its own. */
  StartReport start();

  /**
   * Takes in a value, unless the cache has one for the key.
   *
   * @param created milliseconds since the epoch at which the value was computed
   * @param isWanted asked once; if the cache is flushed after it was asked, the value is not taken
   *     in
   */
  ImportResult putIfAbsent(byte[] key, byte[] value, long created, BooleanSupplier isWanted);

  /**
   * Reads from where in the log to go on. This is kept in the cache's file beside its values, and
   * is lost when they are.
   *
   * @return null if there is none, or it cannot be read now
   */
  @Nullable
  byte[] resumePoint();

  /** Replaces that, later or not at all if it cannot be written now. */
  void setResumePoint(byte[] point);
}
