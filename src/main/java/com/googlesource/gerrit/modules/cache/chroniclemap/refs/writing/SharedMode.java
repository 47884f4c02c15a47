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

import com.google.common.flogger.FluentLogger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.lib.Config;

/**
 * The mode of files and folders in a repository that several users of the system share: {@code
 * core.sharedRepository}, as defined by git's documentation of {@code git init --shared}.
 * Immutable.
 *
 * @param bits the permissions of files. Folders also have the execute bit for everybody who may
 *     read, and the set-group-id bit, so that new files inherit their group
 * @param isExact whether files have exactly these bits, whatever the umask; otherwise the bits are
 *     added to those of the umask
 */
record SharedMode(int bits, boolean isExact) {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** The umask alone decides. */
  static final SharedMode NONE = new SharedMode(0, false);

  private static final SharedMode GROUP = new SharedMode(0660, false);
  private static final SharedMode ALL = new SharedMode(0664, false);

  private static final int PERMISSIONS = 0777;
  private static final int READ = 0444;
  private static final int OWNER_MAY_READ_AND_WRITE = 0600;
  private static final int SET_GROUP_ID = 02000;
  private static final int MODE = 07777;

  /**
   * Reads the setting of a repository. A value that git refuses counts as none: git then refuses
   * every command, so nobody else writes.
   */
  static SharedMode of(Config config) {
    String value = config.getString("core", null, "sharedRepository");
    if (value == null) {
      return NONE;
    }
    // JGit gives an empty string for a name without a value, which means true.
    return switch (value.toLowerCase(Locale.ROOT)) {
      case "group", "true", "yes", "on", "1", "" -> GROUP;
      case "all", "world", "everybody", "2" -> ALL;
      case "umask", "false", "no", "off", "0" -> NONE;
      default -> ofOctal(value);
    };
  }

  private static SharedMode ofOctal(String value) {
    try {
      int bits = Integer.parseInt(value, 8) & 0666;
      if ((bits & OWNER_MAY_READ_AND_WRITE) == OWNER_MAY_READ_AND_WRITE) {
        return new SharedMode(bits, true);
      }
    } catch (NumberFormatException e) {
      // Not a number; handled below.
    }
    logger.atWarning().atMostEvery(1, TimeUnit.HOURS).log(
        "core.sharedRepository = %s is no mode that git knows: files are made with the umask",
        value);
    return NONE;
  }

  /** Sets the permissions of a file or folder that this process has just made. */
  void apply(Path made) throws IOException {
    if (bits == 0) {
      return;
    }
    int old = (int) Files.getAttribute(made, "unix:mode", LinkOption.NOFOLLOW_LINKS) & MODE;
    int mode = isExact ? (old & ~PERMISSIONS) | bits : old | bits;
    if (Files.isDirectory(made, LinkOption.NOFOLLOW_LINKS)) {
      mode |= ((mode & READ) >> 2) | SET_GROUP_ID;
    }
    if (mode != old) {
      Files.setAttribute(made, "unix:mode", mode);
    }
  }
}
