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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

/**
 * How long an operation took over the last one to two minutes. Times are in nanoseconds and right
 * to a sixteenth. All are 0 if there was none.
 *
 * @param count operations that were timed
 * @param p50 half of them took no longer
 * @param p99 99 of 100 took no longer
 * @param p999 999 of 1000 took no longer
 * @param max the longest
 */
public record Latency(long count, long p50, long p99, long p999, long max) {}
