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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.current;

/**
 * The name of a ref, looked through once. Clients send any text for a name.
 *
 * @param isSafe whether the name leads to no other file than that of the ref, and to no lock file
 * @param isAllowed whether git allows the name, so that its file may be a ref. Files of other names
 *     are leftovers, such as those of NFS ({@code .nfs0123}) and of editors ({@code master~}),
 *     whatever they hold
 */
public record RefName(String text, boolean isSafe, boolean isAllowed) {
  /** Looks through a name. */
  public static RefName of(String name) {
    boolean isSafe = !isTooLong(name);
    boolean isAllowed = !name.endsWith(".") && !name.equals("@");
    for (int start = 0, slash; start <= name.length(); start = slash + 1) {
      slash = name.indexOf('/', start);
      slash = slash < 0 ? name.length() : slash;
      boolean mayBePart = mayBePart(name, start, slash);
      isAllowed &= mayBePart;
      isSafe &= mayBePart || leadsNowhereElse(name.substring(start, slash));
    }
    return new RefName(name, isSafe, isAllowed);
  }

  /** Folders never list the first three. */
  private static boolean leadsNowhereElse(String part) {
    return !part.isEmpty()
        && !part.equals(".")
        && !part.equals("..")
        && !part.endsWith(RefPaths.LOCK);
  }

  /** Whether git's check-ref-format allows a part of a name. */
  static boolean mayBePart(String name, int start, int end) {
    char before = '.'; // as if a part that starts with a dot had two of them
    for (int i = start; i < end; i++) {
      char c = name.charAt(i);
      if (c <= ' '
          || "\u007f~^:?*[\\".indexOf(c) >= 0
          || (before == '.' && c == '.')
          || (before == '@' && c == '{')) {
        return false;
      }
      before = c;
    }
    int suffix = RefPaths.LOCK.length();
    return start < end && !name.regionMatches(end - suffix, RefPaths.LOCK, 0, suffix);
  }

  /** Whether a name has more bytes than any ref's: 4096. */
  public static boolean isTooLong(String name) {
    return RefPaths.isLonger(name, RefPaths.MAX_BYTES);
  }

  /** Whether a prefix leads to no other folder than that of its name, and a ref may have it. */
  public static boolean isSafePrefix(String prefix) {
    int slash = prefix.lastIndexOf('/');
    return !isTooLong(prefix) && (slash < 0 || of(prefix.substring(0, slash)).isSafe);
  }
}
