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

import com.google.common.base.Throwables;
import com.google.common.collect.ImmutableMap;

/** What keeps a store from its file for now, and the way out, in words for an administrator. */
final class WayOut {
  private static final String OWNER = "give the folder and all its files to Gerrit's user";
  private static final String MEMORY =
      "free memory, or raise vm.max_map_count or the limit of the address space";

  /** What to do, by a part of the cause's text. */
  private static final ImmutableMap<String, String> ADVICE =
      ImmutableMap.of(
          "Too many open files", "raise LimitNOFILE of Gerrit's service, or ulimit -n",
          "AccessDeniedException", OWNER,
          "Permission denied", OWNER,
          "Read-only file system", "mount the file system for writing",
          "No space left", "free disk space, or lower the cache's diskLimit",
          "OutOfMemoryError", MEMORY,
          "Cannot allocate memory", MEMORY,
          "Map failed", MEMORY,
          "NoClassDefFoundError", "restart Gerrit: its jar may have been replaced");

  private WayOut() {}

  /** Returns the cause of a failure, with what to do in brackets. */
  static String of(Throwable failure) {
    String cause = Throwables.getRootCause(failure).toString();
    for (String part : ADVICE.keySet()) {
      if (cause.contains(part)) {
        return cause + " (" + ADVICE.get(part) + ")";
      }
    }
    return cause + " (see the log, and check the disk)";
  }
}
