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

import com.google.gerrit.entities.RefNames;
import com.google.gerrit.server.git.DelegateRefDatabase;
import com.google.gerrit.server.git.DelegateRepository;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.Repository;

/**
 * A repository for Gerrit's filter whose list of all refs has only those that can reach a tag. To
 * find the branches from which a tag is reachable, the filter reads all refs, and then drops all
 * tags and all refs of Gerrit's own. This repository omits the most numerous of those beforehand,
 * so the cost grows with the branches and not with the changes. Gerrit's filter still decides about
 * each ref that is left.
 */
final class TaggableRefs extends DelegateRepository {
  /** Some of the prefixes of refs that Gerrit's filter drops at once. */
  private static final Set<String> DROPPED =
      Set.of(
          RefNames.REFS_CHANGES,
          RefNames.REFS_CACHE_AUTOMERGE,
          RefNames.REFS_TAGS,
          RefNames.REFS_USERS,
          RefNames.REFS_GROUPS,
          RefNames.REFS_DRAFT_COMMENTS,
          RefNames.REFS_STARRED_CHANGES);

  private final RefDatabase refs;

  TaggableRefs(Repository repository) {
    super(repository);
    refs =
        new DelegateRefDatabase(repository) {
          @Override
          public List<Ref> getRefs() throws IOException {
            return getRefsByPrefixWithExclusions(ALL, DROPPED);
          }
        };
  }

  @Override
  public RefDatabase getRefDatabase() {
    return refs;
  }
}
