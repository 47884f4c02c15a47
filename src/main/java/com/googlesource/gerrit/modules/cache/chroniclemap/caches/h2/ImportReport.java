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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2;

/**
 * The progress or the result of an import of one cache from H2.
 *
 * @param cache the name of the cache
 * @param state the state of the import
 * @param detail the reason of the state, for people; empty if there is none
 * @param rows the number of rows in H2, of all versions
 * @param read the number of rows that were read
 * @param imported the number of values that were imported or, in a dry run, would be
 * @param bytes the size of these values
 * @param known values that were skipped because the store has something newer
 * @param otherVersion values that were skipped because another version of the cache made them
 * @param tooOld values that were skipped because of the cache's maxAge
 * @param tooLarge values that were skipped because no file of the store can hold such a size
 * @param millis the duration
 */
public record ImportReport(
    String cache,
    State state,
    String detail,
    long rows,
    long read,
    long imported,
    long bytes,
    long known,
    long otherVersion,
    long tooOld,
    long tooLarge,
    long millis) {
  /** The state of an import. */
  public enum State {
    /** H2 has no file for the cache. */
    NOTHING,
    /** The import has not started. */
    WAITING,
    /** The import is running. */
    RUNNING,
    /** All useful values were imported. */
    DONE,
    /** The store is full, so the remaining values have no room. */
    FULL,
    /** The import was interrupted and resumes at the next start or command. */
    INTERRUPTED,
    /** H2 could not read the file. */
    FAILED,
    /** The cache was in use before, so H2's values may have been invalidated since. */
    IN_USE
  }

  /** Makes the report of an import that has read nothing. */
  public static ImportReport of(String cache, State state, String detail) {
    return new ImportReport(cache, state, detail, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  }
}
