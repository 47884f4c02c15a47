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

/** A disk that forwards all calls to another one. */
public abstract class ForwardingDisk implements Disk {
  private final Disk disk;

  public ForwardingDisk(Disk disk) {
    this.disk = disk;
  }

  /** Called just before or after each call that may change what is on disk. */
  protected void called() {}

  @Override
  public boolean exists(Path file) {
    return disk.exists(file);
  }

  @Override
  public boolean surelyExists(Path file) {
    return disk.surelyExists(file);
  }

  @Override
  public long size(Path file) throws IOException {
    return disk.size(file);
  }

  @Override
  public void create(Path file) throws IOException {
    disk.create(file);
    called();
  }

  @Override
  public void delete(Path file) throws IOException {
    called();
    disk.delete(file);
  }

  @Override
  public void move(Path from, Path to) throws IOException {
    disk.move(from, to);
    called();
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
    // By now Chronicle-Map has created the file, allocated its disk and mapped it.
    called();
    return disk.open(file, options);
  }

  @Override
  public void write(Path file, byte[] bytes) throws IOException {
    disk.write(file, bytes);
    called();
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
  public void force(Path file) throws IOException {
    disk.force(file);
    called();
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
  public void touch(Path file, long millis) throws IOException {
    called();
    disk.touch(file, millis);
  }

  @Override
  public String boot(Path file) throws IOException {
    return disk.boot(file);
  }

  @Override
  public void allocating(Path file) throws IOException {
    disk.allocating(file);
    called();
  }

  @Override
  public void mapping(Path file) throws IOException {
    disk.mapping(file);
  }
}
