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

import com.google.common.collect.ImmutableMap;

/**
 * What came of long work on a cache.
 *
 * @param cache its name
 * @param outcome in one word, for scripts
 * @param shown the same in the table
 * @param detail why not all was done, for people; empty if it was, or had not to be
 * @param note what is said of it below the table; empty for nothing
 * @param failure why the command failed; empty if it did not
 * @param figures by their names in JSON; numbers, but for what is true or false
 */
record UpkeepResult(
    String cache,
    Enum<?> outcome,
    String shown,
    String detail,
    String note,
    String failure,
    ImmutableMap<String, Object> figures) {

  /** A figure as a number, for the table. */
  long figure(String name) {
    return ((Number) figures.get(name)).longValue();
  }
}
