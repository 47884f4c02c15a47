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
import java.nio.file.Path;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * The disk as the stores of one folder use it, until the folder is given back. From then on no file
 * is deleted or renamed, and none but markers created: a thread that is still making a large file
 * would otherwise interfere with the folder's next user.
 *
 * <p>Safe for any thread.
 */
public final class FolderDisk extends ForwardingDisk {
  /** Part of the name of each file that is a marker. */
  public static final String MARKER = ".discard";

  /** Held for reading while a file is deleted, renamed or created. */
  private final ReadWriteLock lock = new ReentrantReadWriteLock();

  /** Guarded by {@link #lock}. */
  private boolean given;

  public FolderDisk(Disk disk) {
    super(disk);
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

  private interface Step {
    void run() throws IOException;
  }

  private void unlessGiven(Path file, Step step) throws IOException {
    lock.readLock().lock();
    try {
      if (given) {
        throw new IOException("the folder was given back: " + file);
      }
      step.run();
    } finally {
      lock.readLock().unlock();
    }
  }

  /** Does nothing once the folder was given back, since its next user deletes such files. */
  @Override
  public void delete(Path file) throws IOException {
    lock.readLock().lock();
    try {
      if (!given) {
        super.delete(file);
      }
    } finally {
      lock.readLock().unlock();
    }
  }

  @Override
  public void move(Path from, Path to) throws IOException {
    unlessGiven(from, () -> super.move(from, to));
  }

  /** Creates a file; a marker even if the folder was given back. */
  @Override
  public void create(Path file) throws IOException {
    if (file.getFileName().toString().contains(MARKER)) {
      super.create(file);
    } else {
      unlessGiven(file, () -> super.create(file));
    }
  }

  @Override
  public void write(Path file, byte[] bytes) throws IOException {
    unlessGiven(file, () -> super.write(file, bytes));
  }
}
