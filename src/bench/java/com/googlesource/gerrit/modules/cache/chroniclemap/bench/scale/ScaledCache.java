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

import com.google.gerrit.common.Nullable;
import java.io.IOException;

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
}
