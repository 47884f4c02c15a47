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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import java.nio.ByteBuffer;
import java.util.List;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Ref;

/**
 * The state of a lookup: the name as bytes, the task for the block, and the result. Each thread has
 * one instance and reuses it, so that a lookup allocates nothing.
 */
final class Lookup {
  /** The most refs of a prefix that are made at once. More refs are made on demand. */
  static final int MAX_REFS_AT_ONCE = 64;

  /** What a lookup does with a block. */
  enum Task {
    /** Find the position of the target, or its insertion point. */
    PLACE,
    /** Find the target and make its ref. */
    REF,
    /** Make the refs from an index on. */
    REFS,
    /** Make the refs whose names start with the target. */
    PREFIX
  }

  private static final int SPARE = 16;
  private static final int MAX_KEPT_BYTES = 16 << 10;
  private static final ThreadLocal<Lookup> OF_THREAD = ThreadLocal.withInitial(Lookup::new);

  private final BlockView block = new BlockView();
  byte[] target = new byte[512];
  int length;

  private String name;
  private int from;
  private int most;
  private List<Ref> refs;

  /** Whether the target was found. */
  boolean found;

  /** Whether all refs with the prefix were made. */
  boolean atEnd;

  /** The position of the target, or its insertion point. */
  int index;

  /** The {@link BlockView#matched} of that position. */
  int matched;

  private Ref ref;

  private Lookup() {}

  /** Returns the thread's instance. */
  static Lookup start() {
    return OF_THREAD.get();
  }

  /** Prepares the lookup of a name. Returns null if no packed ref can have the name. */
  @Nullable
  static Lookup start(String name) {
    Lookup lookup = OF_THREAD.get();
    if (name.length() > Names.MAX_BYTES || !lookup.encode(name)) {
      return null;
    }
    lookup.name = name;
    return lookup;
  }

  /**
   * Prepares the lookup of the first name with a prefix. Returns null if the prefix has a lone
   * surrogate.
   *
   * @param afterThem to look for the place behind all names with the prefix instead
   */
  @Nullable
  static Lookup startBound(String prefix, boolean afterThem) {
    Lookup lookup = OF_THREAD.get();
    if (!lookup.encode(prefix)) {
      return null;
    }
    if (afterThem) {
      lookup.target[lookup.length++] = Names.AFTER_ALL;
    }
    lookup.found = false;
    return lookup;
  }

  private boolean encode(String text) {
    int needed = 3 * text.length() + SPARE;
    if (target.length < needed || (target.length > MAX_KEPT_BYTES && needed <= MAX_KEPT_BYTES)) {
      target = new byte[Math.max(512, needed)];
    }
    length = Names.encode(text, target);
    return length >= 0;
  }

  /** Has refs from an index on, at most so many, added to a list. */
  void collect(int firstIndex, int atMost, List<Ref> to) {
    from = firstIndex;
    most = atMost;
    refs = to;
  }

  /** Runs a task on a block. */
  void run(Task task, ByteBuffer memory) {
    found = false;
    block.open(memory);
    try {
      switch (task) {
        case PLACE -> findPlace();
        case REF -> {
          findPlace();
          if (found) {
            ref = block.ref(name);
          }
        }
        case REFS -> {
          block.seek(from);
          for (int i = 0; i < most; i++) {
            refs.add(block.ref(block.name()));
            block.advance();
          }
        }
        case PREFIX -> prefix();
      }
    } finally {
      // These objects may be large, and the thread may never look up anything again.
      refs = null;
      name = null;
      block.close();
    }
  }

  private void findPlace() {
    found = block.find(target, length);
    index = block.index;
    matched = block.matched;
  }

  private void prefix() {
    findPlace();
    atEnd = false;
    block.seek(index);
    while (block.index < block.count) {
      if (!block.nameStartsWith(target, length)) {
        atEnd = true;
        return;
      }
      if (refs.size() == most) {
        return;
      }
      refs.add(block.ref(block.name()));
      block.advance();
    }
  }

  /** Returns the ref that was made, and releases it. */
  Ref takeRef() {
    Ref taken = ref;
    ref = null;
    return taken;
  }
}
