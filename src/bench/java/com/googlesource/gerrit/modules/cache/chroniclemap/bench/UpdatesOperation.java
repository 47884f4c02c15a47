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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

/** What is done to refs, once in a run. A worker has it without this module beside it. */
enum UpdatesOperation {
  /** The refs of a new change. */
  ATOMIC_2("atomic batch of 2", 2, 1000),
  SINGLE("one update", 1, 1000),
  DELETE("deletion of one packed ref", 0, 10),
  BATCH_100("100 new refs", 100, 5),
  BATCH_1000("1,000 new refs", 1000, 1),
  BATCH_10K("10k new refs in one batch", 10_000, 1),
  BATCH_100K("100k new refs in one batch", 100_000, 1),
  /**
   * All names of a batch are looked at, and then it comes to nothing: the last name in order is in
   * conflict with a packed ref.
   */
  AVAILABILITY("availability of 10k names", 10_000, 2),
  PACK("packing 10k loose refs", 10_000, 1);

  final String title;

  /** How many new refs a run is about. */
  final int refs;

  /** How many runs there may be before the repository is brought back to its first state. */
  final int runs;

  UpdatesOperation(String title, int refs, int runs) {
    this.title = title;
    this.refs = refs;
    this.runs = runs;
  }
}
