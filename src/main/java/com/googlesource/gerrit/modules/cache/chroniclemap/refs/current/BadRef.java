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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.current;

import java.io.File;
import java.nio.file.FileSystemException;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.ObjectIdRef;
import org.eclipse.jgit.lib.Ref;

/**
 * A loose file that holds no ref, in the place of the ref of its name: what a loss of power has
 * left of a ref, or the file of another program. It has no object, so no list has it, but it hides
 * an older packed value, which native git does not serve either.
 *
 * <p>Immutable.
 */
public final class BadRef extends ObjectIdRef.Unpeeled {
  private final File file;
  final String why;

  BadRef(String name, File file, String why) {
    super(Storage.NEW, name, null);
    this.file = file;
    this.why = why;
  }

  /** Returns the failure of a request for this very ref, which names the file. */
  public FileSystemException failure() {
    return LooseFile.unreadable(file, why, null);
  }

  /** Returns a ref that is none of these, for a caller that needs this very ref. */
  @Nullable
  public static Ref check(@Nullable Ref ref) throws FileSystemException {
    if (ref instanceof BadRef bad) {
      throw bad.failure();
    }
    return ref;
  }
}
