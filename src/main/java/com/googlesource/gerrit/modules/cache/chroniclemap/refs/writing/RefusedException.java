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

import java.io.IOException;
import java.nio.file.Path;
import org.eclipse.jgit.annotations.Nullable;

/**
 * Thrown if a ref can't be changed: others have locked it, it has another value, or its name is in
 * conflict with another. Nothing of its transaction has changed then.
 */
final class RefusedException extends IOException {
  private static final long serialVersionUID = 1;

  final String name;

  /** The file that is in the way, most likely a lock; null if it is not a file. */
  @Nullable final transient Path file;

  RefusedException(String name, @Nullable Path file) {
    super(name + " is locked, not as it was, or in conflict");
    this.name = name;
    this.file = file;
  }
}
