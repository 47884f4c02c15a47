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
 * How a store's file was found when it was opened.
 *
 * @param kind what was found
 * @param detail why a store was recovered or started empty, in words; empty otherwise
 * @param entries values found
 * @param millis how long it took
 */
public record StartReport(Kind kind, String detail, long entries, long millis) {
  /** What was found. */
  public enum Kind {
    /** The file is not open yet. */
    PENDING("opening", ""),
    /** There was no file, or only one that was never finished or never held anything. */
    NEW("new", ""),
    /** The file was closed properly. */
    CLEAN("clean", ""),
    /** The file was not closed properly, and was recovered. */
    RECOVERED("crash", "was recovered after a crash"),
    /** The file is a copy of a closed one that no checksum confirms. */
    COPY("copy", "uses a copy of its file"),
    /** The file is larger than its limit is now; a smaller one keeps the values used most. */
    SHRUNK("shrunk", "was made smaller"),
    /** The file could not be used and was replaced by an empty one. */
    REPLACED("emptied", "starts empty"),
    /** There is no file: it could neither be opened nor created. */
    NONE("FAILED", "is kept in memory only");

    /** A word for people. */
    public final String word;

    private final String told;

    Kind(String word, String told) {
      this.word = word;
      this.told = told;
    }
  }

  static final StartReport PENDING = new StartReport(Kind.PENDING, "", 0, 0);

  /** What people should know of it, to be read after the store's name; empty if all is as usual. */
  public String told() {
    return kind.told.isEmpty()
        ? ""
        : kind.told
            + (detail.isEmpty() ? "" : ": " + detail)
            + (entries == 0 ? "" : "; entries: " + entries);
  }
}
