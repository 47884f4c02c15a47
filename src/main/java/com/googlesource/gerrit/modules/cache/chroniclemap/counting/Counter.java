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

package com.googlesource.gerrit.modules.cache.chroniclemap.counting;

import java.util.concurrent.atomic.LongAdder;

/**
 * A count of one subject, such as a cache, that says what it is. Any thread may count and read;
 * {@link #sum} is the count.
 */
@SuppressWarnings("serial")
public final class Counter extends LongAdder {
  /** The last part of the metric's name, which is also the name in JSON. */
  public final String name;

  /** What is counted, for people. */
  public final String meaning;

  /** What one of it is, in the plural. */
  public final String unit;

  Counter(String name, String meaning, String unit) {
    this.name = name;
    this.meaning = meaning;
    this.unit = unit;
  }
}
