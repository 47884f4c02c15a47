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
import com.googlesource.gerrit.modules.cache.chroniclemap.counting.Counter;
import com.googlesource.gerrit.modules.cache.chroniclemap.counting.Counters;

/** The counts of pushes and fetches since the server's start. Safe for any thread. */
@Singleton
public final class TransportCounts extends Counters {
  /** Lists of refs for pushes that were made without reading the refs of changes. */
  public final Counter pushes = counter("pushes", "advertisements without changes read", "pushes");

  /** Pushes over HTTP whose client had the list of refs already. */
  public final Counter pushesByName = counter("pushes_by_name", "refs looked up by name", "pushes");

  /** Pushes that were left to Gerrit, which reads all refs. */
  public final Counter pushesLeft = counter("pushes_left", "advertisements by Gerrit", "pushes");

  /** Connectivity checks that only parsed the commits pushed against. */
  public final Counter localChecks = counter("checks_near", "checks of a few refs", "pushes");

  public final Counter fullChecks =
      counter("checks_full", "checks of all advertised refs", "pushes");

  /** Fetches by object id that were allowed, as each id was that of a visible ref. */
  public final Counter tips = counter("fetches_by_tip", "ids of visible refs", "fetches");

  /** Fetches by object id for which JGit read all visible refs. */
  public final Counter walks = counter("fetches_by_walk", "ids left to JGit", "fetches");

  /** Branches judged by the answer for another branch under the same access rules. */
  public final Counter branchesByRules =
      counter("branches_by_rules", "judged with another", "branches");
}
