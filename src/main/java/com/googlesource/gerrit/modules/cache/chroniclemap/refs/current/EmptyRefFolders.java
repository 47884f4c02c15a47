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

import com.google.common.base.CharMatcher;
import com.google.common.flogger.FluentLogger;
import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.TreeMap;

/**
 * Deletes the empty folders that refs have left behind, as each one slows the listing of refs.
 * Writers that are about to make a file in a folder make the folder again.
 */
public final class EmptyRefFolders {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Younger folders stay, as somebody may be about to make a ref there. */
  static final Duration MIN_AGE = Duration.ofSeconds(30);

  /** Folders such as {@code refs/heads} stay. */
  private static final int KEPT_LEVELS = 2;

  private EmptyRefFolders() {}

  /** Deletes all empty folders below {@code refs/heads} and the like, unless they are new. */
  public static void delete(File refsFolder) {
    deleteOld(refsFolder.toPath(), 1, Instant.now().minus(MIN_AGE));
  }

  private static void deleteOld(Path folder, int level, Instant oldest) {
    try {
      // First of all, as each deletion inside makes the folder look new.
      boolean isOld = Files.getLastModifiedTime(folder).toInstant().isBefore(oldest);
      for (Path each : LooseFile.list(folder)) {
        if (isFolder(each)) {
          deleteOld(each, level + 1, oldest);
        }
      }
      if (isOld && level > KEPT_LEVELS) {
        boolean unused = delete(folder);
      }
    } catch (IOException e) {
      logger.atFine().withCause(e).log("cannot look through %s", folder);
    }
  }

  private static boolean isFolder(Path file) {
    return Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS);
  }

  /**
   * Deletes the empty folders above the files of refs, by their names, but no folder such as {@code
   * refs/heads}. Costs one system call for each folder, and two for each folder that has some.
   */
  public static void deleteAbove(Map<String, File> files) {
    // With the number of folders above that may go too. The last one in order is above none.
    TreeMap<Path, Integer> left = new TreeMap<>();
    files.forEach(
        (name, file) -> {
          int levels = CharMatcher.is('/').countIn(name) - KEPT_LEVELS;
          if (levels > 0) {
            left.put(file.getParentFile().toPath(), levels - 1);
          }
        });
    while (!left.isEmpty()) {
      Path parent = left.lastKey().getParent();
      try (DirectoryStream<Path> above = Files.newDirectoryStream(parent)) {
        while (!left.isEmpty() && left.lastKey().getParent().equals(parent)) {
          Map.Entry<Path, Integer> folder = left.pollLastEntry();
          if (delete(above, folder.getKey()) && folder.getValue() > 0) {
            left.put(parent, folder.getValue() - 1);
          }
        }
      } catch (IOException e) {
        left.pollLastEntry(); // others have deleted it, or it stays
      }
    }
  }

  /**
   * Deletes a folder that contains nothing but empty folders.
   *
   * @return false if the folder exists and was not deleted
   */
  public static boolean deleteTree(Path folder) throws IOException {
    for (Path each : LooseFile.list(folder)) {
      if (!isFolder(each) || !deleteTree(each)) {
        return false;
      }
    }
    return delete(folder) || !Files.exists(folder);
  }

  private static boolean delete(Path folder) {
    try (DirectoryStream<Path> above = Files.newDirectoryStream(folder.getParent())) {
      return delete(above, folder);
    } catch (IOException e) {
      return false; // others have deleted it, with the one above
    }
  }

  /**
   * Deletes an empty folder, but never a file. A ref may have taken the folder's place by now,
   * which File and Files would delete too.
   *
   * @return false if the folder was not deleted
   */
  private static boolean delete(DirectoryStream<Path> above, Path folder) {
    try {
      if (above instanceof SecureDirectoryStream<Path> secure) {
        secure.deleteDirectory(folder.getFileName());
        return true;
      }
      return isFolder(folder) && Files.deleteIfExists(folder);
    } catch (IOException e) {
      return false; // the folder is in use, or others have deleted it
    }
  }
}
