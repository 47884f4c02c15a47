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

import com.google.common.flogger.FluentLogger;
import java.io.File;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import org.eclipse.jgit.annotations.Nullable;

/**
 * Deletes the empty folders that loose refs have left behind, as each one slows the listing of
 * refs. The folders above go too, if they contain nothing else.
 */
public final class EmptyRefFolders {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Younger folders stay, as somebody may be about to make a ref there. */
  static final Duration MIN_AGE = Duration.ofSeconds(30);

  /** Folders such as {@code refs/heads} stay. */
  private static final int KEPT_LEVELS = 1;

  private EmptyRefFolders() {}

  /** Deletes the empty folders below {@code refs/heads} and the like, unless they are new. */
  public static void delete(File refsFolder) {
    Path refs = refsFolder.toPath();
    try {
      Files.walkFileTree(refs, new Deletion(Instant.now().minus(MIN_AGE)));
    } catch (IOException e) {
      logger.atFine().withCause(e).log("cannot look through %s", refs);
    }
  }

  /**
   * A walk through all folders. It takes the age of a folder before it deletes folders inside, as
   * each deletion makes the folder look new. A folder that others have filled since is not deleted.
   */
  private static final class Deletion extends SimpleFileVisitor<Path> {
    private final Instant oldest;

    /** For each folder on the way down, whether it is old. */
    private final Deque<Boolean> old = new ArrayDeque<>();

    Deletion(Instant oldest) {
      this.oldest = oldest;
    }

    @Override
    public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
      old.push(attributes.lastModifiedTime().toInstant().isBefore(oldest));
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFileFailed(Path file, IOException e) {
      return FileVisitResult.CONTINUE; // deleted meanwhile
    }

    @Override
    public FileVisitResult postVisitDirectory(Path folder, @Nullable IOException e) {
      boolean isOld = old.pop();
      if (isOld && old.size() > KEPT_LEVELS) {
        boolean unused = RefPaths.deleteEmptyFolder(folder.toFile());
      }
      return FileVisitResult.CONTINUE;
    }
  }
}
