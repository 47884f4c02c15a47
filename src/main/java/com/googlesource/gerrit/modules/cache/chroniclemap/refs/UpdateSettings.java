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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

/**
 * How refs are updated.
 *
 * @param own whether here; else by JGit's RefDirectory
 * @param rewriteAtomic whether each atomic batch is one rewrite of {@code packed-refs}, which other
 *     processes too see all or nothing of; else loose refs
 * @param maxLoose how many loose refs a repository may have before they are packed in the
 *     background; 0 for any number
 */
public record UpdateSettings(boolean own, boolean rewriteAtomic, int maxLoose) {
  /** What holds where nothing else is said. */
  public static final UpdateSettings DEFAULT = new UpdateSettings(true, false, 1000);

  /** All by JGit. */
  public static final UpdateSettings JGIT = new UpdateSettings(false, false, 0);
}
