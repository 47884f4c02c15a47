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

import java.util.List;
import org.eclipse.jgit.lib.Config;

/**
 * The settings in {@code gerrit.config} for pushes and fetches. Safe for any thread.
 *
 * <p>Gerrit builds maps of all refs for each push if {@code receive.enableInMemoryRefCache} is set,
 * which is Gerrit's default. With parsed lists that costs more than it saves, so the setting is off
 * here unless an administrator has set it.
 */
final class TransportSettings {
  private static final String SECTION = "cache-chroniclemap";

  /** The section of version 1.0, which is read where nothing is set in the other one. */
  private static final String EARLIER = "packedRefs";

  private static final String RECEIVE = "receive";
  private static final String REF_CACHE = "enableInMemoryRefCache";

  private final List<String> advertised;

  /** Whether branches under the same access rules are judged together. */
  final boolean groupsBranches;

  /**
   * Whether any config that Gerrit has used since the start has the cache of refs. A push under way
   * may still use an older config than the latest. Gerrit may then look for existing patch sets
   * among the refs that are advertised to a push, so none may be left out.
   */
  volatile boolean everCached;

  TransportSettings(Config config) {
    List<String> prefixes = List.of(config.getStringList(SECTION, null, "advertiseRefs"));
    advertised =
        prefixes.isEmpty() ? List.of(config.getStringList(EARLIER, null, "advertise")) : prefixes;
    groupsBranches =
        config.getBoolean(
            SECTION, "groupBranches", config.getBoolean(EARLIER, "groupBranches", true));
  }

  /** Takes note of a config that Gerrit uses, and sets the default there, but not in the file. */
  void provided(Config config) {
    if (config.getString(RECEIVE, null, REF_CACHE) == null) {
      config.setBoolean(RECEIVE, null, REF_CACHE, false);
    } else if (config.getBoolean(RECEIVE, null, REF_CACHE, true)) {
      everCached = true;
    }
  }

  /** Whether a ref is advertised to pushes, if the user may see it. */
  boolean isAdvertised(String name) {
    return advertised.isEmpty() || advertised.stream().anyMatch(name::startsWith);
  }
}
