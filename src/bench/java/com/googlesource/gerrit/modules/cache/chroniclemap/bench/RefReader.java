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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import java.io.IOException;
import org.eclipse.jgit.lib.ObjectId;

/**
 * Answers questions about the refs of one repository; checks nothing but whether they are there.
 */
interface RefReader extends AutoCloseable {
  /** Whether there is a ref of that name; it is read with its id. */
  boolean exactRef(String name) throws IOException;

  /** How many refs start so; each is read. */
  default int prefix(String prefix) throws IOException {
    throw new UnsupportedOperationException();
  }

  /** Reads all refs and returns how many. */
  int all() throws IOException;

  /** How many refs a new ref of that name would conflict with. */
  default int conflictingNames(String name) throws IOException {
    throw new UnsupportedOperationException();
  }

  /** How many refs have an object, or a tag of it. */
  default int tips(ObjectId id) throws IOException {
    throw new UnsupportedOperationException();
  }

  @Override
  void close() throws IOException;
}
