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

import com.google.common.collect.ImmutableListMultimap;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.Setting;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.eclipse.jgit.lib.Config;

/**
 * The lists of settings in the sections of {@code gerrit.config} that belong to a module alone, or
 * to a single cache. Other keys have no effect there.
 */
final class OwnSettings {
  private OwnSettings() {}

  private static final String BOTH = "cache-chroniclemap";

  /** The section of version 1.0, whose settings are read once more, with a warning. */
  private static final String EARLIER = "packedRefs";

  private static final List<Setting> OF_BOTH =
      List.of(
          truth("checkGerritVersion"),
          truth("importFromH2"),
          truth("packedRefs"),
          by("refUpdates"),
          count("maxLooseRefs"),
          prefixes("advertiseRefs"),
          truth("groupBranches"),
          // The caches check these together.
          text("sharedUrl"),
          text("sharedSite"),
          text("sharedUser"),
          text("sharedPassword"),
          text("sharedSecret"),
          number("sharedBytes"),
          truth("sharedPublish"));

  private static final String CACHE = "cache";
  private static final String LISTS = "packed_refs";

  /** What else Gerrit 3.12 to 3.14 reads from the sections of single caches. */
  private static final ImmutableListMultimap<String, Setting> OF_GERRIT =
      ImmutableListMultimap.<String, Setting>builder()
          .putAll("changes", text("maximumWeight"))
          .putAll("diff", text("intraline"), text("timeout"))
          .putAll("diff_intraline", text("enabled"), text("timeout"))
          .putAll("external_ids_map", text("enablePartialReloads"))
          .putAll("git_file_diff", text("timeout"))
          .putAll("project_list", text("interval"), text("startTime"), text("jitter"))
          .putAll("projects", text("loadOnStartup"), text("loadThreads"), text("checkFrequency"))
          .build();

  /**
   * Those of {@link ChronicleMapCacheModule}, by section, and those of the other module if that is
   * not there to name a wrong one. A plugin may have settings of its own for its caches, and a
   * wrong one must not keep Gerrit from starting.
   */
  static Map<String, List<Setting>> ofCaches(Config config) {
    Map<String, List<Setting>> all = new TreeMap<>();
    if (!new ConfigLinesCheck(config).hasDbModule(PackedRefsModule.class)) {
      all.putAll(OF_REFS);
      // Nothing reads their values then.
      all.put(EARLIER, OF_REFS.get(EARLIER).stream().map(Setting::ofAnyValue).toList());
    }
    for (String cache : config.getSubsections(CACHE)) {
      if (!cache.contains(".") && !cache.equals(LISTS)) {
        all.put(
            CACHE + "." + cache,
            Stream.concat(Setting.OF_EACH_CACHE.stream(), OF_GERRIT.get(cache).stream()).toList());
      }
    }
    return all;
  }

  /** Those of {@link PackedRefsModule}. */
  static final Map<String, List<Setting>> OF_REFS =
      Map.of(
          BOTH,
          OF_BOTH,
          CACHE + "." + LISTS,
          List.of(number("memoryLimit"), number("diskLimit")),
          EARLIER,
          List.of(
              truth("enabled").nowNamed("cache-chroniclemap.packedRefs"),
              truth("groupBranches").nowNamed("cache-chroniclemap.groupBranches"),
              by("updates").nowNamed("cache-chroniclemap.refUpdates"),
              count("maxLoose").nowNamed("cache-chroniclemap.maxLooseRefs"),
              prefixes("advertise").nowNamed("cache-chroniclemap.advertiseRefs")));

  private static Setting by(String name) {
    return new Setting(
        name, "own or jgit", (c, s, sub, n) -> c.getEnum(s, sub, n, UpdateSettings.By.OWN));
  }

  private static Setting count(String name) {
    return new Setting(name, "a number, such as 1000", (c, s, sub, n) -> c.getInt(s, sub, n, 0));
  }

  /** A line without a value is null, which no list takes. */
  private static Setting prefixes(String name) {
    return new Setting(
        name,
        "a prefix of refs, such as refs/heads/",
        (c, s, sub, n) -> List.of(c.getStringList(s, sub, n)));
  }
}
