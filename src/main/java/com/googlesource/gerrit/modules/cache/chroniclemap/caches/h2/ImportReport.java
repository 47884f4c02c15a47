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
 * How the import of one cache from H2 stands, or what it would do.
 *
 * @param cache its name
 * @param state how far it is
 * @param detail what to know of that, for people; empty if there is nothing to say
 * @param rows that H2 has, of any version
 * @param read rows that were looked at
 * @param imported values that are in the store now, or with a dry run would be
 * @param bytes of these values
 * @param known values that were left because the store knows better
 * @param otherVersion values that were left because another version of the cache made them
 * @param tooOld values that were left because of the cache's maxAge
 * @param tooLarge values that were left because no file of the store has room for one of that size
 * @param millis how long it took
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
  /** How far an import is. */
  public enum State {
    /** H2 has no file for the cache. */
    NOTHING,
    /** It has not begun. */
    WAITING,
    /** It is going on. */
    RUNNING,
    /** All that is of use was taken over. */
    DONE,
    /** The store is full: what was not taken over has no room. */
    FULL,
    /** It was interrupted and goes on at the next start or command. */
    INTERRUPTED,
    /** H2 could not read the file. */
    FAILED,
    /** The cache was in use before, so what H2 holds may have been invalidated since. */
    IN_USE
  }

  /** The report of an import of which nothing was read. */
  public static ImportReport of(String cache, State state, String detail) {
    return new ImportReport(cache, state, detail, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  }
}
