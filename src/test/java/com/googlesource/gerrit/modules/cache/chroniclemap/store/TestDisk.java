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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestSeed.Step;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;

/**
 * The disk of this machine, on which a test has something done before some calls. What is done may
 * fail, and the call with it.
 */
public class TestDisk extends Disk {
  /** What a disk is asked for; the last ones are those of an open file. */
  public enum Call {
    EXISTS,
    SIZE,
    CREATE,
    MAKE_PRIVATE,
    DELETE,
    MOVE,
    COMPLETE,
    SYNC,
    LIST,
    OPEN,
    WRITE,
    MAP,
    FORCE,
    FILE_KEY,
    HAS_KEY,
    MODIFIED,
    BOOT,
    ALLOCATING,
    MAPPING,
    TOUCHING,
    READ_OPEN,
    WRITE_OPEN,
    LENGTHEN_OPEN,
    SIZE_OPEN,
    TRUNCATE_OPEN,
    FORCE_OPEN;

    boolean isOfOpenFile() {
      return compareTo(READ_OPEN) >= 0;
    }
  }

  /** What is done before a call. */
  public interface Hook {
    void before(Path file) throws IOException;
  }

  /** The call itself. */
  interface Action<T> {
    T run() throws IOException;
  }

  private final Map<Call, Hook> hooks = new ConcurrentHashMap<>();

  /** Has something done before each call of a kind. */
  public final TestDisk before(Call call, Hook hook) {
    hooks.put(call, hook);
    return this;
  }

  /** Has each call of a kind fail while that is so. */
  public final TestDisk failing(Call call, BooleanSupplier isSo, String message) {
    return before(
        call,
        file -> {
          if (isSo.getAsBoolean()) {
            throw new IOException(message + " (a test)");
          }
        });
  }

  /** Makes a call for a file or folder; to move a file, for its old name. */
  <T> T call(Call call, Path file, Action<T> action) throws IOException {
    Hook hook = hooks.get(call);
    if (hook != null) {
      hook.before(file);
    }
    return action.run();
  }

  private void run(Call call, Path file, Step step) throws IOException {
    Object unused =
        call(
            call,
            file,
            () -> {
              step.run();
              return null;
            });
  }

  @Override
  public boolean exists(Path file) throws IOException {
    return call(Call.EXISTS, file, () -> super.exists(file));
  }

  @Override
  public long size(Path file) throws IOException {
    return call(Call.SIZE, file, () -> super.size(file));
  }

  @Override
  public void create(Path file) throws IOException {
    run(Call.CREATE, file, () -> super.create(file));
  }

  @Override
  public boolean makePrivate(Path file) throws IOException {
    return call(Call.MAKE_PRIVATE, file, () -> super.makePrivate(file));
  }

  @Override
  public void delete(Path file) throws IOException {
    run(Call.DELETE, file, () -> super.delete(file));
  }

  @Override
  public void move(Path from, Path to) throws IOException {
    run(Call.MOVE, from, () -> super.move(from, to));
  }

  @Override
  public void complete(Path file, Step step) throws IOException {
    run(Call.COMPLETE, file, () -> super.complete(file, step));
  }

  @Override
  public void sync(Path folder) throws IOException {
    // Not super, which would call this disk once more; the same goes for hasKey.
    run(Call.SYNC, folder, () -> REAL.sync(folder));
  }

  @Override
  public List<Path> list(Path folder) throws IOException {
    return call(Call.LIST, folder, () -> super.list(folder));
  }

  @Override
  public FileChannel open(Path file, Set<? extends OpenOption> options) throws IOException {
    return new OpenFile(file, call(Call.OPEN, file, () -> super.open(file, options)));
  }

  @Override
  public void write(Path file, byte[] bytes) throws IOException {
    run(Call.WRITE, file, () -> super.write(file, bytes));
  }

  @Override
  public MappedByteBuffer map(Path file) throws IOException {
    return call(Call.MAP, file, () -> super.map(file));
  }

  @Override
  public void force(Path file, FileChannel open) throws IOException {
    run(Call.FORCE, file, () -> super.force(file, open));
  }

  @Override
  public String fileKey(Path file) throws IOException {
    return call(Call.FILE_KEY, file, () -> super.fileKey(file));
  }

  @Override
  public boolean hasKey(Path file, String key) throws IOException {
    return call(Call.HAS_KEY, file, () -> REAL.hasKey(file, key));
  }

  @Override
  public long modified(Path file) throws IOException {
    return call(Call.MODIFIED, file, () -> super.modified(file));
  }

  @Override
  public String boot(Path file) throws IOException {
    return call(Call.BOOT, file, () -> super.boot(file));
  }

  @Override
  public void allocating(Path file) throws IOException {
    run(Call.ALLOCATING, file, () -> super.allocating(file));
  }

  @Override
  public void mapping(Path file) throws IOException {
    run(Call.MAPPING, file, () -> super.mapping(file));
  }

  @Override
  public void touching(Path file) {
    try {
      run(Call.TOUCHING, file, () -> super.touching(file));
    } catch (IOException e) {
      // As an unsafe memory access does, where the disk fails under the mapping.
      throw new InternalError(e.getMessage());
    }
  }

  /** Its calls count as well. */
  private final class OpenFile extends ForwardingChannel {
    private final Path file;

    OpenFile(Path file, FileChannel channel) {
      super(channel);
      this.file = file;
    }

    @Override
    public int read(ByteBuffer dst, long position) throws IOException {
      return call(Call.READ_OPEN, file, () -> super.read(dst, position));
    }

    @Override
    public int write(ByteBuffer src, long position) throws IOException {
      boolean isLonger = position + src.remaining() > super.size();
      Call call = isLonger ? Call.LENGTHEN_OPEN : Call.WRITE_OPEN;
      return call(call, file, () -> super.write(src, position));
    }

    @Override
    public long size() throws IOException {
      return call(Call.SIZE_OPEN, file, super::size);
    }

    @Override
    public FileChannel truncate(long size) throws IOException {
      return call(Call.TRUNCATE_OPEN, file, () -> super.truncate(size));
    }

    @Override
    public void force(boolean metaData) throws IOException {
      run(Call.FORCE_OPEN, file, () -> super.force(metaData));
    }
  }
}
