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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.packed;

import java.io.File;
import java.io.IOException;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.FileSnapshot;
import org.eclipse.jgit.util.FS;

/**
 * What the attributes of a file were before its content was read. Whether they have changed is
 * JGit's own {@link FileSnapshot}'s to say, racy timestamps included; once that has said no, later
 * questions are answered by one look at the attributes and three comparisons.
 *
 * <p>That is sound because a snapshot that has said no says no for ever to the same attributes: it
 * was read long enough after the file was modified.
 *
 * <p>Any thread may ask.
 */
public final class FileStamp {
  /** How long a file that was just written is waited for; else it is read once more, later. */
  private static final long LONGEST_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(30);

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private final File file;
  private final FileSnapshot snapshot;

  /** The attributes of the snapshot; null if they changed while it was made, or have no key. */
  @Nullable private final BasicFileAttributes attributes;

  private volatile boolean settled;

  private FileStamp(File file, FileSnapshot snapshot, @Nullable BasicFileAttributes attributes) {
    this.file = file;
    this.snapshot = snapshot;
    this.attributes = attributes;
  }

  /** Notes the attributes of a file that is about to be read. */
  static FileStamp of(File file) {
    // Before and after: the snapshot does not tell its key.
    BasicFileAttributes before = read(file);
    FileSnapshot snapshot = FileSnapshot.save(file);
    BasicFileAttributes after = read(file);
    boolean known =
        before != null
            && after != null
            && isSame(before, after)
            && snapshot.size() == after.size()
            && snapshot.lastModifiedInstant().equals(after.lastModifiedTime().toInstant());
    return new FileStamp(file, snapshot, known ? after : null);
  }

  /**
   * Notes the attributes of a file that is written and about to be renamed into a place, which
   * keeps them: its content is known, so nobody need read it. Waits a moment, if it was written
   * just now, so that no later change of it can leave the time as it is.
   *
   * @param written where it is now
   * @param place where it is going to be
   */
  public static FileStamp ofWritten(File written, File place) {
    FileSnapshot snapshot = FileSnapshot.save(written);
    long end = System.nanoTime() + LONGEST_WAIT_NANOS;
    while (snapshot.isModified(written) && System.nanoTime() - end < 0) {
      LockSupport.parkNanos(PAUSE_NANOS);
      snapshot = FileSnapshot.save(written);
    }
    return new FileStamp(place, snapshot, read(written));
  }

  /** The stamp of a file that is not there. */
  static FileStamp missing(File file) {
    return new FileStamp(file, FileSnapshot.MISSING_FILE, null);
  }

  /** What tells a file from another one that takes its place, if anything does; or null. */
  @Nullable
  static Object key(File file) {
    BasicFileAttributes attributes = read(file);
    return attributes == null ? null : attributes.fileKey();
  }

  /** Whether the file must be read again. */
  boolean isModified() {
    if (settled) {
      BasicFileAttributes now = read(file);
      if (now != null && isSame(now, attributes)) {
        return false;
      }
    }
    boolean modified = snapshot.isModified(file);
    if (!modified && attributes != null) {
      settled = true;
    }
    return modified;
  }

  @Nullable
  private static BasicFileAttributes read(File file) {
    try {
      BasicFileAttributes attributes = FS.DETECTED.fileAttributes(file);
      return attributes.fileKey() == null ? null : attributes;
    } catch (IOException e) {
      return null; // what that means, the snapshot says
    }
  }

  private static boolean isSame(BasicFileAttributes a, BasicFileAttributes b) {
    FileTime modified = a.lastModifiedTime();
    return a.size() == b.size()
        && modified.equals(b.lastModifiedTime())
        && a.fileKey().equals(b.fileKey());
  }
}
