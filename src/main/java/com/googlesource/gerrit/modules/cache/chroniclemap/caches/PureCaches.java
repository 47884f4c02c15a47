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

import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;

/**
 * The names of Gerrit's caches whose values depend on their keys, but for what is said of each.
 * Each key contains the id of the commit, blob or content from which the value is made.
 *
 * <p>The list comes from the sources of Gerrit 3.12.2, 3.13.5 and 3.14.2, where each cache makes
 * its keys and where its values are computed. A setting that is not in the key changes no value
 * that is stored already, here as with H2: about.md tells after which changes to flush a cache.
 *
 * <p>The list leaves out caches with the only copy of a value (web_sessions, oauth_tokens), values
 * that are compared with refs when they are read (changes_by_project, git_tags), values that were
 * true when they were made (conflicts depends on what is merged, comment_context on where a draft
 * is), and the caches of plugins.
 */
final class PureCaches {
  static final ImmutableSet<String> NAMES =
      ImmutableSet.of(
          // An account and the commit of its ref: nothing else.
          "accounts",
          // Two commits and the merge strategy. Besides, attributes and settings of the merge in
          // the repository, and change.useGitattributesForMerge.
          "change_kind",
          // A project, a change and the commit of its notes. Besides, the external ids of accounts
          // of other servers: see PoorValues.isProvisional.
          "change_notes",
          // Two blobs. Besides, how edits were found, and the cache's timeout: see PoorValues.
          "diff_intraline",
          // Two commits. Besides, what gerrit_file_diff depends on.
          "diff_summary",
          // The commit of all external ids. Besides, auth.userNameCaseInsensitive.
          "external_ids_map",
          // Two commits and a path. Besides, what git_file_diff depends on.
          "gerrit_file_diff",
          // Two trees and a path. Besides, the cache's timeout (see PoorValues), and settings of
          // diffs in the repository.
          "git_file_diff",
          // Two trees. Besides, settings of diffs in the repository.
          "git_modified_files",
          // A group and the commit of its ref: nothing else.
          "groups_byuuid_persisted",
          // A hash of the refs of all groups: nothing else.
          "groups_external_persisted",
          // A commit, the tip of the branch, how it is submitted, and the merge strategy. Besides,
          // settings of the merge as in change_kind, and what other branches and tags contain.
          "mergeability",
          // Two commits. Besides, settings of diffs in the repository.
          "modified_files",
          // A project and the commit of its settings; of All-Projects, a hash of the site's file.
          "persisted_projects",
          // Two commits. Besides, the project's merge strategy, and settings as in change_kind.
          "pure_revert");

  /**
   * Those whose values are shared with other servers. Left out are two that only feed others
   * (git_file_diff, git_modified_files); one that is made of others in a moment, and would hide
   * that Gerrit had given up one of these (diff_summary); one that changes as a whole with each
   * account (external_ids_map); and one whose values may hold secrets of plugins
   * (persisted_projects).
   */
  static final ImmutableSet<String> SHARED =
      ImmutableSet.copyOf(
          Sets.difference(
              NAMES,
              ImmutableSet.of(
                  "diff_summary",
                  "external_ids_map",
                  "git_file_diff",
                  "git_modified_files",
                  "persisted_projects")));

  private PureCaches() {}
}
