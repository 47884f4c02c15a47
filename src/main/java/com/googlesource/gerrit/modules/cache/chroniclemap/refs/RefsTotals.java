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
 * Figures of all parsed ref lists, taken at about the same moment. Counts start with the server.
 *
 * @param repositories repositories whose refs were read recently
 * @param lists distinct lists in memory
 * @param refs refs of these lists
 * @param packedBytes size of the {@code packed-refs} files of these lists, each list once
 * @param memoryBytes direct memory of these lists, each shared block once
 * @param idIndexBytes direct memory of the indexes of ids, beside that of the lists
 * @param heapBytes heap of these lists, and of the Ref objects that are kept for their next readers
 * @param processDirectBytes direct memory of the whole process, including evicted lists that the
 *     garbage collector has not found yet
 * @param memoryLimit bound on the direct memory and the heap of the lists
 * @param blocks distinct blocks in memory
 * @param parses lists that were made from text
 * @param reusedBlocks blocks of these lists that existed already
 * @param loads lists that were loaded from disk
 * @param checks reads of a file's content
 * @param lookups lookups of refs
 * @param leftToJGit contents that were left to JGit
 * @param evictions lists that were evicted from memory
 * @param noMemory lists for which there was no memory, so that JGit answered for a while
 * @param failures lookups that JGit answered because of a fault
 * @param badRefs refs and files that were found bad in the last hour, see {@link
 *     RefsReport#badRefs}
 * @param lastParse time of the last parse in milliseconds since the epoch; 0 if there was none
 * @param reftables repositories that are read from mapped reftables
 * @param tableBytes size of these tables
 * @param tableLookups lookups in these tables
 * @param disk figures of the store; empty if there is none
 * @param memoryOnlyReason why there is no store; empty if there is one
 */
public record RefsTotals(
    long repositories,
    long lists,
    long refs,
    long packedBytes,
    long memoryBytes,
    long idIndexBytes,
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
    long badRefs,
    long lastParse,
    long reftables,
    long tableBytes,
    long tableLookups,
    Optional<StoreStats> disk,
    Optional<String> memoryOnlyReason) {}
