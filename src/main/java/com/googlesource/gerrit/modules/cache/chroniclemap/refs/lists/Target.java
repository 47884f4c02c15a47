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

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;
import org.eclipse.jgit.annotations.Nullable;

/**
 * A name to search for, or a bound between names, as UTF-8.
 *
 * @param bytes has 8 more readable bytes, as names are compared in words
 */
record Target(byte[] bytes, int length) {
  /** Returns null if the text has a lone surrogate and thus no UTF-8 form. */
  @Nullable
  static Target of(String text) {
    byte[] bytes = text.getBytes(UTF_8);
    return new String(bytes, UTF_8).equals(text) ? withSpare(bytes) : null;
  }

  private static Target withSpare(byte[] bytes) {
    return new Target(Arrays.copyOf(bytes, bytes.length + Long.BYTES), bytes.length);
  }

  /** The bound behind all names that start with this. */
  Target afterAll() {
    byte[] bound = Arrays.copyOf(bytes, length + 1);
    bound[length] = Names.AFTER_ALL;
    return withSpare(bound);
  }
}
