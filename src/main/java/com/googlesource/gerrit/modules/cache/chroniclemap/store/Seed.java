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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import java.io.IOException;

/**
 * Values that were held elsewhere until now, with which a store's file begins. The file is filled
 * with them before anybody uses it, so that what is changed meanwhile, and queued, comes after
 * them.
 *
 * <p>The store needs a seed until {@link #moveAside} returns. A start that fails or is killed
 * before leaves the seed as it is, and the next start begins again. But if anything was changed by
 * then, the store's files are marked, as for any change that they miss, and the seed is moved aside
 * unread.
 */
public interface Seed {
  /** Takes the values of a seed. */
  interface Sink {
    /**
     * Takes a value, unless it is too old or too large, or has no room.
     *
     * @param created milliseconds since the epoch at which the value was made
     * @return whether it was taken
     */
    boolean take(byte[] key, byte[] value, long created);

    /**
     * Whether more is taken; to be asked after each value, also those that are left out.
     *
     * @throws java.util.concurrent.CancellationException if the store is being closed
     */
    boolean goesOn();
  }

  /** What follows at once when the values are aside. */
  interface Next {
    void run() throws IOException;
  }

  /** Whether it is still where it was, and not aside. */
  boolean isThere();

  /** When it was last changed, in milliseconds since the epoch. */
  long changed() throws IOException;

  /** About how many bytes its values have, or more. */
  long bytes() throws IOException;

  /**
   * Passes the values on. Those that cannot be read are left out.
   *
   * @param mayNotFit whether those that are least needed should come last
   * @throws IOException if nothing can be read now, but later
   */
  void fill(Sink sink, boolean mayNotFit) throws IOException;

  /**
   * Moves the values to where no later start looks for them.
   *
   * @param next done before that is on disk, which may take a while
   */
  void moveAside(Next next) throws IOException;
}
