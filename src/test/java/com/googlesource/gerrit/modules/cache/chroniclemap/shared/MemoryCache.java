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
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;

/** An in-memory cache for tests, which can fail and be emptied like a file. */
final class MemoryCache implements SharedCache {
  static final String NAME = "change_kind";

  final Map<String, String> values = new ConcurrentHashMap<>();
  final int version;
  volatile StartReport start;
  volatile boolean isOpen = true;
  volatile byte[] note;

  /** The key of a value that cannot be handled. */
  volatile String poison = "";

  MemoryCache(int version, StartReport.Kind kind) {
    this.version = version;
    this.start = new StartReport(kind, "", 0, 0);
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public int version() {
    return version;
  }

  @Override
  public boolean isOpen() {
    return isOpen;
  }

  @Override
  public StartReport start() {
    return start;
  }

  @Override
  public byte[] resumePoint() {
    return note;
  }

  @Override
  public void setResumePoint(byte[] note) {
    this.note = note;
  }

  /** Empties the cache as a fault of the disk does. */
  void replace() {
    values.clear();
    note = null;
    start = new StartReport(StartReport.Kind.REPLACED, "a fault", 0, 0);
  }

  @Override
  public ImportResult putIfAbsent(
      byte[] key, byte[] value, long created, BooleanSupplier isWanted) {
    String text = new String(key, UTF_8);
    if (text.equals(poison)) {
      throw new OutOfMemoryError("of a test");
    }
    if (!isOpen || !isWanted.getAsBoolean()) {
      return ImportResult.OVER;
    }
    return values.putIfAbsent(text, new String(value, UTF_8)) == null
        ? ImportResult.STORED
        : ImportResult.KNOWN;
  }
}
