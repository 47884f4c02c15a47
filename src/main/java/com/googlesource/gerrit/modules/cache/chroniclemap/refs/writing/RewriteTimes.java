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
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The times of the {@code packed-refs} files that this process writes: no two of them that were
 * renamed into place within one second have the same.
 *
 * <p>Native git takes the {@code packed-refs} that it has read for current while the inode, the
 * size and the seconds of both times (last modification, last change) are the same. A file system
 * such as ext4 gives the inode of a deleted file to the next new file. Of two rewrites within a
 * second, one may remove a line and the other add one of equal length. Git would then go on with
 * the list before both, and an update by git could set a ref again that was deleted meanwhile.
 *
 * <p>So each new file gets a time of modification of its own, a few seconds in the past:
 *
 * <pre>
 *   its own second, s       a file that others write has this one, or the one before
 *   s - 3                   the first file after a pause of more than two seconds
 *   s - 5, s - 7, ...       each further one: two less than the last file of this process,
 *                           and than the file that it replaces, which may be of another process
 *                           with this module
 * </pre>
 *
 * <p>A file that others wrote, and replaced again, some seconds ago may still have the time of a
 * new one. Git tells these two apart by the time of the last change (ctime), JGit by the
 * nanoseconds; git with {@code core.trustctime = false}, and JGit on whole-second times, can't. No
 * time could prevent that, as nobody knows the times of files that are gone. A file that is older
 * by its ctime does not push the next one down: that would prevent no more, and times would lag by
 * up to half an hour, though backups go by them.
 *
 * <p>All times are those of the file system, which may differ from this process's clock. Nothing is
 * waited for, and no file is kept open. The time is in the past and not in the future, as JGit
 * reads a file again and again until it is older than a moment. Whoever replaces a file meanwhile
 * does not matter.
 *
 * <p>One instance for each repository, for one thread at a time.
 */
final class RewriteTimes {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Git reads a file of up to half this size. It maps a larger one, which keeps its inode. */
  private static final int MAX_BYTES = 64 << 10;

  /** How long the rename may come after the writing, or before a file that is written next. */
  private static final int MARGIN = 2;

  /** The oldest time of a file. Nobody rewrites a file half as often in a second. */
  private static final int MAX_PAST = 2000;

  private final RefDisk disk;

  /** The time of this process's last file, in seconds since the epoch. */
  private long last = Long.MIN_VALUE;

  RewriteTimes(RefDisk disk) {
    this.disk = disk;
  }

  /**
   * Sets the time of a file that will replace {@code packed-refs}, which is locked.
   *
   * @param written the new file, whose content was just written
   */
  void set(Path packedRefs, Path written) throws IOException {
    if (Files.size(written) > MAX_BYTES) {
      return;
    }
    FileTime natural = Files.getLastModifiedTime(written);
    long now = natural.to(TimeUnit.SECONDS);
    long time = now - MARGIN - 1;
    try {
      Map<String, Object> old = Files.readAttributes(packedRefs, "unix:lastModifiedTime,ctime");
      if (seconds(old.get("ctime")) >= now - MARGIN) {
        time = before(last, before(seconds(old.get("lastModifiedTime")), time, now), now);
      }
    } catch (NoSuchFileException e) {
      time = before(last, time, now);
    }
    last = time;
    try {
      disk.setTime(written, FileTime.from(natural.toInstant().minusSeconds(now - time)));
    } catch (IOException e) {
      // A file system may not offer it, and no change of refs may depend on it.
      logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.HOURS).log(
          "Cannot set the time of %s: native git may miss the second of two rewrites within a"
              + " second",
          written);
    }
  }

  /** Returns the time, or one that is two seconds before another file's, if that is less. */
  private static long before(long other, long time, long now) {
    return other > now - MAX_PAST ? Math.min(time, other - 2) : time;
  }

  private static long seconds(Object time) {
    return ((FileTime) time).to(TimeUnit.SECONDS);
  }
}
