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
 * The names of Gerrit's caches whose values depend on their keys alone. Each key contains the id of
 * the commit, blob or content from which the value is made, so no value is ever stale.
 *
 * <p>The list comes from the sources of Gerrit 3.12.2, 3.13.5 and 3.14.2, where each cache makes
 * its keys. It leaves out caches with the only copy of a value (web_sessions, oauth_tokens), values
 * that are compared with refs when they are read (changes_by_project, git_tags), values that were
 * true when they were made (conflicts depends on what is merged, comment_context on where a draft
 * is), and the caches of plugins.
 */
final class PureCaches {
  static final ImmutableSet<String> NAMES =
      ImmutableSet.of(
          "accounts",
          "change_kind",
          "change_notes",
          "diff_intraline",
          "diff_summary",
          "external_ids_map",
          "gerrit_file_diff",
          "git_file_diff",
          "git_modified_files",
          "groups_byuuid_persisted",
          "groups_external_persisted",
          "mergeability",
          "modified_files",
          "persisted_projects",
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
