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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListMemory;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import java.util.List;
import java.util.Optional;

/**
 * What the figures of all parsed ref lists are read from, at about the same moment. Counts start
 * with the server.
 *
 * @param counts the sum of the counts of all repositories
 * @param reports of the repositories whose refs were read recently
 * @param memory of the lists
 * @param lists distinct lists in memory
 * @param loads lists that were loaded from disk
 * @param failures lookups that JGit answered because of a fault
 * @param tables the sizes in bytes of the reftables of each repository that is read from mapped
 *     ones
 * @param tableLookups lookups in these tables
 * @param disk figures of the store; empty if there is none
 * @param memoryOnlyReason why there is no store; empty if there is one
 * @param wantsDisk whether {@code cache.packed_refs.diskLimit} asks for a store
 */
public record RefsTotals(
    FileCounts counts,
    List<RefsReport> reports,
    ListMemory memory,
    List<ParsedRefs> lists,
    long loads,
    long failures,
    List<Long> tables,
    long tableLookups,
    Optional<StoreStats> disk,
    Optional<String> memoryOnlyReason,
    boolean wantsDisk) {}
