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

import com.google.common.base.Splitter;
import com.googlesource.gerrit.modules.cache.chroniclemap.members.Member;

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
  private static final String HEADER = "# pack-refs with:";
  private static final String PEELED = " peeled";
  private static final String FULLY_PEELED = " fully-peeled";
  private static final String TAGS = "refs/tags/";

  /**
   * Whether {@code peeled} alone covers only tags under {@code refs/tags/}, as in git. Up to JGit
   * 7.6, the trait covers all refs. The running JGit decides, so that the answers of this module
   * and of JGit are the same. JGit introduced the class together with that change.
   */
  private static final boolean PEELED_MEANS_TAGS = Member.PEELED_TRAIT.find() != null;

  private PackedRefsTraits() {}

  /** Returns the traits of the last header among the comments of a file, as flags of a block. */
  static int flags(String comments) {
    int flags = 0;
    for (String line : Splitter.on('\n').split(comments)) {
      if (line.startsWith(HEADER)) {
        flags =
            (line.contains(PEELED) ? BlockFormat.PEELED : 0)
                | (line.contains(FULLY_PEELED) ? BlockFormat.FULLY_PEELED : 0);
      }
    }
    return flags;
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
