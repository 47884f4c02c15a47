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

import java.io.File;
import java.util.Optional;

/**
 * Figures of one repository's packed refs, at about the same moment. Counts are since the
 * repository was first asked for its refs.
 *
 * @param folder the repository, without links
 * @param inMemory whether the list is in memory; if not, its figures are 0
 * @param refs number of packed refs
 * @param packedBytes bytes of {@code packed-refs}
 * @param offHeapBytes bytes of the list in direct memory: blocks, shared or not
 * @param blocks number of blocks
 * @param parses lists made from text
 * @param reusedBlocks blocks of those that were there already
 * @param found lists that were there already, in memory or on disk
 * @param checks times the content of the file was read
 * @param lookups questions for refs
 * @param leftToJGit contents that JGit answers for, because they are broken or unusual
 * @param leftReason why JGit answers for the file as it is now; empty if it does not
 * @param noMemory times there was no memory for the list, so that JGit answered for a while
 * @param lastParse milliseconds since the epoch; 0 if there was none
 * @param lastParseMicros how long that took
 */
public record RefsReport(
    File folder,
    boolean inMemory,
    long refs,
    long packedBytes,
    long offHeapBytes,
    long blocks,
    long parses,
    long reusedBlocks,
    long found,
    long checks,
    long lookups,
    long leftToJGit,
    Optional<String> leftReason,
    long noMemory,
    long lastParse,
    long lastParseMicros) {}
