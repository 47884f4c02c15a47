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

import com.google.common.io.Closeables;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.eclipse.jgit.annotations.Nullable;

/**
 * The replaced {@code packed-refs} files of the last second, which are kept open so that native git
 * sees each replacement.
 *
 * <p>Native git takes the {@code packed-refs} that it has read for current while the inode, the
 * size and the seconds of the times are the same. A file system such as ext4 gives the inode of a
 * deleted file to the next new file. Of two rewrites within a second, one may remove a line and the
 * other add one of equal length. Git would then go on with the list before both, and an update by
 * git could set a ref again that was deleted meanwhile. Two measures make each new file differ from
 * all other files of the same second:
 *
 * <ul>
 *   <li>The replaced file is kept open until its second is over, so its inode is in use. Where
 *       other machines may change the file system, an open file would be renamed to {@code
 *       .nfs1234}. There the writer waits for the end of the second.
 *   <li>If another process wrote the replaced file, that process may have freed the inode that the
 *       new file has got. So the new file gets a time in the next second.
 * </ul>
 *
 * <p>Both are needed only if the replaced file is of the last second, and small. Git maps a larger
 * one, which keeps its inode in use. One instance for each repository, for one thread at a time.
 */
final class ReplacedFiles {
  /** Git reads a file of up to half this size instead of mapping it. */
  private static final int MAX_BYTES = 64 << 10;

  /** How far the clock of a local file system may be behind that of this process. */
  private static final long CLOCK_MILLIS = 20;

  /** How many files may be open at a time, in all repositories. */
  private static final Semaphore FILES = new Semaphore(128);

  private final RefDisk disk;

  /** The {@link #identity} of the new file of the last call; null before. */
  @Nullable private Object last;

  ReplacedFiles(RefDisk disk) {
    this.disk = disk;
  }

  /**
   * Prepares the replacement of {@code packed-refs}, which is locked.
   *
   * @param written the new file, which may get another time
   */
  void prepare(Path packedRefs, Path written) throws IOException {
    try {
      BasicFileAttributes old = attributes(packedRefs);
      long end = (old.lastModifiedTime().to(TimeUnit.SECONDS) + 1) * 1000 + CLOCK_MILLIS;
      if (old.size() <= MAX_BYTES && System.currentTimeMillis() < end) {
        keep(packedRefs, end - System.currentTimeMillis());
        if (!identity(old).equals(last)) {
          long next = System.currentTimeMillis() / 1000 + 1;
          disk.setTime(written, FileTime.from(next, TimeUnit.SECONDS));
        }
      }
    } catch (NoSuchFileException e) {
      // There is no file to replace.
    }
    last = identity(attributes(written));
  }

  private static BasicFileAttributes attributes(Path file) throws IOException {
    return Files.readAttributes(file, BasicFileAttributes.class);
  }

  private static Object identity(BasicFileAttributes of) {
    return of.lastModifiedTime() + " " + of.fileKey();
  }

  private static void keep(Path packedRefs, long millis) throws IOException {
    if (!RefDisk.isLocal(packedRefs) || !FILES.tryAcquire()) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(millis));
      return;
    }
    InputStream open = InputStream.nullInputStream();
    try {
      open = new FileInputStream(packedRefs.toFile());
    } finally {
      InputStream kept = open;
      CompletableFuture.delayedExecutor(millis, TimeUnit.MILLISECONDS)
          .execute(
              () -> {
                Closeables.closeQuietly(kept);
                FILES.release();
              });
    }
  }
}
