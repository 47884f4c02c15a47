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
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * The disk as the stores of one folder use it, while the folder is locked for them. Before and
 * afterwards no file is deleted or renamed, and none but markers created: a thread that is still
 * making a large file would otherwise interfere with another user of the folder. All calls are
 * forwarded to another disk.
 *
 * <p>Safe for any thread.
 */
public class FolderDisk extends Disk {
  /** Part of the name of each file that is a marker. */
  public static final String MARKER = ".discard";

  /** Held for reading while a file is deleted, renamed or created. */
  private final ReadWriteLock lock = new ReentrantReadWriteLock();

  /** Guarded by {@link #lock}. */
  private boolean isForeign;

  private final Disk disk;

  public FolderDisk(Disk disk) {
    this.disk = disk;
  }

  /** Says whether the folder is locked for the stores. If not, another process may use it. */
  public void setLocked(boolean isLocked) {
    lock.writeLock().lock();
    try {
      isForeign = !isLocked;
    } finally {
      lock.writeLock().unlock();
    }
  }

  /** A step that may fail on the disk. */
  public interface Step {
    void run() throws IOException;
  }

  private void ifLocked(Path file, Step step) throws IOException {
    lock.readLock().lock();
    try {
      if (isForeign) {
        throw new IOException("the folder is not locked by this process: " + file);
      }
      step.run();
    } finally {
      lock.readLock().unlock();
    }
  }

  @Override
  public boolean exists(Path file) throws IOException {
    return disk.exists(file);
  }

  @Override
  public long size(Path file) throws IOException {
    return disk.size(file);
  }

  /** Creates a file; a marker even if the folder is not locked. */
  @Override
  public void create(Path file) throws IOException {
    if (file.getFileName().toString().contains(MARKER)) {
      disk.create(file);
    } else {
      ifLocked(file, () -> disk.create(file));
    }
  }

  @Override
  public boolean makePrivate(Path file) throws IOException {
    return disk.makePrivate(file);
  }

  @Override
  public void delete(Path file) throws IOException {
    ifLocked(file, () -> disk.delete(file));
  }

  @Override
  public void move(Path from, Path to) throws IOException {
    ifLocked(from, () -> disk.move(from, to));
  }

  @Override
  public void sync(Path folder) throws IOException {
    disk.sync(folder);
  }

  @Override
  public List<Path> list(Path folder) throws IOException {
    return disk.list(folder);
  }

  @Override
  public FileChannel open(Path file, Set<? extends OpenOption> options) throws IOException {
    return disk.open(file, options);
  }

  @Override
  public void write(Path file, byte[] bytes) throws IOException {
    ifLocked(file, () -> disk.write(file, bytes));
  }

  @Override
  public MappedByteBuffer map(Path file) throws IOException {
    return disk.map(file);
  }

  @Override
  public void unmap(MappedByteBuffer mapped) {
    disk.unmap(mapped);
  }

  @Override
  public void force(Path file, FileChannel open) throws IOException {
    try {
      disk.force(file, open);
    } catch (FileSystemException | ClosedChannelException e) {
      throw e;
    } catch (IOException e) {
      throw new LostContentException(
          "the disk did not take what was written: " + e.getMessage(), e);
    }
  }

  @Override
  public String fileKey(Path file) throws IOException {
    return disk.fileKey(file);
  }

  @Override
  public boolean hasKey(Path file, String key) throws IOException {
    return disk.hasKey(file, key);
  }

  @Override
  public long modified(Path file) throws IOException {
    return disk.modified(file);
  }

  @Override
  public String boot(Path file) throws IOException {
    return disk.boot(file);
  }

  @Override
  public long free(Path folder) {
    return disk.free(folder);
  }

  @Override
  public void allocating(Path file) throws IOException {
    disk.allocating(file);
  }

  @Override
  public void mapping(Path file) throws IOException {
    disk.mapping(file);
  }
}
