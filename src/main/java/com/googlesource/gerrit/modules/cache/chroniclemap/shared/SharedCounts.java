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

package com.googlesource.gerrit.modules.cache.chroniclemap.shared;

import com.googlesource.gerrit.modules.cache.chroniclemap.counting.Counter;
import com.googlesource.gerrit.modules.cache.chroniclemap.counting.Counters;

/** The counts of shared values since the start. Any thread may call. */
public final class SharedCounts extends Counters {
  public final Counter published = counter("published", "values appended to the log", "values");
  public final Counter publishedBytes =
      counter("published_bytes", "size of the records appended", "bytes");

  /** Values that were computed while the queue or the server was full. */
  public final Counter dropped = counter("dropped", "computed values not published", "values");

  public final Counter received = counter("received", "values read from the log", "values");
  public final Counter receivedBytes =
      counter("received_bytes", "size of all records read, own ones too", "bytes");
  public final Counter takenIn =
      counter("taken_in", "values of the log put into a store", "values");

  /** Values that the store had already, or that another version of the cache wrote. */
  public final Counter skipped = counter("skipped", "values of the log not needed here", "values");

  public final Counter noRoom = counter("no_room", "values of the log without room", "values");
  public final Counter refused = counter("refused", "records with a wrong seal", "records");

  /** Records that the server dropped before they were read, or that can't be read. */
  public final Counter missed = counter("missed", "records that could not be read", "records");

  public final Counter rereads = counter("rereads", "times records were read once more", "times");
  public final Counter failures = counter("failures", "failed calls of the server", "calls");
  public final Counter reconnects = counter("reconnects", "connections after the first", "times");
}
