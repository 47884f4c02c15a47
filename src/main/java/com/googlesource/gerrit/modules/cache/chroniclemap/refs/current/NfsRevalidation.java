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

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * Opens and closes a file or folder, so that a network file system asks its server for the current
 * attributes.
 */
@FunctionalInterface
public interface NfsRevalidation {
  NfsRevalidation OF_SYSTEM = path -> Files.newInputStream(path).close();

  void open(Path path) throws IOException;

  /**
   * Opens a folder, unless there is none or only its list can't be read, which does not hide its
   * files.
   *
   * @throws IOException if it can't be opened otherwise. Its attributes may be old ones then
   */
  default void openFolder(Path folder) throws IOException {
    try {
      open(folder);
    } catch (AccessDeniedException | NoSuchFileException e) {
      // Its files can be read by name. Or there was none: if it was made since, its attributes are
      // new.
    } catch (IOException e) {
      if (!LooseFile.isNoFolder(folder)) {
        throw e;
      }
    }
  }
}
