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

package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import static java.util.stream.Collectors.joining;

import com.google.inject.Inject;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import java.util.ArrayList;
import java.util.List;
import org.kohsuke.args4j.Argument;
import org.kohsuke.args4j.Option;

/** An SSH command on the caches that are named, by default on all caches. */
abstract class CachesCommand extends DocumentedCommand {
  @Argument(metaVar = "CACHE", usage = "names of caches; by default, all caches")
  private List<String> names = new ArrayList<>();

  @Inject CacheInventory inventory;

  @Option(name = "--cache", metaVar = "CACHE", usage = "the same as CACHE; may be repeated")
  final void cache(String name) {
    names.add(name);
  }

  /** Selects the caches that are named. Fails if one of them does not exist. */
  List<CacheReport> select() throws UnloggedFailure {
    List<CacheReport> all = inventory.reports();
    for (String name : names) {
      if (all.stream().noneMatch(report -> report.isNamed(name))) {
        String known = all.stream().map(CacheReport::name).collect(joining(", "));
        throw die(
            "no cache \""
                + name
                + "\" on disk; existing caches: "
                + (known.isEmpty() ? "none" : known));
      }
    }
    return all.stream()
        .filter(report -> names.isEmpty() || names.stream().anyMatch(report::isNamed))
        .toList();
  }
}
