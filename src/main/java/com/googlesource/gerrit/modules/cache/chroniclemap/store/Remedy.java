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

/**
 * The table of what keeps a store from its folder or file for now, and of the way out, in words for
 * an administrator.
 */
public final class Remedy {
  private static final String OWNER = "give the folder and all its files to Gerrit's user";
  private static final String MEMORY =
      "free memory, or raise vm.max_map_count or the limit of the address space";

  /** What to do, by a part of the cause's text. */
  private static final ImmutableMap<String, String> ADVICE =
      ImmutableMap.<String, String>builder()
          .put("Too many open files", "raise LimitNOFILE of Gerrit's service, or ulimit -n")
          .put("AccessDeniedException", OWNER)
          .put("Permission denied", OWNER)
          .put("Operation not permitted", OWNER)
          .put("Read-only file system", "mount the file system for writing")
          .put("No space left", "free disk space, or lower the cache's diskLimit")
          .put("Disk quota exceeded", "raise the quota, or lower the cache's diskLimit")
          .put("No locks available", "start the lock service of its file server, or use local disk")
          .put("FileAlreadyExistsException", "a file or a broken link has that name: move it away")
          .put("in use by another process", "end that process")
          .put("NoSuchFileException", "it was deleted, or is a broken link: remove the link")
          .put("OutOfMemoryError", MEMORY)
          .put("Cannot allocate memory", MEMORY)
          .put("Map failed", MEMORY)
          .put("NoClassDefFoundError", "restart Gerrit: its jar may have been replaced")
          .build();

  private Remedy() {}

  /** Returns the cause of a failure, with what to do in brackets. */
  public static String of(Throwable failure) {
    String cause = Throwables.getRootCause(failure).toString();
    for (String part : ADVICE.keySet()) {
      if (cause.contains(part)) {
        return cause + " (" + ADVICE.get(part) + ")";
      }
    }
    return cause + " (see the log, and check the disk)";
  }
}
