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

package com.googlesource.gerrit.modules.cache.chroniclemap.transport;

import com.google.inject.Singleton;
import java.util.concurrent.atomic.LongAdder;

/** The figures of pushes and fetches since the server's start. Safe for any thread. */
@Singleton
public final class TransportCounts {
  /** Lists of refs for pushes that were made without reading the refs of changes. */
  public final LongAdder pushes = new LongAdder();

  /** Pushes over HTTP whose refs were looked up by name, as the client had the list already. */
  public final LongAdder pushesByName = new LongAdder();

  /** Pushes that were left to Gerrit, which reads all refs. */
  public final LongAdder pushesLeft = new LongAdder();

  /** Connectivity checks of pushes that only parsed the commits pushed against. */
  public final LongAdder nearChecks = new LongAdder();

  /** Connectivity checks of pushes that parsed all advertised refs. */
  public final LongAdder fullChecks = new LongAdder();

  /** Fetches by object id that were allowed as each id was that of a visible ref. */
  public final LongAdder tips = new LongAdder();

  /** Fetches by object id for which JGit read all visible refs. */
  public final LongAdder walks = new LongAdder();

  /** Branches for which the answer for another one under the same access rules was taken. */
  public final LongAdder branchesByRules = new LongAdder();
}
