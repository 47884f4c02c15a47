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

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Which versions a store may hold after what a {@link CrashLog} says.
 *
 * <p>A version that was put may be found until a change of its key has returned that began after
 * the put had returned: before that, nobody can tell which of the two was last. A version that was
 * loaded may be found until a change has returned that began after the load had: it was computed
 * from older data. A crash may lose any version.
 */
final class CrashHistory {
  private final CrashLog log;
  private final int keys;

  /** Records that were looked at. */
  private int position;

  /** For each key the latest beginning of a change that has returned. */
  private final int[] lastChange;

  /** For each key and version, the moment from which a change must have ended it. */
  private final Map<Long, Integer> goodUntil = new HashMap<>();

  /** What each thread has begun and not ended, and where. */
  private final Map<Integer, Integer> running = new HashMap<>();

  CrashHistory(CrashLog log, int keys) {
    this.log = log;
    this.keys = keys;
    this.lastChange = new int[keys];
    Arrays.fill(lastChange, -1);
  }

  /** Reads the log to its end; returns how many operations have begun since the last call. */
  int readOn() {
    int begun = 0;
    int end = log.size();
    for (; position < end; position++) {
      CrashLog.Entry entry = log.get(position);
      switch (entry.kind()) {
        case HOLE -> {}
        case PUT, LOAD, REMOVE, CLEAR -> {
          begun++;
          begin(entry);
        }
        case RETURNED -> end(entry.thread());
        case KILLED -> killed();
        case FOUND -> found(entry.key(), entry.version());
      }
    }
    return begun;
  }

  private void begin(CrashLog.Entry entry) {
    running.put(entry.thread(), position);
    if (entry.kind() == CrashLog.Kind.PUT) {
      goodUntil.put(id(entry.key(), entry.version()), Integer.MAX_VALUE);
    } else if (entry.kind() == CrashLog.Kind.LOAD) {
      goodUntil.put(id(entry.key(), entry.version()), position);
    }
  }

  private void end(int thread) {
    Integer begun = running.remove(thread);
    if (begun == null) {
      // Its beginning is a hole only if the process was killed: then it had not begun.
      throw new AssertionError("a return without a beginning at " + position);
    }
    CrashLog.Entry entry = log.get(begun);
    switch (entry.kind()) {
      case PUT -> {
        goodUntil.put(id(entry.key(), entry.version()), position);
        changed(entry.key(), begun);
      }
      case REMOVE -> changed(entry.key(), begun);
      case CLEAR -> {
        for (int key = 0; key < keys; key++) {
          changed(key, begun);
        }
      }
      default -> {}
    }
  }

  private void changed(int key, int begun) {
    lastChange[key] = Math.max(lastChange[key], begun);
  }

  /** What had not returned will not go on. */
  private void killed() {
    for (int begun : running.values()) {
      CrashLog.Entry entry = log.get(begun);
      if (entry.kind() == CrashLog.Kind.PUT) {
        goodUntil.put(id(entry.key(), entry.version()), position);
      }
    }
    running.clear();
  }

  /** What is found once is there, and what is not found is gone for ever. */
  private void found(int key, int version) {
    changed(key, position);
    if (version != 0) {
      goodUntil.put(id(key, version), position + 1);
    }
  }

  /** Whether that version may be found now. */
  boolean isAllowed(int key, int version) {
    Integer until = goodUntil.get(id(key, version));
    return until != null && lastChange[key] < until;
  }

  /** What the log says of a key, for a message. */
  String describe(int key) {
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < position; i++) {
      CrashLog.Entry entry = log.get(i);
      boolean ofAll = entry.kind() == CrashLog.Kind.CLEAR || entry.kind() == CrashLog.Kind.KILLED;
      boolean returned = entry.kind() == CrashLog.Kind.RETURNED;
      if (ofAll || entry.key() == key) {
        out.append(returned ? "" : "\n").append(' ').append(i).append(' ').append(entry);
      }
    }
    return out.substring(Math.max(0, out.length() - 4000));
  }

  private static long id(int key, int version) {
    return ((long) key << Integer.SIZE) | version;
  }
}
