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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.neighbour;

import com.google.gerrit.server.git.DelegateRepository;
import java.io.IOException;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.Repository;

/** All its refs are changed through {@link GuardedRefs}. */
final class GuardedRepository extends DelegateRepository {
  private final GuardedRefs refs;

  GuardedRepository(Repository inner) {
    super(inner);
    this.refs = new GuardedRefs(inner);
  }

  @Override
  public RefDatabase getRefDatabase() {
    return refs;
  }

  @Override
  public RefUpdate updateRef(String ref) throws IOException {
    return refs.newUpdate(ref, false);
  }

  @Override
  public RefUpdate updateRef(String ref, boolean detach) throws IOException {
    return refs.newUpdate(ref, detach);
  }
}
