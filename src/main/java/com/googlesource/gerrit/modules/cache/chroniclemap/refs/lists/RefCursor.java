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

import org.eclipse.jgit.lib.Ref;

/**
 * Walks through the refs of a list by their names, for many questions in a row: one that lies close
 * ahead of where the cursor stands costs little, one far ahead or behind the logarithm of what is
 * in between. What it makes does not grow with the list.
 *
 * <p>It goes in the order of the file. That is JGit's, of {@link String#compareTo}, unless {@link
 * #isInBytes} says that it is the one of the names' bytes; questions in another order are answered
 * all the same, only not as quickly. In either order all refs that start with some prefix follow
 * each other, from {@code seek(prefix)} on.
 *
 * <p>For one thread.
 */
public final class RefCursor {
  /** Readable bytes after a name: words are loaded from anywhere. */
  private static final int SPARE = 16;

  /** The start of a surrogate, if one could stand in UTF-8 by itself. */
  private static final byte[] LONE_SURROGATE = {(byte) 0xED, (byte) 0xA0};

  private final ParsedRefs list;
  private final Root root;
  private final boolean utf16;
  private final BlockView view = new BlockView();
  private byte[] target = new byte[512];
  private byte[] prefix = new byte[512];

  /** The block that the view reads; as many as there are behind the last ref. */
  private int block;

  /** Stands at the first ref. */
  public RefCursor(ParsedRefs list) {
    this.list = list;
    this.root = list.root();
    this.utf16 = root.utf16();
    if (list.size() == 0) {
      block = root.blocks();
    } else {
      open(0);
      view.seek(0);
    }
  }

  /** Whether it goes by the names' bytes, and not as JGit does. */
  boolean isInBytes() {
    return !utf16;
  }

  /** Whether it stands behind the last ref. */
  public boolean isAtEnd() {
    return block == root.blocks();
  }

  /**
   * Goes to the first ref whose name is not before this one.
   *
   * @return whether that ref has this name
   */
  public boolean seek(String name) {
    target = reserve(target, name);
    int length = Names.encode(name, target);
    if (length < 0) {
      seek(encodeStart(name));
      return false; // no ref can have it
    }
    return seek(length);
  }

  /** What comes before the first half of a character that has no other half. */
  private int encodeStart(String name) {
    int end = 0;
    while (Character.charCount(name.codePointAt(end)) == 2
        || !Character.isSurrogate(name.charAt(end))) {
      end += Character.charCount(name.codePointAt(end));
    }
    int length = Names.encode(name.substring(0, end), target);
    System.arraycopy(LONE_SURROGATE, 0, target, length, LONE_SURROGATE.length);
    return length + LONE_SURROGATE.length;
  }

  /** Goes to the target. */
  private boolean seek(int length) {
    if (list.size() == 0) {
      return false;
    }
    int from = blockOf(length);
    if (from < 0) {
      open(0);
      view.seek(0);
      return false;
    }
    if (from != block) {
      open(from);
    }
    boolean found = view.find(target, length);
    standAt(view.index());
    return found;
  }

  /**
   * The block that has the target if any has: looks close ahead first, then further and further.
   */
  private int blockOf(int length) {
    int here = isAtEnd() ? block - 1 : block;
    if (root.compareFence(here, target, 0, length) > 0) {
      return root.blockOf(target, length, 0, here, utf16);
    }
    int low = here + 1;
    int step = 1;
    while (low < root.blocks() && root.compareFence(low, target, 0, length) <= 0) {
      here = low;
      low = low + step;
      step *= 2;
    }
    return root.blockOf(target, length, here + 1, Math.min(low, root.blocks()), utf16);
  }

  private void open(int which) {
    list.open(view, which);
    block = which;
  }

  /** Stands at an entry of the block, or at the first of the next one. */
  private void standAt(int index) {
    if (index < view.count()) {
      view.seek(index);
    } else {
      openNext();
    }
  }

  private void openNext() {
    if (block + 1 == root.blocks()) {
      block++;
      view.close();
    } else {
      open(block + 1);
      view.seek(0);
    }
  }

  /** Whether the name of the current ref starts so; false at the end. */
  public boolean startsWith(String start) {
    if (isAtEnd()) {
      return false;
    }
    prefix = reserve(prefix, start);
    int length = Names.encode(start, prefix);
    // The prefix may end with the first half of a character.
    return length < 0 ? name().startsWith(start) : view.nameStartsWith(prefix, length);
  }

  private static byte[] reserve(byte[] bytes, String name) {
    int needed = 3 * name.length() + SPARE;
    return bytes.length < needed ? new byte[2 * needed] : bytes;
  }

  /** The name of the current ref. */
  public String name() {
    return view.name();
  }

  /** The current ref. */
  Ref ref() {
    return view.ref(view.name());
  }

  /** Goes to the next ref. */
  public void next() {
    view.advance();
    if (view.index() == view.count()) {
      openNext();
    }
  }
}
