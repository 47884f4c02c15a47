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
 * What came of rebuilding a store's file.
 *
 * @param outcome what came of it
 * @param bytesBefore of the file
 * @param bytesAfter of the file
 * @param entries values kept
 * @param millis how long it took
 */
public record CompactReport(
    Outcome outcome, long bytesBefore, long bytesAfter, long entries, long millis) {
  /** What came of it. */
  public enum Outcome {
    /** A file took the place of the old one. */
    REBUILT,
    /** The file can't be made smaller: its values need it. */
    NOTHING_TO_GAIN,
    /** The store has no file. */
    NO_FILE,
    /** It was cancelled; the store goes on with the old file, as in what follows. */
    CANCELLED,
    /** The file is being rebuilt already, or the store is being closed. */
    BUSY,
    /** The disk had no room or failed; the log says more. */
    ABANDONED
  }
}
