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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.FileCounts;
import java.io.File;
import java.util.List;
import java.util.Optional;

/**
 * Figures of one repository's packed refs, all taken at about the same moment. Counts start at the
 * first read of the repository's refs.
 *
 * @param folder the repository, with symbolic links resolved
 * @param counts a copy of its counts
 * @param inMemory whether the list is in memory; if not, its figures are 0
 * @param refs number of packed refs
 * @param packedBytes size of {@code packed-refs}
 * @param offHeapBytes direct memory of the list's blocks, shared or not
 * @param blocks number of blocks
 * @param leftReason why JGit answers for the current content; empty if it does not
 * @param badRefs what was found in the last hour, at most 100: refs that are broken, can't be read
 *     or whose objects are missing, and files whose names git refuses; each with what is wrong
 */
public record RefsReport(
    File folder,
    FileCounts counts,
    boolean inMemory,
    long refs,
    long packedBytes,
    long offHeapBytes,
    long blocks,
    Optional<String> leftReason,
    List<String> badRefs) {}
