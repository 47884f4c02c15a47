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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.disk;

import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/**
 * The disk operations of the stores, in one interface so that tests can make each single call fail.
 *
 * <p>Safe for any thread.
 */
public interface Disk {
  /** The disk of this machine. */
  Disk REAL = new RealDisk(Path.of("/sys"));

  /**
   * Whether a file exists.
   *
   * @throws IOException if the file system cannot tell
   */
  boolean exists(Path file) throws IOException;

  /** The length of a file in bytes. */
  long size(Path file) throws IOException;

  /** Creates an empty file that only its owner can read. */
  void create(Path file) throws IOException;

  /** Deletes a file if it exists. */
  void delete(Path file) throws IOException;

  /** Renames a file atomically and replaces any file of the new name. */
  void move(Path from, Path to) throws IOException;

  /**
   * Forces to disk which files of a folder were created, renamed or deleted. Ignores interrupts.
   */
  void sync(Path folder) throws IOException;

  /** Lists the files of a folder. */
  List<Path> list(Path folder) throws IOException;

  /** Opens a file. Interrupts do not close it. */
  FileChannel open(Path file, Set<? extends OpenOption> options) throws IOException;

  /** Writes a file that was just created. */
  void write(Path file, byte[] bytes) throws IOException;

  /** Maps a whole file for reading and writing. */
  MappedByteBuffer map(Path file) throws IOException;

  /** Unmaps a file. Any later access to the buffer ends the process. */
  void unmap(MappedByteBuffer mapped);

  /**
   * Forces the content of an open file to disk, whatever has its name by now. Ignores interrupts.
   *
   * @param file the name of the file, for messages and tests
   * @param open the file, as {@link #open} returned it
   * @throws IOException if the disk did not take all of the content. The system reports that only
   *     once, and may have dropped the lost pages and read the older ones again. {@link FolderDisk}
   *     throws a {@link LostContentException} then
   */
  void force(Path file, FileChannel open) throws IOException;

  /**
   * Identifies a file, also among files that had the same name: its inode number and its creation
   * time, or a note that the creation time is not known. At most 64 characters of ASCII.
   */
  String fileKey(Path file) throws IOException;

  /** Whether a file has a key of {@link #fileKey}. */
  boolean hasKey(Path file, String key) throws IOException;

  /** The time at which the content was last changed, in nanoseconds since the epoch. */
  long modified(Path file) throws IOException;

  /** Sets the time that {@link #modified} returns, in milliseconds since the epoch. */
  void touch(Path file, long millis) throws IOException;

  /**
   * Identifies the boot of the machine, and within it the attachment of the file's device. Empty if
   * the boot is not known. At most 64 characters of ASCII.
   */
  String boot(Path file) throws IOException;

  /**
   * The bytes that are free on the volume of a folder, about; 0 if none, or if that is not known.
   */
  long free(Path folder);

  /** Called before disk is allocated for the holes of a file. */
  default void allocating(Path file) throws IOException {}

  /** Called before Chronicle-Map creates or opens a file and maps it. */
  default void mapping(Path file) throws IOException {}
}
