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

import com.google.common.base.Splitter;
import java.io.File;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.FileSnapshot;

/**
 * The attributes of a file before its content was read. JGit's {@link FileSnapshot} decides whether
 * they have changed, and handles racy timestamps. Once it has found them unchanged, later checks
 * only read and compare the attributes. As in native git, these include the time of the last change
 * of the file's inode (ctime), which no program can set: it tells of a file that was rewritten in
 * place and has got its old size and time again.
 *
 * <p>This is sound because a snapshot that has found the attributes unchanged always does so for
 * the same attributes: it was taken long enough after the last modification.
 *
 * <p>Safe for any thread.
 */
public final class FileStamp {
  /** The longest wait for a file that was just written. Otherwise the file is read again later. */
  private static final long MAX_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(30);

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  /** What a rename leaves as it is. */
  private static final String LASTING = "size,lastModifiedTime,fileKey";

  private static final String ALL = "unix:ctime," + LASTING;

  private final File file;

  /**
   * What the file is a symbolic link to, or the file itself. JGit reads the attributes of links.
   */
  private final File target;

  private final boolean isLink;

  private final FileSnapshot snapshot;

  /**
   * The values of {@link #ALL} by their names; null if they changed while the snapshot was taken.
   */
  @Nullable private final Map<String, Object> attributes;

  private volatile boolean settled;

  private FileStamp(
      File file, File target, FileSnapshot snapshot, @Nullable Map<String, Object> attributes) {
    this.file = file;
    this.target = target;
    this.isLink = !target.equals(file);
    this.snapshot = snapshot;
    this.attributes = attributes;
  }

  /** Makes the stamp of a file that is about to be read. */
  public static FileStamp of(File file) throws IOException {
    File target = behindLinks(file);
    // Attributes are read before and after the snapshot, which does not reveal its file key.
    Map<String, Object> before = read(target);
    FileSnapshot snapshot = FileSnapshot.save(target);
    return new FileStamp(
        file, target, snapshot, before != null && before.equals(read(target)) ? before : null);
  }

  private static File behindLinks(File file) throws IOException {
    Path path = file.toPath();
    Path target = RefPaths.behindLinks(path);
    return target.equals(path) ? file : target.toFile();
  }

  /**
   * Makes the stamp of a file that was written and is about to be renamed, which keeps its
   * attributes. The content is known, so the file need not be read. This method waits a moment if
   * the file was just written, so that every later change will change the time of the file.
   *
   * @param written the file
   * @param place the name after the rename, which may be a link to where it is renamed to
   */
  public static FileStamp ofWritten(File written, File place) throws IOException {
    FileSnapshot snapshot = FileSnapshot.save(written);
    long end = System.nanoTime() + MAX_WAIT_NANOS;
    while (snapshot.isModified(written) && System.nanoTime() - end < 0) {
      LockSupport.parkNanos(PAUSE_NANOS);
      snapshot = FileSnapshot.save(written);
    }
    return new FileStamp(place, behindLinks(place), snapshot, read(written));
  }

  /** Returns the stamp of {@link #ofWritten} after the rename, which has changed the ctime. */
  public FileStamp renamed() {
    Map<String, Object> now = read(target);
    boolean isThere = now != null && attributes != null;
    return isThere && lasting(now).equals(lasting(attributes))
        ? new FileStamp(file, target, snapshot, now)
        : this;
  }

  private static List<Object> lasting(Map<String, Object> attributes) {
    return Splitter.on(',').splitToStream(LASTING).map(attributes::get).toList();
  }

  /** Makes the stamp of a file that does not exist. */
  static FileStamp missing(File file) {
    return new FileStamp(file, file, FileSnapshot.MISSING_FILE, null);
  }

  /** Whether the file has to be read again, also because the disk does not tell. */
  public boolean isModified() {
    try {
      return isChanged();
    } catch (IOException e) {
      return true;
    }
  }

  private boolean isChanged() throws IOException {
    if (isLink && !behindLinks(file).equals(target)) {
      return true;
    }
    Map<String, Object> now = attributes == null ? null : read(target);
    if (now != null && !now.equals(attributes)) {
      return true;
    }
    if (now != null && settled) {
      return false;
    }
    if (snapshot.equals(FileSnapshot.MISSING_FILE)) {
      return isThere(file); // JGit takes a file for missing, too, if the disk does not tell
    }
    boolean modified = snapshot.isModified(target);
    if (!modified && attributes != null) {
      settled = true;
    }
    return modified;
  }

  /**
   * Whether a file exists.
   *
   * @throws IOException if the disk does not tell, or if the name is that of a folder. The file
   *     must not count as missing then
   */
  static boolean isThere(File file) throws IOException {
    BasicFileAttributes found = LooseFile.attributesIfThere(file.toPath());
    if (found != null && !found.isRegularFile()) {
      throw new FileSystemException(file.getPath(), null, "is not a regular file");
    }
    return found != null;
  }

  @Nullable
  private static Map<String, Object> read(File file) {
    try {
      return Files.readAttributes(file.toPath(), ALL, LinkOption.NOFOLLOW_LINKS);
    } catch (IOException e) {
      return null; // the snapshot handles this
    }
  }
}
