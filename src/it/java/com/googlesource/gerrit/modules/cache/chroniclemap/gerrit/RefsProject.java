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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsObjects;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.Constants;

/**
 * A project of one server with so many refs packed, some of them branches to be deleted; and what
 * Gerrit has acknowledged that was done to its refs.
 */
final class RefsProject {
  private static final int OLD_BRANCHES = 6000;

  private final String name;
  private final GerritSite site;
  private final AtomicInteger nextOld = new AtomicInteger();

  /** Refs that there must be. */
  private final Set<String> made = ConcurrentHashMap.newKeySet();

  /** Refs that there must not be. */
  private final Set<String> deleted = ConcurrentHashMap.newKeySet();

  /** By branch, a commit that its tip must hold. */
  private final Map<String, Set<String>> merged = new ConcurrentHashMap<>();

  RefsProject(String name, GerritSite site) {
    this.name = name;
    this.site = site;
  }

  /** Fills the folder of a new project, for which no daemon runs. */
  void fill(int refs) throws IOException {
    TreeSet<String> names = new TreeSet<>(Arrays.asList(RefsFile.names(refs)));
    for (int i = 0; i < OLD_BRANCHES; i++) {
      names.add(old(i));
    }
    String[] sorted = names.toArray(String[]::new);
    Path folder = site.repository(name);
    try (FileRepository repository = new FileRepository(folder.toFile())) {
      RefsObjects objects = RefsObjects.insert(repository, sorted.length);
      objects.writePackedRefs(
          folder.resolve(Constants.PACKED_REFS), sorted, i -> i % objects.count());
    }
  }

  private static String old(int number) {
    return String.format(Locale.ROOT, "refs/heads/old-%06d", number);
  }

  String name() {
    return name;
  }

  /** Runs native git in its folder. Returns its output. */
  String git(String... args) throws IOException {
    return site.git(name, args);
  }

  /** Whether there is one left for {@link #takeOldBranch}. */
  boolean hasOldBranch() {
    return nextOld.get() < OLD_BRANCHES;
  }

  /** Takes a packed branch that nobody has deleted yet; null if there is none. */
  String takeOldBranch() {
    int number = nextOld.getAndIncrement();
    return number < OLD_BRANCHES ? old(number) : null;
  }

  static String changeRef(int change, Object end) {
    return String.format(Locale.ROOT, "refs/changes/%02d/%d/%s", change % 100, change, end);
  }

  void wasMade(String ref) {
    made.add(ref);
  }

  void wasDeleted(String ref) {
    deleted.add(ref);
  }

  /** A commit was submitted to a branch. */
  void wasMerged(String branch, String commit) {
    merged.computeIfAbsent(branch, key -> ConcurrentHashMap.newKeySet()).add(commit);
  }

  /**
   * Looks with native git whether all is there.
   *
   * @return what was looked for, in words
   */
  String check() throws IOException {
    var unused = site.git(name, "fsck", "--no-progress", "--no-dangling");
    Set<String> refs = new HashSet<>();
    site.git(name, "for-each-ref", "--format=%(refname)").lines().forEach(refs::add);
    Set<String> missing = new TreeSet<>(made);
    missing.removeAll(refs);
    Set<String> back = new TreeSet<>(deleted);
    back.retainAll(refs);
    int commits = 0;
    Set<String> lost = new TreeSet<>();
    for (Map.Entry<String, Set<String>> branch : new TreeMap<>(merged).entrySet()) {
      Set<String> history = new HashSet<>();
      site.git(name, "rev-list", branch.getKey()).lines().forEach(history::add);
      commits += branch.getValue().size();
      branch.getValue().stream().filter(commit -> !history.contains(commit)).forEach(lost::add);
    }
    if (!missing.isEmpty() || !back.isEmpty() || !lost.isEmpty()) {
      throw new IOException(
          String.format(
              Locale.ROOT,
              "%s: acknowledged, but not there: refs %s, commits %s; deleted, but there: %s",
              name,
              missing,
              lost,
              back));
    }
    return String.format(
        Locale.ROOT,
        "%d new refs, %d deleted ones, %d submitted commits",
        made.size(),
        deleted.size(),
        commits);
  }
}
