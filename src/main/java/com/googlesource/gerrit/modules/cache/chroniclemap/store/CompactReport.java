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
 * The result of compacting a store, or of trying to.
 *
 * @param outcome whether the file was rebuilt, or why not
 * @param bytesBefore bytes on disk before
 * @param bytesAfter bytes on disk after
 * @param entries values in the file
 * @param millis how long it took
 */
public record CompactReport(
    Outcome outcome, long bytesBefore, long bytesAfter, long entries, long millis) {
  /** Whether the file was rebuilt, or why not. */
  public enum Outcome {
    /** A new file replaced the old one. */
    REBUILT,
    /** The values need a file of the present size. */
    NOTHING_TO_GAIN,
    /** The store has no file. */
    NO_FILE,
    /** The rebuild was cancelled; the store keeps its old file, as in the cases below. */
    CANCELLED,
    /** Another rebuild is running, or the store is being closed. */
    BUSY,
    /** The disk had no room or failed; the log says more. */
    ABANDONED
  }
}
