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


package com.googlesource.gerrit.modules.cache.chroniclemap.bench.hitratio;

/** What an entry is worth to a segment that needs room: those of the lowest score go. */
interface Score {
  /**
   * Scores an entry.
   *
   * @param age milliseconds since its last access
   * @param sinceCreated milliseconds since it was stored
   * @param frequency 0 to 15, from the sketch
   * @param bytes its size
   * @param segment what holds for all entries of the segment
   */
  double of(int age, int sinceCreated, int frequency, int bytes, Span segment);

  /**
   * About all entries of a segment.
   *
   * @param oldest age of the entry that was not accessed for the longest time
   * @param youngAge entries of no more than this age are the most recently accessed tenth
   */
  record Span(int oldest, int youngAge) {}
}
