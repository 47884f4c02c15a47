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
package com.googlesource.gerrit.modules.cache.chroniclemap;

import static com.googlesource.gerrit.modules.cache.chroniclemap.caches.Setting.number;
import static com.googlesource.gerrit.modules.cache.chroniclemap.caches.Setting.text;
import static com.googlesource.gerrit.modules.cache.chroniclemap.caches.Setting.truth;

import com.googlesource.gerrit.modules.cache.chroniclemap.caches.Setting;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.util.List;
import java.util.Map;

/**
 * The lists of settings in the sections of {@code gerrit.config} that belong to a module alone,
 * where no other keys have an effect. Sections of single caches are Gerrit's, and the caches check
 * what they read.
 */
final class OwnSettings {
  private OwnSettings() {}

  private static final String BOTH = "cache-chroniclemap";
  private static final List<Setting> OF_BOTH =
      List.of(
          truth("checkGerritVersion"),
          // The caches check these together.
          text("sharedUrl"),
          text("sharedSite"),
          text("sharedUser"),
          text("sharedPassword"),
          text("sharedSecret"),
          text("sharedCertificates"),
          number("sharedBytes"),
          truth("sharedPublish"));

  /** Those of {@link ChronicleMapCacheModule}. */
  static final Map<String, List<Setting>> OF_CACHES = Map.of(BOTH, OF_BOTH);

  /** Those of {@link PackedRefsModule}. */
  static final Map<String, List<Setting>> OF_REFS =
      Map.of(
          BOTH,
          OF_BOTH,
          "cache.packed_refs",
          List.of(number("memoryLimit"), number("diskLimit")),
          "packedRefs",
          List.of(
              truth("enabled"),
              truth("groupBranches"),
              new Setting(
                  "updates",
                  "own or jgit",
                  (c, s, sub, n) -> c.getEnum(s, sub, n, UpdateSettings.By.OWN)),
              new Setting(
                  "atomic",
                  "loose or rewrite",
                  (c, s, sub, n) -> c.getEnum(s, sub, n, UpdateSettings.Atomic.LOOSE)),
              new Setting(
                  "maxLoose", "a number, such as 1000", (c, s, sub, n) -> c.getInt(s, sub, n, 0)),
              // A line without a value is null, which no list takes.
              new Setting(
                  "advertise",
                  "a prefix of refs, such as refs/heads/",
                  (c, s, sub, n) -> List.of(c.getStringList(s, sub, n)))));
}
