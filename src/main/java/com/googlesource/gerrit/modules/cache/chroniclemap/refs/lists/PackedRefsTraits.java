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

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.googlesource.gerrit.modules.cache.chroniclemap.members.Member;
import java.util.Arrays;

/**
 * The traits that the header of a {@code packed-refs} file declares, as JGit interprets them, and
 * the flags of a list that stand for them:
 *
 * <ul>
 *   <li>{@code peeled}: tags under {@code refs/tags/} have a peeled id
 *   <li>{@code fully-peeled}: all tags have a peeled id
 * </ul>
 */
final class PackedRefsTraits {
  private static final byte[] HEADER = "# pack-refs with:".getBytes(US_ASCII);
  private static final byte[] PEELED = " peeled".getBytes(US_ASCII);
  private static final byte[] FULLY_PEELED = " fully-peeled".getBytes(US_ASCII);
  private static final String TAGS = "refs/tags/";

  /**
   * Whether {@code peeled} alone covers only tags under {@code refs/tags/}, as in git. Up to JGit
   * 7.6, the trait covers all refs. The running JGit decides, so that the answers of this module
   * and of JGit are the same. JGit introduced the class together with that change.
   */
  private static final boolean PEELED_MEANS_TAGS = Member.PEELED_TRAIT.find() != null;

  private PackedRefsTraits() {}

  /** Whether a line is a header. */
  static boolean isHeader(byte[] text, int line, int lineEnd) {
    return startsWith(text, line, lineEnd, HEADER);
  }

  /** Returns the traits of a header as flags. */
  static int flags(byte[] text, int line, int lineEnd) {
    int flags = 0;
    for (int i = line + HEADER.length; i < lineEnd; i++) {
      if (startsWith(text, i, lineEnd, PEELED)) {
        flags |= BlockFormat.PEELED;
      } else if (startsWith(text, i, lineEnd, FULLY_PEELED)) {
        flags |= BlockFormat.FULLY_PEELED;
      }
    }
    return flags;
  }

  private static boolean startsWith(byte[] text, int at, int limit, byte[] word) {
    return limit - at >= word.length
        && Arrays.equals(text, at, at + word.length, word, 0, word.length);
  }

  /**
   * Whether a ref without a peeled id is known not to be a tag.
   *
   * @param flags of the block
   */
  static boolean isPeeled(int flags, String name) {
    return PEELED_MEANS_TAGS
        ? (flags & BlockFormat.FULLY_PEELED) != 0
            || ((flags & BlockFormat.PEELED) != 0 && name.startsWith(TAGS))
        : (flags & BlockFormat.PEELED) != 0;
  }
}
