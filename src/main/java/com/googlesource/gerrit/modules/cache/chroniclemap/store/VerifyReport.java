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
 * The result of checking all entries of a store.
 *
 * @param values whole values
 * @param bytes of their keys and records
 * @param damaged entries whose bytes are not those that were stored, or that lack a part
 * @param repaired whether all damaged entries were dropped
 * @param complete whether all entries were checked; false if cancelled or if there is no file
 * @param millis how long it took
 */
public record VerifyReport(
    long values, long bytes, long damaged, boolean repaired, boolean complete, long millis) {}
