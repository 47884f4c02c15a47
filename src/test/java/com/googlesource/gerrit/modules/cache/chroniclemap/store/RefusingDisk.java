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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The disk of this machine, but from a moment on it takes nothing that is written to files. As with
 * Linux and ext4: a page that could not be written back counts as clean even so, may leave memory,
 * and is then read as it was before; who forces the file next is told that, once.
 */
class RefusingDisk extends Disk {
  /** What the disk has of each file that was forced. */
  private final Map<Path, byte[]> written = new HashMap<>();

  /** Files of which something was lost and nobody was told. */
  private final Set<Path> failed = new HashSet<>();

  /** Which files it does not take what is written to. */
  private Predicate<Path> refused = file -> false;

  private boolean hasNoHandles;
  private int forced;

  synchronized void refuse() {
    refused = file -> true;
  }

  /** As {@link #refuse}, but for what is known of the stores' files. */
  synchronized void refuseValues() {
    refused = file -> file.toString().endsWith(".chm");
  }

  /** Takes what is written again, as one that was full for a while. */
  synchronized void accept() {
    refused = file -> false;
  }

  /** From now on, or no more, the process has too many files open. */
  synchronized void setHandles(boolean any) {
    hasNoHandles = !any;
  }

  /** How often a file was forced. */
  synchronized int forced() {
    return forced;
  }

  /** Does what the system does some time: tries to write, and takes all pages out of memory. */
  synchronized void writeBackAndReclaim() throws IOException {
    for (Path file : written.keySet()) {
      if (Files.exists(file) && writeBack(file)) {
        failed.add(file);
      }
    }
  }

  /** Returns whether anything of a file was lost. */
  private boolean writeBack(Path file) throws IOException {
    byte[] now = Files.readAllBytes(file);
    byte[] before = written.get(file);
    if (!refused.test(file) || before == null) {
      written.put(file, now);
      return false;
    }
    if (Arrays.equals(now, before)) {
      return false;
    }
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      var unused = channel.write(ByteBuffer.wrap(before), 0);
    }
    return true;
  }

  private synchronized void takeHandle(Path file) throws IOException {
    if (hasNoHandles) {
      throw new FileSystemException(file.toString(), null, "Too many open files (a test)");
    }
  }

  @Override
  public FileChannel open(Path file, Set<? extends OpenOption> options) throws IOException {
    takeHandle(file);
    return super.open(file, options);
  }

  @Override
  public void sync(Path folder) throws IOException {
    takeHandle(folder);
    super.sync(folder);
  }

  @Override
  public synchronized void force(Path file, FileChannel open) throws IOException {
    super.force(file, open);
    forced++;
    // Who has a file open that was deleted is told, too.
    boolean lost = Files.exists(file) && writeBack(file);
    if (failed.remove(file) || lost) {
      throw new IOException("Input/output error (a test)");
    }
  }
}
