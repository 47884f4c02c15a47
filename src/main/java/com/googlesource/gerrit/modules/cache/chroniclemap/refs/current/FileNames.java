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

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.File;
import java.nio.file.FileSystemException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The file names that this process can express. Java encodes file names by the locale in which the
 * process was started, and no flag changes that. In the POSIX locale, {@code java.nio} refuses the
 * file of {@code refs/heads/\u00e9}, and {@code java.io} takes it for one named {@code ?}.
 */
public final class FileNames {
  private static final String ENCODING = System.getProperty("sun.jnu.encoding");

  /** Whether all names can be expressed. */
  static final boolean ANY = "UTF-8".equals(ENCODING);

  private FileNames() {}

  /** Whether a name has more bytes than a limit. Looks at no more of it than necessary. */
  static boolean isLonger(String name, int most) {
    // A character has up to three bytes in UTF-8, and one at least in any encoding.
    return name.length() > most
        || (ANY && name.length() > most / 3 && name.getBytes(UTF_8).length > most);
  }

  /** Text for the log: which names can't be expressed, and what to set; empty if all can. */
  public static Optional<String> limits() {
    return ANY
        ? Optional.empty()
        : Optional.of(
            "refs whose names "
                + ENCODING
                + ", the encoding of this process's locale, can't express can be neither read nor"
                + " updated: start it with LC_ALL=C.UTF-8 in its environment");
  }

  /**
   * Checks a file's name.
   *
   * @throws FileSystemException if this process can't express the name
   */
  static void check(File file) throws FileSystemException {
    try {
      Path unused = file.toPath();
    } catch (InvalidPathException e) {
      throw LooseFile.unreadable(file, limits().orElseGet(e::getReason), e);
    }
  }
}
