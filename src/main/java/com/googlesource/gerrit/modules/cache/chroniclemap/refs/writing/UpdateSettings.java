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
 * @param atomic how an atomic batch is written
 * @param maxLoose how many loose refs a repository may have before they are packed in the
 *     background; 0 for any number. A repository may always have one for each 1000 packed refs
 */
public record UpdateSettings(By by, Atomic atomic, int maxLoose) {
  /** Who updates refs. */
  public enum By {
    /** This module. */
    OWN,
    /** JGit's RefDirectory, which parses all of {@code packed-refs} for it. */
    JGIT
  }

  /** How an atomic batch is written. */
  public enum Atomic {
    /** As loose refs. Other processes may see a part of the batch while it is written. */
    LOOSE,
    /** By one rewrite of {@code packed-refs}. All processes see the whole batch or nothing. */
    REWRITE
  }

  /** The defaults. */
  public static final UpdateSettings DEFAULT = new UpdateSettings(By.OWN, Atomic.LOOSE, 1000);
}
