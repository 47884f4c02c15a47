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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared;

/**
 * What the shared server did for one cache since the start.
 *
 * @param hits values that were taken from the server
 * @param misses keys that the server did not have
 * @param notAsked keys that it was not asked for: it did not answer, or the value is cheaper to
 *     compute
 * @param rejected values that were not made by a node with this site's secret
 * @param receivedBytes size of what came from the server
 * @param isWorthAsking whether it is cheaper to ask than to compute, as far as is known
 */
public record SharedStats(
    long hits,
    long misses,
    long notAsked,
    long rejected,
    long receivedBytes,
    boolean isWorthAsking) {}
