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
 * The latency of an operation over the last one to two minutes. Times are in nanoseconds, with an
 * error of at most a sixteenth. All figures are 0 if no operation was timed.
 *
 * @param count number of operations that were timed
 * @param p50 median
 * @param p99 99th percentile
 * @param p999 99.9th percentile
 * @param max maximum
 */
public record Latency(long count, long p50, long p99, long p999, long max) {}
