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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import java.util.Optional;

/**
 * Figures of all parsed ref lists, at about the same moment. Counts are since the server's start.
 *
 * @param repositories repositories that were asked for refs of late
 * @param lists different lists in memory
 * @param refs refs of these lists
 * @param packedBytes bytes of the {@code packed-refs} files that they stand for, each list once
 * @param memoryBytes direct memory that they take together, each shared block once
 * @param heapBytes bytes on the heap that they take beside
 * @param processDirectBytes direct memory of this process, all of it: that of lists that the
 *     garbage collector has yet to find, too
 * @param memoryLimit bound on what the lists take of both
 * @param blocks different blocks in memory
 * @param parses lists made from text
 * @param reusedBlocks blocks of those that were there already
 * @param loads lists found on disk
 * @param checks times the content of a file was read
 * @param lookups questions for refs
 * @param leftToJGit contents that JGit answers for, because they are broken or unusual
 * @param evictions lists that left the memory to make room
 * @param noMemory times there was no memory for a list, so that JGit answered for a while
 * @param failures questions that JGit answered because of a fault
 * @param lastParse milliseconds since the epoch; 0 if there was none
 * @param disk figures of the store; empty if there is none
 * @param memoryOnlyReason why there is no store; empty if there is one
 */
public record RefsTotals(
    long repositories,
    long lists,
    long refs,
    long packedBytes,
    long memoryBytes,
    long heapBytes,
    long processDirectBytes,
    long memoryLimit,
    long blocks,
    long parses,
    long reusedBlocks,
    long loads,
    long checks,
    long lookups,
    long leftToJGit,
    long evictions,
    long noMemory,
    long failures,
    long lastParse,
    Optional<StoreStats> disk,
    Optional<String> memoryOnlyReason) {}
