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
 * The disk as the stores of one folder use it, until the folder is given back. From then on no file
 * is deleted or renamed, and none but markers created: a thread that is still making a large file
 * would otherwise interfere with the folder's next user. All calls are forwarded to another disk.
 *
 * <p>Safe for any thread.
 */
public class FolderDisk extends Disk {
  /** Part of the name of each file that is a marker. */
  public static final String MARKER = ".discard";

  /** Held for reading while a file is deleted, renamed or created. */
  private final ReadWriteLock lock = new ReentrantReadWriteLock();

  /** Guarded by {@link #lock}. */
  private boolean given;

  private final Disk disk;

  public FolderDisk(Disk disk) {
    this.disk = disk;
  }

  /** Gives the folder back. Another process may use it from now on. */
  public void giveBack() {
    lock.writeLock().lock();
    try {
      given = true;
    } finally {
      lock.writeLock().unlock();
    }
  }

  /** A step that may fail on the disk. */
  public interface Step {
    void run() throws IOException;
  }

  private void unlessGiven(Path file, Step step) throws IOException {
    if (!runUnlessGiven(step)) {
      throw new IOException("the folder was given back: " + file);
    }
  }

  private boolean runUnlessGiven(Step step) throws IOException {
    lock.readLock().lock();
    try {
      if (!given) {
        step.run();
      }
      return !given;
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

  /** Creates a file; a marker even if the folder was given back. */
  @Override
  public void create(Path file) throws IOException {
    if (file.getFileName().toString().contains(MARKER)) {
      disk.create(file);
    } else {
      unlessGiven(file, () -> disk.create(file));
    }
  }

  @Override
  public boolean makePrivate(Path file) throws IOException {
    return disk.makePrivate(file);
  }

  /** Does nothing once the folder was given back, since its next user deletes such files. */
  @Override
  public void delete(Path file) throws IOException {
    boolean unused = runUnlessGiven(() -> disk.delete(file));
  }

  @Override
  public void move(Path from, Path to) throws IOException {
    unlessGiven(from, () -> disk.move(from, to));
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
    unlessGiven(file, () -> disk.write(file, bytes));
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
