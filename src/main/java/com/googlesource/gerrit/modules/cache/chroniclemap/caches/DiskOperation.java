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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static java.util.concurrent.TimeUnit.NANOSECONDS;

import java.util.concurrent.TimeUnit;

/** An operation of a cache on its disk tier whose latency is measured. */
public enum DiskOperation {
  /**
   * From the call to the moment at which the store, which writes in the background, has the value.
   */
  PUT("the time a put blocks its caller", MICROSECONDS),
  /** A read from the store that found a value, up to the value's bytes. */
  READ("the time to read a value's bytes from disk", NANOSECONDS),
  /** Turning a value into bytes, which is a part of a put. */
  SERIALIZE("the time to serialize a value", NANOSECONDS),
  /** Turning the bytes that were read into a value. */
  DESERIALIZE("the time to deserialize a value", NANOSECONDS);

  /** What is measured, for people. */
  public final String meaning;

  /** The unit in which the latency is reported. */
  public final TimeUnit unit;

  DiskOperation(String meaning, TimeUnit unit) {
    this.meaning = meaning;
    this.unit = unit;
  }
}
