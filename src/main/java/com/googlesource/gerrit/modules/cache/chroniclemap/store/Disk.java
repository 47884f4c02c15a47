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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/**
 * All that the stores ask of the disk, so that tests can make each single call fail.
 *
 * <p>Safe for any thread.
 */
interface Disk {
  /** The disk of this machine. */
  Disk REAL = new RealDisk();

  /** Whether a file is there; true also if the disk does not tell. */
  boolean exists(Path file);

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

  String readText(Path file) throws IOException;

  void writeText(Path file, String text) throws IOException;

  /**
   * What changes when anybody changes what a file holds, or puts a copy in its place: its number
   * and the time of its last change.
   */
  String identity(Path file) throws IOException;

  /** Milliseconds since a file was changed; negative if its clock is ahead. */
  long millisSinceChange(Path file) throws IOException;

  /** Called before a file takes the disk of its holes. */
  void allocating(Path file) throws IOException;

  /** Called before Chronicle-Map makes or opens a file and maps it. */
  void mapping(Path file) throws IOException;

  /**
   * Called before a mapped file is read or written.
   *
   * @throws InternalError as Java does if the disk fails under the mapping
   */
  void touching();
}
