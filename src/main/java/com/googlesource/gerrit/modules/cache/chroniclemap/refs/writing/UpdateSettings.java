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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing;

/**
 * The settings of ref updates.
 *
 * @param by who updates refs
 * @param maxLooseBatch the most refs of an atomic batch that become loose. For more, one rewrite of
 *     {@code packed-refs} costs less than the files, which soon would have to be packed
 * @param maxLoose how many loose refs a repository may have before they are packed in the
 *     background; 0 for any number. A repository may always have one for each 1000 packed refs
 */
public record UpdateSettings(By by, int maxLooseBatch, int maxLoose) {
  /** Who updates refs. */
  public enum By {
    /** This module. */
    OWN,
    /** JGit's RefDirectory, which parses all of {@code packed-refs} for it. */
    JGIT
  }

  /** The defaults. */
  public static final UpdateSettings DEFAULT = new UpdateSettings(By.OWN, 1000, 1000);
}
