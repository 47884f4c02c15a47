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

import com.google.common.collect.Iterables;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.EmptyRefFolders;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseFile;
import java.io.Closeable;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.Collection;
import java.util.List;
import java.util.Set;

/**
 * The disk as the writers of refs use it. Each operation consists of steps, at which the process
 * may be killed or the disk may fail. Tests do both at each step, in {@link #about}. Any thread may
 * call.
 */
public class RefDisk {
  /** File systems that only one kernel mounts at a time. */
  private static final Set<String> LOCAL_TYPES =
      Set.of(
          "ext2",
          "ext3",
          "ext4",
          "xfs",
          "btrfs",
          "zfs",
          "tmpfs",
          "overlay",
          "f2fs",
          "jfs",
          "reiserfs",
          "bcachefs");

  private volatile SharedMode mode = SharedMode.NONE;

  /** Whether a folder is on a file system that only one kernel mounts at a time. */
  public static boolean isLocal(Path folder) {
    try {
      return LOCAL_TYPES.contains(Files.getFileStore(folder).type());
    } catch (IOException e) {
      return false;
    }
  }

  /** Sets the permissions of all files and folders that are made from now on. */
  final void share(SharedMode newMode) {
    mode = newMode;
  }

  /** Called before each step. */
  protected void about(String step, Path file) throws IOException {}

  /**
   * Makes an empty file.
   *
   * @throws FileAlreadyExistsException if the file exists
   * @throws NoSuchFileException if its folder is missing
   */
  final void create(Path file) throws IOException {
    about("create", file);
    Files.createFile(file);
    try {
      mode.apply(file);
    } catch (Throwable e) {
      Files.delete(file); // else others would take it for a lock
      throw e;
    }
  }

  /**
   * Makes a missing file that another class is about to append to, and its folders, if they need
   * other permissions than those of the umask.
   */
  final void makeIfShared(Path file) throws IOException {
    if (!mode.equals(SharedMode.NONE) && !Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
      makeFolders(file.getParent());
      try {
        create(file);
      } catch (FileAlreadyExistsException e) {
        // Another writer of the same log has made it meanwhile.
      }
    }
  }

  /**
   * Makes an empty file that stays open.
   *
   * @throws FileNotFoundException if its folder is missing
   */
  final RandomAccessFile createToKeepOpen(Path file) throws IOException {
    about("create", file);
    return shared(new RandomAccessFile(file.toFile(), "rw"), file);
  }

  /** Sets the permissions of a file that was just opened. Closes the file if that fails. */
  private <T extends Closeable> T shared(T open, Path file) throws IOException {
    try {
      mode.apply(file);
      return open;
    } catch (Throwable e) {
      open.close();
      throw e;
    }
  }

  /**
   * Makes a hard link to a file.
   *
   * @throws FileAlreadyExistsException if the new name is taken
   * @throws NoSuchFileException if its folder is missing
   */
  final void link(Path newName, Path file) throws IOException {
    about("link", newName);
    Files.createLink(newName, file);
  }

  /**
   * Makes a folder and those above it, which other threads or processes may be making too. Costs
   * one system call for one missing level, and two for each further one. {@link File#mkdirs} would
   * resolve the canonical path, with a call for each folder from the root down.
   *
   * @throws IOException if the folder is missing afterwards
   */
  final void makeFolders(Path folder) throws IOException {
    about("make folders", folder);
    if (!make(folder.toFile())) {
      throw new IOException("Creating directories for " + folder + " failed");
    }
  }

  private boolean make(File folder) throws IOException {
    if (makeLast(folder)) {
      return true;
    }
    File parent = folder.getParentFile();
    return parent != null && make(parent) && makeLast(folder);
  }

  private boolean makeLast(File folder) throws IOException {
    if (folder.mkdir()) {
      mode.apply(folder.toPath());
      return true;
    }
    return folder.isDirectory();
  }

  /**
   * Writes a file. An interrupt of the thread has no effect.
   *
   * @param synced whether to sync it, on a network file system to its server
   */
  final void write(Path file, byte[] content, boolean synced) throws IOException {
    about("write", file);
    try (FileOutputStream out = new FileOutputStream(file.toFile())) {
      mode.apply(file);
      out.write(content);
      if (synced) {
        out.getFD().sync();
      }
    }
  }

  /** Opens a file for new content. An interrupt of the thread closes it. */
  final FileChannel openToWrite(Path file) throws IOException {
    about("open", file);
    return shared(
        FileChannel.open(
            file,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE),
        file);
  }

  /** Sets the time of the last modification of a file. */
  final void setTime(Path file, FileTime time) throws IOException {
    about("set time", file);
    Files.setLastModifiedTime(file, time);
  }

  /** Tells whether a file has arrived in the place to which it was renamed. */
  interface Arrival {
    boolean check() throws IOException;
  }

  /**
   * Renames a file, and atomically replaces any file in the new place.
   *
   * @param arrival is asked after an error: a network file system may have renamed the file and
   *     lost its answer
   */
  final void rename(Path file, Path place, Arrival arrival) throws IOException {
    try {
      about("rename", place);
      Files.move(file, place, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      boolean hasArrived = false;
      try {
        hasArrived = arrival.check();
      } catch (IOException unknown) {
        e.addSuppressed(unknown);
      }
      if (!hasArrived) {
        throw e;
      }
    }
  }

  /** Renames a file like {@link #rename}, and deletes empty folders in the new place. */
  final void renameOverEmptyFolders(Path file, File place, Arrival arrival) throws IOException {
    try {
      rename(file, place.toPath(), arrival);
    } catch (IOException e) {
      // Nothing but empty folders may go. JGit's own rename would delete a ref in the place.
      if (!place.isDirectory()) {
        throw e;
      }
      deleteEmptyFolders(place.toPath());
      rename(file, place.toPath(), arrival);
    }
  }

  /** Deletes a file, if it exists. */
  final void delete(Path file) throws IOException {
    about("delete", file);
    // This is a single system call. Files reads the attributes first, but tells a missing file from
    // a failure.
    if (!file.toFile().delete()) {
      Files.deleteIfExists(file);
    }
  }

  /**
   * Deletes the file of a loose ref, or its log, if it exists. Never deletes a folder of that name.
   *
   * @throws IOException if it can't be deleted, or the disk does not tell whether it exists
   */
  final void deleteLoose(File file) throws IOException {
    if (LooseFile.isThere(file)) {
      delete(file.toPath());
    }
  }

  /**
   * Deletes a folder that contains nothing but empty folders, if it exists.
   *
   * @throws IOException if it contains anything else
   */
  final void deleteEmptyFolders(Path folder) throws IOException {
    about("delete folders", folder);
    if (!EmptyRefFolders.deleteTree(folder)) {
      throw new DirectoryNotEmptyException(folder.toString());
    }
  }

  /** Syncs the content of an open file. */
  final void sync(FileChannel open, Path file) throws IOException {
    about("sync", file);
    open.force(true);
  }

  /** Syncs the contents of files. */
  final void syncFiles(Collection<Path> files) throws IOException {
    sync(files, List.of());
  }

  /** Does both at the same time: {@link #syncFiles} and {@link #syncFolders}. */
  final void sync(Collection<Path> files, Collection<Path> folders) throws IOException {
    for (Path path : Iterables.concat(files, folders)) {
      about("sync", path);
    }
    FileSync.sync(files, folders);
  }

  /** Syncs the entries of folders. */
  final void syncFolders(Collection<Path> folders) throws IOException {
    sync(List.of(), folders);
  }
}
