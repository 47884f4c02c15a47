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

/**
 * Figures of a store, all taken at about the same moment. Counts are since the store was opened.
 *
 * @param state what the store is doing
 * @param start how its file was found
 * @param entries values on disk
 * @param liveBytes bytes of their keys and records
 * @param diskBytes bytes of the file, all of them allocated; of both files during a rebuild
 * @param maxBytes the limit of diskBytes while the file is not rebuilt
 * @param hits reads that found a value
 * @param misses reads that found none
 * @param puts values stored
 * @param notStored values that were dropped because there was no room
 * @param damaged entries found damaged by a read, a check, a repair or a rebuild
 * @param expired entries that were too old, and removed
 * @param invalidated removals that were requested; a clear counts as one
 * @param evictions values evicted to make room
 * @param growths times the file was replaced by one of another size, or by a repaired one
 * @param queued writes in the queue
 * @param faults times the disk failed the store, whatever followed from it
 * @param unrepaired damaged entries that the last check found and that are still in the file
 */
public record StoreStats(
    StoreState state,
    StartReport start,
    long entries,
    long liveBytes,
    long diskBytes,
    long maxBytes,
    long hits,
    long misses,
    long puts,
    long notStored,
    long damaged,
    long expired,
    long invalidated,
    long evictions,
    long growths,
    long queued,
    long faults,
    long unrepaired) {}
