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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.disk;

import java.nio.file.FileSystemException;
import java.nio.file.Path;

/** Thrown where a name leads to another file than the one that is mapped. */
public final class FileReplacedException extends FileSystemException {
  private static final long serialVersionUID = 1;

  public FileReplacedException(Path file) {
    super(file.toString(), null, "another file was put in its place while it was in use");
  }
}
