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
package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

/**
 * The result of long work on one cache.
 *
 * @param cache the name of the cache
 * @param outcome the outcome, for scripts
 * @param shown the outcome, as the table shows it
 * @param detail why the work is incomplete, for people; empty if it is complete
 * @param note a note below the table; empty for none
 * @param failure why the command failed, without the name of the cache; empty if it did not
 * @param figures by their names in JSON
 */
record UpkeepResult(
    String cache,
    Enum<?> outcome,
    String shown,
    String detail,
    String note,
    String failure,
    Figures figures) {}
