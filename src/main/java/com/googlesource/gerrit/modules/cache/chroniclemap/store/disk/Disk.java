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
import java.nio.file.FileSystemException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/**
 * All that the stores ask of the disk, so that tests can make each single call fail.
 *
 * <p>Safe for any thread.
 */
public interface Disk {
  /** The disk of this machine. */
  Disk REAL = new RealDisk();

  /** Whether a file is there; true also if the disk does not tell. */
  boolean exists(Path file);

  /** Whether a file is there for sure: in doubt it is not. */
  boolean surelyExists(Path file);

  /** Bytes of a file. */
  long size(Path file) throws IOException;

  /** Makes an empty file that only its owner can read. */
  void create(Path file) throws IOException;

  /** Deletes a file, if it is there. */
  void delete(Path file) throws IOException;

  /** Gives a file another name, in place of any other file of that name, in one step. */
  void move(Path from, Path to) throws IOException;

  /**
   * Makes sure that what was made, moved or deleted in a folder stays so if the machine stops. An
   * interrupt does not matter.
   */
  void sync(Path folder) throws IOException;

  /** Files of a folder. */
  List<Path> list(Path folder) throws IOException;

  FileChannel open(Path file, Set<? extends OpenOption> options) throws IOException;

  /** Writes a file that was just made. */
  void write(Path file, byte[] bytes) throws IOException;

  /** Maps a whole file for reading and writing. */
  MappedByteBuffer map(Path file) throws IOException;

  /** Unmaps a file. To touch it after that ends the process. */
  void unmap(MappedByteBuffer mapped);

  /**
   * Makes sure that what a file holds stays if the machine stops. An interrupt does not matter.
   *
   * @throws FileSystemException if the file can't be opened; any other exception says that the disk
   *     did not take all of it. The system may have dropped that by now and read what was there
   *     before, and does not say so a second time
   */
  void force(Path file) throws IOException;

  /**
   * What differs for any two files, also for a file and the one that takes its place: its number
   * and when it was made. At most 64 characters of ASCII.
   */
  String fileKey(Path file) throws IOException;

  /** Whether a file has that key; by its number alone where nobody knows when it was made. */
  boolean hasKey(Path file, String key) throws IOException;

  /** When what a file holds was last changed; nanoseconds since the epoch. */
  long modified(Path file) throws IOException;

  /** Sets what {@link #modified} answers; milliseconds since the epoch. */
  void touch(Path file, long millis) throws IOException;

  /**
   * Names the time between two starts of the machine, and the device of a file in it since that was
   * attached; empty if the first can't be told. At most 64 characters of ASCII.
   */
  String boot(Path file) throws IOException;

  /** Called before a file takes the disk of its holes. */
  void allocating(Path file) throws IOException;

  /** Called before Chronicle-Map makes or opens a file and maps it. */
  void mapping(Path file) throws IOException;
}
