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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.engine;

import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Tells before a mapped file is read or written, which may fail there as Java has it. */
public final class Touches {
  private static final Map<Path, Runnable> TOLD = new ConcurrentHashMap<>();

  static {
    RecordMap.touches = Touches::of;
  }

  private Touches() {}

  /** As an unsafe memory access does, where the disk fails under the mapping. */
  public static InternalError failure() {
    return new InternalError("a fault occurred in an unsafe memory access operation (a test)");
  }

  /** Has a file that is about to be mapped tell of each touch. */
  public static void tell(Path file, Runnable touching) {
    TOLD.put(file, touching);
  }

  private static Runnable of(Path path) {
    Runnable touching = path == null ? null : TOLD.remove(path);
    return touching == null ? () -> {} : touching;
  }
}
