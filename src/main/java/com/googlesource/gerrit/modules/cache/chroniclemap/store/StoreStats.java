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
 * Figures of a store, all taken at about the same moment.
 *
 * @param state what the store is doing
 * @param start how its file was found
 * @param counts a copy of its counts
 * @param entries values on disk
 * @param liveBytes bytes of their keys and records
 * @param diskBytes bytes of the file that have disk
 * @param maxBytes the limit of diskBytes
 * @param queued writes in the queue
 * @param unrepaired damaged entries that the last check found and that are still in the file
 * @param keysInUse about how many keys were read three times or more lately; 0 until values may
 *     soon be evicted
 */
public record StoreStats(
    StoreState state,
    StartReport start,
    StoreCounts counts,
    long entries,
    long liveBytes,
    long diskBytes,
    long maxBytes,
    long queued,
    long unrepaired,
    long keysInUse) {}
